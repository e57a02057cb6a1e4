/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The world of a history: its host, its configuration, its domains, and the ledger of its leases. */
#include "model/simulation/world.h"

#include "lib/config_text.h"
#include "lib/xml.h"

struct world_state world_now;
struct leases ledger;

static const char config_text[] = "[devices]\n"
				  "enabled_mdev_types = nvidia-222, nvidia-560, nvidia-1145, mtty-2\n"
				  "[mdev_nvidia-222]\n"
				  "device_addresses = 0000:84:00.0, 0000:85:00.0\n"
				  "max_instances = 4\n"
				  "vgpu_params = frame_rate_limiter=0\n"
				  "[mdev_nvidia-560]\n"
				  "device_addresses = 0000:41:00.0\n"
				  "[mdev_nvidia-1145]\n"
				  "device_addresses = 0000:c1:00.0\n"
				  "vgpu_params = frame_rate_limiter=0\n"
				  "[vf_gpu]\n"
				  "device_addresses = 0000:c2:00.0\n"
				  "[mdev_mtty-2]\n"
				  "device_addresses = mtty\n"
				  "mdev_class = CUSTOM_PORT\n"
				  "[policy]\n"
				  "placement = pack\n"
				  "reclaim_grace = 20\n"
				  "driver_cleanup = 2\n"
				  "lock_timeout = 5\n"
				  "[quota]\n"
				  "none = 14\n";

/* Among the types that a domain can ask for are a class, and one that is not enabled. */
static const char *const types[] = { "nvidia-222",  "nvidia-222", "nvidia-560",  "nvidia-560",  "mtty-2",
				     "mtty-2",      "VGPU",       "CUSTOM_PORT", "nvidia-1145", "nvidia-1145",
				     "nvidia-1145", "gpu",        "gpu" };

bool is_vf(const char *id)
{
	return strchr(id, '.');
}

void world_xml(const struct domain *d, bool whole, int only, char out[XML_MAX])
{
	snprintf(out, XML_MAX,
		 "<domain type='kvm'><name>%s</name><uuid>%s</uuid><metadata><vgpu:lease xmlns:vgpu='" DOMXML_NS "'>",
		 d->name, d->uuid);
	for (int w = 0; w < d->nvgpus; w++)
		/* Of a single VF the configuration says that it is a vGPU. */
		if ((only < 0 || w == only) && (d->nvgpus > 1 || !is_vf(d->req[w])))
			text_add(out, XML_MAX, "<vgpu:device %s='%s' type='%s'/>",
				 is_vf(d->req[w]) ? "address" : "uuid", d->req[w], d->type[w]);
	text_add(out, XML_MAX, "</vgpu:lease></metadata><devices>");
	for (int w = 0; w < d->nvgpus; w++)
		if (w != only && (only >= 0 || (!whole && d->unplugged[w])))
			continue;
		else if (is_vf(d->req[w]))
			text_add(out, XML_MAX, VF_XML("%.2s", "%c"), d->req[w] + 5, d->req[w][11]);
		else
			text_add(out, XML_MAX, MDEV_XML("%s"), d->req[w]);
	text_add(out, XML_MAX, "</devices></domain>\n");
}

/* A VF of the card that has this type; false: its vGPUs are mdevs. */
static bool choose_vf(char out[UUID_SIZE], const char *type, int n)
{
	char vf[PARENT_SIZE];

	for (int c = 0; c < CARDS; c++)
		if (cards[c].framework != FW_MDEV && strcmp(cards[c].types[0].id, type) == 0) {
			card_parent(vf, c, n % cards[c].nvfs);
			return text_copy(out, UUID_SIZE, vf);
		}
	return false;
}

/* Every third domain requests what its neighbour requests, too; VFs are requested by several. */
static void start_domain(int i)
{
	struct domain *d = &world_now.domains[i];

	d->pid = QEMU_FIRST + i;
	d->nvgpus = i % 4 == 3 ? 2 : 1;
	d->shares = i % 3;
	snprintf(d->name, sizeof(d->name), "vm%d", i);
	snprintf(d->uuid, sizeof(d->uuid), "d0000000-0000-4000-8000-%012d", i);
	for (int w = 0; w < d->nvgpus; w++) {
		d->type[w] = types[pick(sizeof(types) / sizeof(*types))];
		if (!choose_vf(d->first[w], d->type[w], i + w))
			snprintf(d->first[w], UUID_SIZE, "a0000000-0000-4000-8000-%012d",
				 10 * (i - (i % 3 == 2 && w == 0)) + w);
	}
	memcpy(d->req, d->first, sizeof(d->req));
}

void world_start(unsigned seed)
{
	struct tree *tree = &world_now.tree;
	struct err err;

	chance_seed(seed);
	/* In memory, where there is such a place. */
	tree_begin_in(tree, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", "");
	umask(077);
	driver_start(tree);
	if (config_of_text(&world_now.config, "test.conf", config_text, strlen(config_text), &err) < 0) {
		errno = err.code;
		tree_fail(err.text);
	}
	for (int i = 0; i < DOMAINS; i++)
		start_domain(i);
}

void world_end(void)
{
	quiet++;
	tree_end(&world_now.tree);
}

/* Is this file of the directory of leases a lease? */
bool ledger_is(int dir, const char *name)
{
	static struct stat leases;
	struct stat st;
	char id[ID_SIZE];

	if (!id_parse(id, name))
		return false;
	if (!leases.st_ino && fstatat(world_now.tree.host.root, "run/vgpu-lease/leases", &leases, 0) < 0)
		return false;
	return fstat(dir, &st) == 0 && st.st_ino == leases.st_ino;
}

const struct lease *ledger_find(const char *id)
{
	for (size_t i = 0; i < ledger.n; i++)
		if (strcmp(ledger.list[i].vgpu.id, id) == 0)
			return &ledger.list[i];
	return NULL;
}
