/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The world of the random test: its host, its configuration, its domains. */
#include "model/random/world.h"

#include <errno.h>

struct random_world world;
static uint64_t dice;

static const char config_text[] = "[devices]\n"
				  "enabled_mdev_types = nvidia-222, nvidia-560, mtty-2\n"
				  "[mdev_nvidia-222]\n"
				  "device_addresses = 0000:84:00.0, 0000:85:00.0\n"
				  "max_instances = 4\n"
				  "vgpu_params = frame_rate_limiter=0\n"
				  "[mdev_nvidia-560]\n"
				  "device_addresses = 0000:41:00.0\n"
				  "[mdev_mtty-2]\n"
				  "device_addresses = mtty\n"
				  "mdev_class = CUSTOM_PORT\n"
				  "[policy]\n"
				  "placement = pack\n"
				  "reclaim_grace = 300\n"
				  "driver_cleanup = 2\n"
				  "lock_timeout = 5\n"
				  "[quota]\n"
				  "none = 14\n";

/* Among the types that a domain can ask for are a class, and one that is not enabled. */
static const char *const types[] = { "nvidia-222", "nvidia-222",  "nvidia-560", "mtty-2",
				     "VGPU",       "CUSTOM_PORT", "nvidia-223" };

int pick(int n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (int)(dice % (uint64_t)n);
}

size_t world_xml(const struct domain *d, char out[XML_MAX])
{
	size_t n = (size_t)snprintf(out, XML_MAX,
				    "<domain type='kvm'><name>%s</name><uuid>%s</uuid><metadata>"
				    "<vgpu:lease xmlns:vgpu='" DOMXML_NS "'>",
				    d->name, d->uuid);

	for (int w = 0; w < d->nvgpus; w++)
		n += (size_t)snprintf(out + n, XML_MAX - n, "<vgpu:device uuid='%s' type='%s'/>", d->req[w],
				      d->type[w]);
	n += (size_t)snprintf(out + n, XML_MAX - n, "</vgpu:lease></metadata><devices>");
	for (int w = 0; w < d->nvgpus; w++)
		n += d->unplugged[w] ? 0
				     : (size_t)snprintf(out + n, XML_MAX - n,
							"<hostdev mode='subsystem' type='mdev' model='vfio-pci'>"
							"<source><address uuid='%s'/></source></hostdev>",
							d->req[w]);
	return n + (size_t)snprintf(out + n, XML_MAX - n, "</devices></domain>\n");
}

/* Every fourth domain requests what its neighbour requests, too. */
static void start_domain(int i)
{
	struct domain *d = &world.domains[i];

	d->pid = 1000 + i;
	d->nvgpus = i % 5 == 4 ? 2 : 1;
	snprintf(d->name, sizeof(d->name), "vm%d", i);
	snprintf(d->uuid, sizeof(d->uuid), "d0000000-0000-4000-8000-%012d", i);
	for (int w = 0; w < d->nvgpus; w++) {
		d->type[w] = types[pick(sizeof(types) / sizeof(*types))];
		snprintf(d->first[w], UUID_SIZE, "a0000000-0000-4000-8000-%012d",
			 10 * (i - (i % 4 == 3 && w == 0)) + w);
	}
	memcpy(d->req, d->first, sizeof(d->req));
}

void world_start(unsigned int seed)
{
	struct err err;

	dice = (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	/* In memory, where there is such a place: each operation is a few hundred system calls on these files. */
	strcpy(world.tree.path,
	       access("/dev/shm", W_OK) == 0 ? "/dev/shm/vgpu-lease-test-XXXXXX" : "/tmp/vgpu-lease-test-XXXXXX");
	if (!mkdtemp(world.tree.path))
		tree_fail(world.tree.path);
	if (host_open(&world.tree.host, world.tree.path, &err) < 0)
		tree_fail(err.text);
	umask(077);
	fake_start(&world.tree);
	fake_may_remove = rules_may_remove;
	fake_cap = rules_cap;
	if (config_parse(&world.config, "test.conf", config_text, strlen(config_text), NULL, &err) < 0) {
		errno = err.code;
		tree_fail(err.text);
	}
	for (int i = 0; i < DOMAINS; i++)
		start_domain(i);
}

void world_end(void)
{
	config_free(&world.config);
	tree_end(&world.tree);
}
