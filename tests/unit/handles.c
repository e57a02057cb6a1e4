/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who has a vGPU open. */
#include "handles.h"

#include <errno.h>

#include "tap.h"
#include "tree.h"

#define A "c6f1a2b3-0000-4000-8000-00000000000a"
#define B "c6f1a2b3-0000-4000-8000-00000000000b"
#define C "c6f1a2b3-0000-4000-8000-00000000000c"
#define D "c6f1a2b3-0000-4000-8000-00000000000d"

static const char host[] = "sys/bus/mdev/devices/" A " -> ../../../devices/virtual/mtty/mtty/" A "\n"
			   "sys/bus/mdev/devices/" B " -> ../../../devices/virtual/mtty/mtty/" B "\n"
			   "sys/bus/mdev/devices/" C " -> ../../../devices/virtual/mtty/mtty/" C "\n"
			   "sys/bus/mdev/devices/" D " -> ../../../devices/virtual/mtty/mtty/" D "\n"
			   "sys/devices/virtual/mtty/mtty/" A "/iommu_group -> ../../../../../kernel/iommu_groups/12\n"
			   "sys/devices/virtual/mtty/mtty/" B "/iommu_group -> ../../../../../kernel/iommu_groups/1\n"
			   "sys/devices/virtual/mtty/mtty/" B "/vfio-dev/vfio7/\n"
			   "sys/devices/virtual/mtty/mtty/" C "/iommu_group -> ../../../../../kernel/iommu_groups/123\n"
			   "sys/devices/virtual/mtty/mtty/" D "/\n"
			   "sys/bus/pci/devices/0000:41:00.4/iommu_group -> ../../../../kernel/iommu_groups/50\n"
			   "proc/1/fd/0 -> /dev/null\n"
			   "proc/2/fd/\n"
			   "proc/77/fd/3 -> /dev/vfio/vfio\n"
			   "proc/77/fd/4 -> /dev/vfio/12\n"
			   "proc/77/fd/5 -> /dev/vfio/12\n"
			   "proc/77/fd/6 -> socket:[123]\n"
			   "proc/78/fd/9 -> /dev/vfio/devices/vfio7\n"
			   "proc/79/fd/9 -> /dev/vfio/50 (deleted)\n"
			   "proc/80/fd/9 -> /dev/vfio/123x\n"
			   "proc/80/fd/10 -> /tmp/dev/vfio/123\n"
			   "proc/81/\n"
			   "proc/self/fd/4 -> /dev/vfio/123\n"
			   "proc/net = 1\n";

static void devices(void)
{
	struct handles *h;
	struct tree tree;
	struct err err;
	pid_t pid = 0;

	tree_begin(&tree, host);
	ok(handles_read(&h, &tree.host, &err) == 0, "all processes are looked at, also one that goes meanwhile");
	ok(handles_open(h, &tree.host, A, &pid, &err) == 1 && pid == 77, "the holder of its group has a vGPU open");
	ok(handles_open(h, &tree.host, B, &pid, &err) == 1 && pid == 78, "so has the holder of its own node");
	ok(handles_open(h, &tree.host, C, NULL, &err) == 0, "a path that only looks like the group's is none");
	ok(handles_open(h, &tree.host, D, NULL, &err) == 0, "a vGPU that VFIO has no node for is not open");
	ok(handles_open(h, &tree.host, "0000:41:00.4", NULL, &err) == 1,
	   "a VF is looked up likewise, also by a node that was removed");
	ok(handles_open(h, &tree.host, "c6f1a2b3-0000-4000-8000-0000000000ff", NULL, &err) == 0,
	   "one that is gone is not open");
	ok(handles_open(h, &tree.host, "../../x", NULL, &err) == -EINVAL, "a path names no vGPU: %s", err.text);
	tree_remove(&tree, "sys/devices/virtual/mtty/mtty/" C "/iommu_group");
	tree_add(&tree, "sys/devices/virtual/mtty/mtty/" C "/iommu_group = no link\n");
	ok(handles_open(h, &tree.host, C, NULL, &err) == -EINVAL, "where the group cannot be told it is an error: %s",
	   err.text);
	handles_free(h);
	tree_end(&tree);
}

static void doubt(void)
{
	struct handles *h;
	struct tree tree;
	struct err err;

	tree_begin(&tree, "proc/5/fd = no folder\n");
	ok(handles_read(&h, &tree.host, &err) == -ENOTDIR && h == NULL, "a table that cannot be read is an error: %s",
	   err.text);
	tree_end(&tree);
	tree_begin(&tree, "");
	ok(handles_read(&h, &tree.host, &err) == 0, "a tree without proc has no processes");
	handles_free(h);
	tree_end(&tree);
	handles_free(NULL);
}

static void the_real_one(void)
{
	struct handles *h = NULL;
	struct host real = { .root = -1 };
	struct err err = { 0 };
	int r;

	ok(host_open(&real, NULL, &err) == 0, "this host is opened");
	r = handles_read(&h, &real, &err);
	/* In a container init may have rights that root there lacks: then nobody can tell. */
	ok(r == 0 || (r == -EACCES && !h), "its processes are looked at, or it is said why that cannot be: %s",
	   err.text);
	handles_free(h);
	host_close(&real);
}

int main(void)
{
	devices();
	doubt();
	the_real_one();
	return tap_done();
}
