/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * VFs of NVIDIA's variant driver: writing a type's number to current_vgpu_type creates the vGPU, writing 0 removes it.
 *
 * Writing 0 gives EPERM if the VF has no type or is open, and EBUSY if nvidia-vgpu-mgr has not released it within 5 s.
 * So only the value that is read afterwards shows whether the vGPU exists.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "base/text.h"
#include "host/typelist.h"
#include "sys/timed_child.h"

#define CURRENT_TYPE "nvidia/current_vgpu_type"

/* The number of the VF's type; 0: none; negative: an errno. */
static int read_current(const char *card, int dir, const char *vf)
{
	char path[VGPU_PATH_SIZE], text[32];
	ssize_t n;
	long type;

	snprintf(path, sizeof(path), "%s/" CURRENT_TYPE, vf);
	n = timed_child_read(card, dir, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	return text_number(text, 0, INT_MAX, &type) ? (int)type : -EINVAL;
}

/* Adds one VF as a parent, and also as a device if it has a type. */
static void read_vf(struct inventory *inv, struct inv_pgpu *pgpu, int card, size_t n, const char *vf)
{
	struct inv_parent parent = { .card = pgpu };
	struct inv_device device = { .vgpu.framework = FW_VARIANT };
	char link[32];
	int number;

	snprintf(link, sizeof(link), "virtfn%zu", n);
	number = read_current(pgpu->address, card, link);
	if (number == -ENOENT)
		return; /* it is bound to another driver, as a plain VF of a guest is */
	if (number == -ETIMEDOUT)
		inv_silent(pgpu);
	else if (number < 0)
		inv_not_ready(pgpu, "current_vgpu_type of a VF cannot be read: %s", inv_describe(-number));
	text_copy(parent.name, sizeof(parent.name), vf);
	parent.unread = number < 0;
	parent.ndevices = number > 0;
	device.parent = inv_add(&inv->parents, &inv->nparents, &parent, sizeof(parent));
	if (number <= 0)
		return;
	text_copy(device.vgpu.id, sizeof(device.vgpu.id), vf);
	text_copy(device.vgpu.parent, sizeof(device.vgpu.parent), vf);
	snprintf(device.vgpu.type, sizeof(device.vgpu.type), "nvidia-%d", number);
	/* A VF's directory outlives its vGPU, so only the type distinguishes successive vGPUs. */
	device.node = (uint64_t)number;
	*(struct inv_device *)mem_add(&inv->devices, &inv->ndevices, sizeof(device)) = device;
}

/* Reads a card if its VFs are of this framework. */
static void read_card(struct inv_reader *reader, const char *address, int card)
{
	struct inventory *inv = reader->inv;
	struct inv_pgpu *pgpu = inv_add_pgpu(inv, FW_VARIANT, address);
	size_t had = inv->nparents;
	char vf[PCI_SIZE];

	for (size_t n = 0; n < UINT16_MAX && inv_read_virtfn(vf, card, n); n++)
		read_vf(inv, pgpu, card, n, vf);
	if (inv->nparents == had)
		inv->npgpus--;
	else
		inv_read_card(pgpu, card);
}

static int variant_read(struct inv_reader *reader, struct err *err)
{
	return inv_read_cards(reader, "sys/bus/pci/drivers/nvidia", read_card, err);
}

int inv_read_list(struct typelist *list, const struct host *host, const char *card, const char *vf)
{
	char text[TYPELIST_TEXT_MAX], path[VGPU_PATH_SIZE];
	struct err err;
	ssize_t n;

	if (inventory_path(path, vf, "/nvidia/creatable_vgpu_types", &err) < 0)
		return -err.code;
	n = timed_child_read(card, host->root, path, text, TYPELIST_TEXT_MAX);
	if (n > 0)
		typelist_parse(list, text);
	return n < 0 ? (int)n : 0;
}

static int check_type(const struct vgpu_ref *vgpu, struct err *err)
{
	if (typelist_number(vgpu->type))
		return 0;
	return err_set(err, EINVAL, "'%s' is not a type of NVIDIA's driver, such as nvidia-1145", vgpu->type);
}

/* Reads this VF's own list again, because setting a sibling's type changes it. */
static int variant_available(const struct host *host, const struct vgpu_ref *vgpu, const char *card, struct err *err)
{
	struct typelist list = { 0 };
	int r = check_type(vgpu, err);

	if (r < 0)
		return r;
	r = inv_read_list(&list, host, card, vgpu->id);
	if (r == -ENOENT)
		err_set(err, ENOENT, "provides no vGPUs: NVIDIA's host driver is not bound to it");
	else if (r < 0)
		err_set(err, -r, "creatable_vgpu_types cannot be read: %s", err_describe(-r));
	/* Leave the VF out of the cause, because a refusal groups the reasons of all VFs by their cause. */
	if (r < 0)
		return err_in(err, "VF %s", vgpu->id);
	r = typelist_find(&list, vgpu->type) != NULL;
	typelist_free(&list);
	return r;
}

static int variant_creation(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err)
{
	if (check_type(vgpu, err) < 0)
		return -err->code;
	snprintf(write->line, sizeof(write->line), "%s\n", typelist_number(vgpu->type));
	return inventory_path(write->path, vgpu->id, "/" CURRENT_TYPE, err);
}

static int variant_look(const struct host *host, const struct vgpu_ref *vgpu, char type[TYPE_SIZE],
			const char **missing, struct err *err)
{
	char path[VGPU_PATH_SIZE], card[PARENT_SIZE];
	int r = inventory_path(path, vgpu->id, "", err);

	if (r < 0)
		return r;
	kernel_card(card, host, vgpu);
	r = read_current(card, host->root, path);
	if (r == -ETIMEDOUT)
		*missing = "its driver does not answer a read of current_vgpu_type";
	else if (r == -ENOENT || r == 0)
		*missing = r == 0 ? "its current_vgpu_type reads 0" : "it has no current_vgpu_type";
	else if (r < 0)
		err_set(err, -r, "current_vgpu_type cannot be read: %s", inv_describe(-r));
	if (r == 0 || *missing)
		return r == -ETIMEDOUT ? r : -ENOENT;
	if (r < 0)
		return err_in(err, "VF %s", vgpu->id);
	snprintf(type, TYPE_SIZE, "nvidia-%d", r);
	return 1;
}

static enum kernel_driver variant_driver(const struct host *host, const struct vgpu_ref *vgpu)
{
	(void)host, (void)vgpu;
	return DRIVER_NVIDIA_VF;
}

const struct framework_ops framework_variant = {
	.read = variant_read,
	.ask = inv_ask_variant,
	.available = variant_available,
	.creation = variant_creation,
	.look = variant_look,
	.removal = { CURRENT_TYPE, "0" },
	.driver = variant_driver,
	.keeps_id = true,
};
