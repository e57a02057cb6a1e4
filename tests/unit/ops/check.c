/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each check finds its condition: a small host, what is wrong with it, and the finding. */
#include "ops/check.h"

#include <stdlib.h>

#include "base/auto.h"
#include "lib/tap.h"
#include "lib/tree.h"

#define CARD "sys/devices/pci0000:80/0000:84:00.0"
#define A "c6f1a2b3-0000-4000-8000-00000000000a"
#define CONF "etc/vgpu-lease.conf = [devices]\\nenabled_mdev_types = "

/* One T4 for mdevs, with a type of its own size and one of another; none of the first is left. */
#define HOST                                                                                                           \
	"run/\nvar/lib/\nproc/\ndev/\nsys/bus/mdev/devices/\nsys/bus/pci/devices/\n"                                   \
	"sys/class/mdev_bus/0000:84:00.0 -> ../../devices/pci0000:80/0000:84:00.0\n" CARD "/vendor = 0x10de\n" CARD    \
	"/device = 0x1eb8\n" TYPE("nvidia-222", "16", "16")                                                            \
		TYPE("nvidia-231", "8", "0") "etc/libvirt/hooks/qemu = \177ELF vgpu-lease\n"
#define TYPE(id, max, available)                                                                                       \
	CARD "/mdev_supported_types/" id "/name = GRID T4-" id "\n" CARD "/mdev_supported_types/" id                   \
	     "/description = num_heads=4, framebuffer=1024M, max_instance=" max "\n" CARD "/mdev_supported_types/" id  \
	     "/device_api = vfio-pci\n" CARD "/mdev_supported_types/" id "/available_instances = " available "\n"
#define VGPU(type)                                                                                                     \
	CARD "/" A "/mdev_type -> ../mdev_supported_types/" type "\nsys/bus/mdev/devices/" A " -> "                    \
	     "../../../devices/pci0000:80/0000:84:00.0/" A "\n"

static const struct {
	const char *host; /* in addition to HOST */
	enum check_status status;
	const char *what, *where; /* behind the root; NULL: the host */
	const char *text;         /* a part of it: what is found, not how it is said */
	const char *sentence;
} rows[] = {
	{ CONF "nvidia-222\n", CHECK_PASS, "type", "etc/vgpu-lease.conf:2", "nvidia-222", "a start that would do" },
	{ CONF "nvidia-231\n", CHECK_FAIL, "type", "etc/vgpu-lease.conf:2", "nvidia-231",
	  "a pGPU that carries nothing and takes nothing is broken" },
	{ CONF "nvidia-231\n" VGPU("nvidia-231"), CHECK_WARN, "type", "etc/vgpu-lease.conf:2", "nvidia-231",
	  "one that is full of its own type is in use" },
	{ CONF "nvidia-231\n" VGPU("nvidia-222"), CHECK_FAIL, "type", "etc/vgpu-lease.conf:2", "nvidia-231",
	  "one that is full of another type is not as configured" },
	{ CONF "nvidia-9\n", CHECK_FAIL, "type", "etc/vgpu-lease.conf:2", "nvidia-9", "a type that no pGPU has" },
	{ CONF "nvidia-222, nvidia-231\n", CHECK_WARN, "type", "etc/vgpu-lease.conf:2", "nvidia-231",
	  "a type to which no pGPU is left" },
	{ CONF "nvidia-222\\n[mdev_nvidia-222]\\ndevice_addresses = 0000:99:00.0\n", CHECK_FAIL, "pgpu",
	  "etc/vgpu-lease.conf:4", "0000:99:00.0", "a pGPU that the host does not have" },
	{ "etc/vgpu-lease.conf = [devices]\n", CHECK_FAIL, "type", "etc/vgpu-lease.conf", "", "no type" },
	{ "etc/vgpu-lease.conf = x\\n[nonsense]\n", CHECK_FAIL, "config", "etc/vgpu-lease.conf:2", "nonsense",
	  "a mistake in the file has its line" },
	{ "", CHECK_FAIL, "config", "etc/vgpu-lease.conf", "", "no file" },
	{ "", CHECK_PASS, "state", "run", "", "a host without a configuration is checked all the same" },
	{ CONF "nvidia-222\netc/libvirt/hooks/qemu = #!/bin/sh\n", CHECK_FAIL, "hook", "etc/libvirt/hooks/qemu", "",
	  "another hook" },
	{ CONF "nvidia-222\nrun/vgpu-lease/leases = x\n", CHECK_FAIL, "state", "run/vgpu-lease/leases", "",
	  "a file where a directory belongs" },
	{ CONF "nvidia-222\nrun/vgpu-lease/lock/\n", CHECK_FAIL, "state", "run/vgpu-lease/lock", "",
	  "a lock that is a directory" },
	{ CONF "nvidia-222\nrun/vgpu-lease/garbage/x = y\n", CHECK_WARN, "state", "run/vgpu-lease/garbage", "1",
	  "a record that was set aside" },
	{ CONF "nvidia-222\netc/mdevctl.d/0000:84:00.0/" A " = {\"mdev_type\": \"nvidia-231\", \"start\": \"auto\"}\n",
	  CHECK_WARN, "mdevctl", "etc/mdevctl.d/0000:84:00.0/" A, "nvidia-231", "a definition of another type" },
	{ CONF "nvidia-222\n", CHECK_PASS, "libvirt", NULL, "",
	  "what is the host's has no place, not that of another" },
};

static bool found(const struct check *check, const char *root, size_t row)
{
	char where[256];

	snprintf(where, sizeof(where), "%s/%s", root, rows[row].where ? rows[row].where : "");
	for (size_t i = 0; i < check->n; i++) {
		const struct finding *f = &check->findings[i];

		if (f->status == rows[row].status && strcmp(f->what, rows[row].what) == 0 &&
		    (rows[row].where ? f->where && strcmp(f->where, where) == 0 : !f->where) &&
		    strstr(f->text, rows[row].text) && !f->fix == (f->status == CHECK_PASS))
			return true;
	}
	for (size_t i = 0; i < check->n; i++)
		printf("# %d %s %s: %s\n", check->findings[i].status, check->findings[i].what,
		       check->findings[i].where ? check->findings[i].where : "-", check->findings[i].text);
	return false;
}

static void each_condition(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct check check = { .simulated = true };
		struct tree tree;
		size_t count = 0;

		tree_begin(&tree, HOST);
		tree_add(&tree, rows[i].host);
		fchmodat(tree.host.root, "etc/libvirt/hooks/qemu", 0755, 0);
		check.host = &tree.host;
		check_run(&check);
		ok(found(&check, tree.path, i), "%s", rows[i].sentence);
		for (size_t s = 0; s <= CHECK_FAIL; s++)
			count += check.count[s];
		ok(count == check.n, "%s: all findings are counted", rows[i].sentence);
		check_free(&check);
		tree_end(&tree);
	}
}

/* The device handler asks for the pool alone. */
static void pool_alone(void)
{
	struct config config;
	struct check check = { .simulated = true };
	struct err err;
	size_t others = 0;

	TREE(tree, HOST CONF "nvidia-222\netc/libvirt/hooks/qemu = #!/bin/sh\n");
	check.host = &tree.host;
	if (ok(config_load(&config, &tree.host, NULL, &(struct config_notes){ 0 }, &err) == 0, "a configuration"))
		check_pool(&check, &config);
	for (size_t i = 0; i < check.n; i++)
		others += strcmp(check.findings[i].what, "pgpu") != 0 && strcmp(check.findings[i].what, "type") != 0;
	ok(check.n == 2 && others == 0 && check.npool == 1 && check.ncards == 1,
	   "its pGPUs and types, and nothing else");
	check_free(&check);
	config_free(&config);
}

TESTS(each_condition, pool_alone)
