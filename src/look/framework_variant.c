/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * VFs of cards of NVIDIA's driver (bus/pci/drivers/nvidia) that have nvidia/current_vgpu_type. Writing a type's number
 * there creates the vGPU, and writing 0 removes it.
 *
 * Writing 0 gives EPERM if the VF has no type or is open, and EBUSY if nvidia-vgpu-mgr has not released it within 5 s.
 * So only a later read of current_vgpu_type shows whether the vGPU exists.
 *
 * Only free VFs are asked for their types, because the list of a VF with a type may be wrong. A card in use lists fewer
 * types, so recorded types are added (typelist.h).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "base/text.h"
#include "look/pool.h"
#include "look/typelist.h"
#include "sys/timed_child.h"

#define CURRENT_TYPE "nvidia/current_vgpu_type"

enum { TIME_SLICED_MAX = 32 };

/* Returns the number of the VF's type; 0: no type; negative: an errno. */
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

/* Adds VF number `n` as a parent, and also as a device if the VF has a type. */
static void read_vf(struct inventory *inv, struct inv_pgpu *pgpu, int card, size_t n, const char *vf)
{
	struct inv_parent parent = { .card = pgpu };
	struct inv_device device = { .vgpu.framework = FW_VARIANT };
	char link[32];
	int number;

	snprintf(link, sizeof(link), "virtfn%zu", n);
	number = read_current(pgpu->address, card, link);
	if (number == -ENOENT)
		return; /* another driver is bound to the VF, for example because a guest uses it as a plain VF */
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

static void variant_read_vfs(struct inv_reader *reader, struct inv_pgpu *pgpu, int card)
{
	struct inventory *inv = reader->inv;
	size_t had = inv->nparents;
	bool alone = false;
	char vf[PCI_SIZE];

	for (size_t n = 0; pgpu->nvidia && n < UINT16_MAX && inv_read_virtfn(vf, card, n); n++)
		read_vf(inv, pgpu, card, n, vf);
	/* With ACS, each VF is alone in its IOMMU group, so the first VF is enough. */
	for (size_t i = had; i < inv->nparents && !alone; i++) {
		autoclose int dir = inventory_open(reader->host, inv->parents[i]->name);

		alone = dir >= 0 && inv_read_iommu_group(inv->parents[i], dir, pgpu->address);
		if (alone && !*inv->parents[i]->group)
			inv_ungrouped(pgpu);
	}
}

static int read_list(struct typelist *list, const struct host *host, const char *card, const char *vf)
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

/* Adds a type of the card's model, or renames a known type. `name` NULL: a known type keeps its name. */
static void add_type(struct inventory *inv, const struct inv_pgpu *pgpu, const char *id, const char *name)
{
	struct inv_type *type = inv_find_type(inv, pgpu, id);

	if (*type->name && !name)
		return;
	text_copy(type->name, sizeof(type->name), name ? name : id);
	type->framebuffer_mib = typelist_framebuffer(type->name, &type->slices);
	if (!type->slices && type->framebuffer_mib > pgpu->model->whole_mib)
		pgpu->model->whole_mib = type->framebuffer_mib;
}

/* Finds the model among the cards before this one, or reads its record. */
static struct inv_model *model_of(const struct inv_reader *reader, const struct inv_pgpu *pgpu)
{
	struct inv_pgpu *const *cards = reader->inv->pgpus;
	struct inv_model *model = mem_new(1, sizeof(*model));

	typelist_key(model->record, pgpu->vendor, pgpu->device, pgpu->subsystem, reader->inv->nvidia_driver);
	for (size_t i = 0; cards[i] != pgpu; i++)
		if (cards[i]->model && strcmp(cards[i]->model->record, model->record) == 0)
			return cards[i]->model;
	typelist_recall(&model->recorded, reader->host, model->record);
	return model;
}

/*
 * Does the list have time-sliced types of several framebuffer sizes? A card with a vGPU lists types of one size only,
 * and so may a card that has received a vGPU after its VFs were read. In MIG mode, even an empty card lists only types
 * of its GPU instances.
 */
static bool has_sizes(const struct typelist *list)
{
	int size = 0, slices;

	for (EACH(const struct typelist_item *, item, list->items, list->n)) {
		int mib = typelist_framebuffer(item->name, &slices);

		if (mib <= 0 || slices)
			continue;
		if (size && mib != size)
			return true;
		size = mib;
	}
	return false;
}

/* Reads the list of the card's first free VF. Without a free VF, the list is empty. */
static void read_listed(struct inv_reader *reader, struct inv_pgpu *pgpu)
{
	const struct inv_parent *vf = inv_free_vf(pgpu);
	struct inv_model *model = model_of(reader, pgpu);
	int r = vf ? read_list(&pgpu->listed, reader->host, pgpu->address, vf->name) : 0;

	pgpu->model = model;
	if (r == -ETIMEDOUT)
		inv_silent(pgpu);
	else if (r < 0)
		inv_not_ready(pgpu, "creatable_vgpu_types cannot be read: %s", err_describe(-r));
	for (EACH(const struct typelist_item *, item, pgpu->listed.items, pgpu->listed.n))
		typelist_add(&model->listed, item->type, item->name);
	model->seen_whole |= !inventory_next_on(reader->inv, pgpu, NULL) && has_sizes(&pgpu->listed);
	model->types_whole = model->seen_whole || model->recorded.whole;
}

/*
 * Looks up configured types that are not known yet. If the card's vGPUs may hide types, assumes that the type exists.
 * If all types are known, searches the records of other driver versions. Adds a MIG-backed type found there, because
 * the driver lists it only in MIG mode. The section of the first time-sliced type found there becomes `gone`.
 */
static void look_up_configured(struct inv_reader *reader, struct inv_pgpu *pgpu)
{
	const struct config *config = reader->query->config;
	char driver[sizeof(pgpu->gone_driver)];
	int slices;

	for (size_t i = 0; config && i < config->nsections; i++) {
		const struct section *section = &config->sections[i];
		const struct typelist_item *other;

		if (section->vf || !pool_means(section, pgpu) || !typelist_number(section->type) ||
		    inventory_type(reader->inv, pgpu, section->type))
			continue;
		if (pgpu->types_hid)
			add_type(reader->inv, pgpu, section->type, NULL);
		if (!pgpu->model->types_whole)
			continue;
		other = typelist_other_driver(driver, reader->host, pgpu->model->record, section->type);
		if (other)
			typelist_framebuffer(other->name, &slices);
		if (other && slices) {
			add_type(reader->inv, pgpu, section->type, other->name);
		} else if (other && !pgpu->gone) {
			pgpu->gone = section;
			text_copy(pgpu->gone_driver, sizeof(pgpu->gone_driver), driver);
		}
	}
}

/*
 * Adds all known types of the card's model: recorded types, types that cards list now, types of existing vGPUs, and
 * configured types. If an empty card lists all time-sliced types, the record adds only MIG-backed types.
 */
static void add_types(struct inv_reader *reader, struct inv_pgpu *pgpu)
{
	const struct inv_model *model = pgpu->model;
	int slices;

	for (EACH(const struct typelist_item *, item, model->recorded.items, model->recorded.n)) {
		typelist_framebuffer(item->name, &slices);
		if (!model->seen_whole || slices)
			add_type(reader->inv, pgpu, item->type, item->name);
	}
	for (EACH(const struct typelist_item *, item, model->listed.items, model->listed.n))
		add_type(reader->inv, pgpu, item->type, item->name);
	for (const struct inv_device *d = NULL; (d = inventory_next_on(reader->inv, pgpu, d));)
		add_type(reader->inv, pgpu, d->vgpu.type, NULL);
	pgpu->types_hid = !model->types_whole && inventory_next_on(reader->inv, pgpu, NULL);
	look_up_configured(reader, pgpu);
}

/*
 * Offers all types of the model. If all types are known, the largest time-sliced type fills a whole card, so
 * max_instance follows from the framebuffer sizes. At most 32 time-sliced vGPUs fit on a card. That was seen on an L40S
 * (48 GiB, 48 VFs, 1 GiB types) and on an RTX PRO 6000 (96 GiB, 2 GiB types). The card's own list can allow fewer.
 */
static void offer_types(struct inv_reader *reader, struct inv_pgpu *pgpu)
{
	for (size_t i = 0; i < reader->inv->ntypes; i++) {
		struct inv_type *type = reader->inv->types[i];

		if (!inventory_type_is_of(type, pgpu))
			continue;
		inv_offer_type(pgpu, type, typelist_find(&pgpu->listed, type->id) ? 1 : 0);
		if (!pgpu->model->types_whole || type->framebuffer_mib <= 0)
			continue;
		type->max_instance = pgpu->model->whole_mib / type->framebuffer_mib;
		if (!type->slices && type->max_instance > TIME_SLICED_MAX)
			type->max_instance = TIME_SLICED_MAX;
	}
	if (!pgpu->noffers)
		inv_not_ready(pgpu,
			      "its VFs list no vGPU types; in MIG mode they do once 'nvidia-smi mig -i %s -cgi PROFILE "
			      "-C' has made a GPU instance, otherwise see the journal of nvidia-vgpud",
			      pgpu->address);
}

static int check_type(const struct vgpu_ref *vgpu, struct err *err)
{
	if (typelist_number(vgpu->type))
		return 0;
	return err_set(err, EINVAL, "'%s' is not a type of NVIDIA's driver, such as nvidia-1145", vgpu->type);
}

/* Reads the list of this VF again, because it changes when another VF of the card gets a type. */
static int variant_available(const struct host *host, const struct vgpu_ref *vgpu, struct err *err)
{
	struct typelist list = { 0 };
	char card[PARENT_SIZE];
	int r = check_type(vgpu, err);

	if (r < 0)
		return r;
	kernel_card(card, host, vgpu);
	r = read_list(&list, host, card, vgpu->id);
	if (r == -ENOENT)
		err_set(err, ENOENT, "provides no vGPUs: NVIDIA's host driver is not bound to it");
	else if (r < 0)
		err_set(err, -r, "creatable_vgpu_types cannot be read: %s", err_describe(-r));
	/* err_in() keeps the VF's address out of the cause, because a refusal groups VFs by cause. */
	if (r < 0)
		return err_in(err, "VF %s", vgpu->id);
	r = typelist_find(&list, vgpu->type) != NULL;
	mem_free(list.items);
	return r;
}

static int variant_creation(struct kernel_write *write, const struct vgpu_ref *vgpu, struct err *err)
{
	if (check_type(vgpu, err) < 0)
		return -err->code;
	snprintf(write->line, sizeof(write->line), "%s\n", typelist_number(vgpu->type));
	return inventory_path(write->path, vgpu->id, "/" CURRENT_TYPE, err);
}

static int variant_look(const struct host *host, const struct vgpu_ref *vgpu, char type[TYPE_SIZE], struct err *err)
{
	char path[VGPU_PATH_SIZE], card[PARENT_SIZE];
	int r = inventory_path(path, vgpu->id, "", err);

	if (r < 0)
		return r;
	kernel_card(card, host, vgpu);
	r = read_current(card, host->root, path);
	if (r == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT, "its driver does not answer a read of current_vgpu_type");
	if (r == -ENOENT || r == 0)
		return err_set(err, ENOENT, r ? "it has no current_vgpu_type" : "its current_vgpu_type reads 0");
	if (r < 0) {
		err_set(err, -r, "current_vgpu_type cannot be read: %s", inv_describe(-r));
		return err_in(err, "VF %s", vgpu->id);
	}
	snprintf(type, TYPE_SIZE, "nvidia-%d", r);
	return 1;
}

const struct framework_ops framework_variant = {
	.read_vfs = variant_read_vfs,
	.ask = { read_listed, add_types, offer_types },
	.available = variant_available,
	.creation = variant_creation,
	.look = variant_look,
	.removal = { CURRENT_TYPE, "0" },
	.keeps_id = true,
};
