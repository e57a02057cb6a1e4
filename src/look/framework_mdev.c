/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mediated devices. A parent is a link in class/mdev_bus, and has `physfn` if it is a VF. A vGPU is a link in
 * bus/mdev/devices to a directory of its parent; its `mdev_type` appears after this directory. A write to the parent's
 * `create` creates the vGPU, and a write to the vGPU's `remove` removes it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "internal.h"
#include "base/text.h"
#include "sys/timed_child.h"

#define DEVICES "sys/bus/mdev/devices"

/* True if the type's device_api is not vfio-pci. vfio-ap and vfio-ccw (s390x) are not vGPUs. */
static bool is_of_other_kind(const char *parent, int dir, const char *type)
{
	char path[PARENT_SIZE + TYPE_SIZE + 48], api[32];

	snprintf(path, sizeof(path), "%s/device_api", type);
	return timed_child_read(parent, dir, path, api, sizeof(api)) > 0 && strcmp(api, "vfio-pci") != 0;
}

bool inv_has_other_kind(int bus, const char *parent)
{
	char path[PARENT_SIZE + 32], name[PARENT_SIZE], address[PCI_SIZE], type[TYPE_SIZE];

	if (!parent_parse(name, parent) || pci_parse(address, name))
		return false;
	snprintf(path, sizeof(path), "%s/mdev_supported_types", name);
	autoclosedir DIR *types = sys_list(bus, path);
	return inventory_next_name(types, type_parse, type) && is_of_other_kind(name, sys_list_fd(types), type);
}

static int read_parents(struct inv_reader *reader, struct err *err)
{
	struct inventory *inv = reader->inv;
	struct inv_parent p = { 0 };

	while (inventory_next_name(reader->bus, parent_parse, p.name))
		if (!inv_has_other_kind(sys_list_fd(reader->bus), p.name))
			inv_add(&inv->parents, &inv->nparents, &p, sizeof(p));
	if (reader->bus && errno)
		return err_sys(err, errno, "%s/sys/class/mdev_bus", reader->host->name);
	mem_sort(inv->parents, inv->nparents, sizeof(*inv->parents), text_order_at);
	return 0;
}

/* The device's link ends in PARENT/UUID. */
static bool device_parent(char out[PARENT_SIZE], int dir, const char *name)
{
	char target[PATH_MAX], *slash;

	sys_target(dir, name, target);
	slash = strrchr(target, '/');
	if (!slash)
		return false;
	*slash = '\0';
	slash = strrchr(target, '/');
	return parent_parse(out, slash ? slash + 1 : target);
}

int inventory_mdevs(const struct host *host, char (**out)[ID_SIZE], size_t *n, struct err *err)
{
	autoclosedir DIR *d = NULL;
	int r = host_list(&d, host, DEVICES, err);
	char uuid[UUID_SIZE];

	while (r == 0 && inventory_next_name(d, uuid_parse, uuid))
		text_copy(*(char(*)[ID_SIZE])mem_add(out, n, ID_SIZE), ID_SIZE, uuid);
	return r;
}

static int read_devices(struct inv_reader *reader, struct err *err)
{
	struct inventory *inv = reader->inv;
	const struct dirent *e;
	autoclosedir DIR *d = NULL;
	int r = host_list(&d, reader->host, DEVICES, err);

	if (!d)
		return r;
	while ((e = sys_next(d))) {
		struct inv_device device = { .node = e->d_ino };
		char path[ID_SIZE + 16], type[TYPE_SIZE];

		if (!uuid_parse(device.vgpu.id, e->d_name) || strcmp(device.vgpu.id, e->d_name) != 0)
			continue;
		if (!device_parent(device.vgpu.parent, sys_list_fd(d), device.vgpu.id))
			continue; /* the device was removed after the directory was listed */
		snprintf(path, sizeof(path), "%s/mdev_type", device.vgpu.id);
		sys_link(sys_list_fd(d), path, type, sizeof(type));
		type_parse(device.vgpu.type, type);
		device.parent = inv_find_parent(inv->parents, inv->nparents, device.vgpu.parent);
		if (!device.parent && is_of_other_kind(device.vgpu.parent, sys_list_fd(d), path))
			continue;
		if (device.parent)
			device.parent->ndevices++;
		*(struct inv_device *)mem_add(&inv->devices, &inv->ndevices, sizeof(device)) = device;
	}
	return errno ? err_sys(err, errno, "%s/" DEVICES, reader->host->name) : 0;
}

/* Is the parent a VF? 1: yes, and `physfn` is its card; 0: no; negative: the link cannot be read. */
static int find_physfn(char physfn[PCI_SIZE], int bus, const char *name)
{
	char path[PARENT_SIZE + 16], base[PCI_SIZE], pci[PCI_SIZE];
	int r;

	if (!pci_parse(pci, name))
		return 0;
	snprintf(path, sizeof(path), "%s/physfn", name);
	r = sys_link(bus, path, base, sizeof(base));
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return pci_parse(physfn, base) && strcmp(physfn, base) == 0 ? 1 : -EINVAL;
}

/* Is `b` the PCI address that follows the address `a`? */
static bool follows(const char *a, const char *b)
{
	size_t len = strlen(a);

	return strlen(b) == len && strncmp(a, b, len - 7) == 0 && inv_routing_id(b) == inv_routing_id(a) + 1;
}

/*
 * Sets the card of parent `i` and of the parents at the consecutive addresses after `i`, if all are the card's first
 * VFs. The VFs of a card have equal distances (SR-IOV: First VF Offset, VF Stride). So checking the first and the last
 * link is enough.
 */
static void take_run(struct inventory *inv, size_t i, struct inv_pgpu *pgpu, int card)
{
	struct inv_parent **run = inv->parents + i;
	char first[PCI_SIZE], last[PCI_SIZE];
	size_t n = 1;

	while (i + n < inv->nparents && !run[n]->card && follows(run[n - 1]->name, run[n]->name))
		n++;
	if (inv_read_virtfn(first, card, 0) && strcmp(first, run[0]->name) == 0 && inv_read_virtfn(last, card, n - 1) &&
	    strcmp(last, run[n - 1]->name) == 0)
		while (n-- > 0)
			run[n]->card = pgpu;
}

/* Sets the pGPU of parent `i`. For the first VF of a pGPU, take_run() also sets the pGPU of the VFs that follow. */
static void find_card(struct inv_reader *reader, size_t i)
{
	struct inv_parent *parent = reader->inv->parents[i];
	char path[PARENT_SIZE + 16], physfn[PCI_SIZE];
	int bus = sys_list_fd(reader->bus), vf = find_physfn(physfn, bus, parent->name);
	const char *address = vf == 1 ? physfn : parent->name;
	struct inv_pgpu *known = inventory_pgpu(reader->inv, address);
	struct inv_pgpu *pgpu = known ? known : inv_add_pgpu(reader->inv, address);

	parent->card = pgpu;
	if (known && known->sriov)
		return;
	snprintf(path, sizeof(path), "%s%s", parent->name, vf == 1 ? "/physfn" : "");
	autoclose int dir = sys_dir(bus, path);
	if (dir < 0)
		inv_not_ready(pgpu, "it cannot be opened: %s", err_describe(-dir));
	else if (vf < 0)
		inv_not_ready(pgpu, "its physfn cannot be read: %s", err_describe(-vf));
	else if (!known)
		inv_read_card(pgpu, dir);
	pgpu->sriov = vf == 1;
	if (vf == 1)
		take_run(reader->inv, i, pgpu, dir);
}

int inv_read_mdevs(struct inv_reader *reader, struct err *err)
{
	if (read_parents(reader, err) < 0 || read_devices(reader, err) < 0)
		return -err->code;
	for (size_t i = 0; i < reader->inv->nparents; i++)
		if (!reader->inv->parents[i]->card)
			find_card(reader, i);
	return 0;
}

int64_t inventory_created_ms(const struct host *host, const struct vgpu_ref *vgpu)
{
	char path[VGPU_PATH_SIZE];
	struct err ignored;
	struct stat st;

	/* A VF's directory exists before its vGPU, so its age says nothing about the vGPU. */
	if (vgpu->framework != FW_MDEV || inventory_path(path, vgpu->id, "", &ignored) < 0 ||
	    fstatat(host->root, path, &st, 0) < 0)
		return 0;
	return sys_now_ms() - sys_age_ms(&st.st_ctim);
}

static int check_type(const struct vgpu_ref *vgpu, struct err *err)
{
	char parent[PARENT_SIZE], type[TYPE_SIZE];

	if (!parent_parse(parent, vgpu->parent))
		return err_set(err, EINVAL, "'%s' is not the name of a parent", vgpu->parent);
	if (!type_parse(type, vgpu->type))
		return err_set(err, EINVAL, "'%s' is not a type ID", vgpu->type);
	return 0;
}

static int mdev_available(const struct host *host, const struct vgpu_ref *vgpu, struct err *err)
{
	char path[sizeof("sys/class/mdev_bus/") + PARENT_SIZE], card[PARENT_SIZE];
	int r = check_type(vgpu, err);

	if (r < 0)
		return r;
	kernel_card(card, host, vgpu);
	snprintf(path, sizeof(path), "sys/class/mdev_bus/%s", vgpu->parent);
	autoclose int dir = sys_dir(host->root, path);
	r = dir < 0 ? -errno : inv_read_available(card, dir, vgpu->type);
	if (r == -ENOENT)
		return err_set(err, ENOENT, "pGPU %s does not offer type %s", vgpu->parent, vgpu->type);
	return r < 0 ? err_set(err, -r, "pGPU %s: available_instances of %s cannot be read: %s", vgpu->parent,
			       vgpu->type, inv_describe(-r))
		     : r;
}

static int mdev_creation(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err)
{
	char uuid[UUID_SIZE];

	if (!uuid_parse(uuid, vgpu->id))
		return err_set(err, EINVAL, "'%s' is not a UUID", vgpu->id);
	snprintf(write->line, sizeof(write->line), "%s\n", uuid);
	snprintf(write->path, sizeof(write->path), "sys/class/mdev_bus/%s/mdev_supported_types/%s/create", vgpu->parent,
		 vgpu->type);
	return check_type(vgpu, err);
}

static int mdev_look(const struct host *host, const struct vgpu_ref *vgpu, char type[TYPE_SIZE], struct err *err)
{
	char path[VGPU_PATH_SIZE];
	int r = inventory_path(path, vgpu->id, "", err);

	if (r < 0)
		return r;
	autoclose int device = sys_dir(host->root, path);
	if (device < 0)
		return errno == ENOENT ? err_set(err, ENOENT, "it has not appeared in /sys/bus/mdev/devices")
				       : err_sys(err, errno, "%s/%s", host->name, path);
	if (sys_link(device, "mdev_type", type, TYPE_SIZE) == 0)
		return 1;
	err_set(err, EAGAIN, "its mdev_type has not appeared");
	return 0;
}

const struct framework_ops framework_mdev = {
	.ask = { inv_ask_mdevs },
	.available = mdev_available,
	.creation = mdev_creation,
	.look = mdev_look,
	.removal = { "remove", "1" },
};
