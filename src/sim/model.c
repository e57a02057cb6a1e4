/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses the description of a host, and makes the tables of types. */
#include "sim/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static const struct sim_model *const tables[] = { sim_models_nvidia, sim_models_other };

static const struct sim_model *model_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct sim_model *model = tables[i]; model->name; model++)
			if (strcmp(model->name, name) == 0)
				return model;
	return NULL;
}

void sim_model_list(FILE *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct sim_model *model = tables[i]; model->name; model++)
			fprintf(out, "%-10s %s\n", model->name, model->says);
}

void sim_model_address(char out[PARENT_SIZE], const struct sim_item *item, int card, int vf)
{
	unsigned function = vf < 0 ? 0 : (unsigned)(item->model->first_vf + vf);

	if (!item->model->vendor)
		text_copy(out, PARENT_SIZE, item->model->driver);
	else
		snprintf(out, PARENT_SIZE, "%04x:%02x:%02x.%x", item->domain, (item->bus + (unsigned)card) & 0xff,
			 (item->slot + function / 8) & 0x1f, function & 7);
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

/* A series is equal on all boards, except for its largest resolution. */
static void nvidia_type(struct sim_type *type, const struct sim_model *model, const struct sim_profile *p)
{
	const char *dash = strrchr(p->name, '-'), *series = dash ? dash + 1 : p->name;
	int gib = atoi(series);
	char letter = series[strspn(series, "0123456789")];
	const char *q = model->resolution_q ? model->resolution_q : "7680x4320";
	const char *c = model->resolution_c ? model->resolution_c : "4096x2160";
	const char *resolution = letter == 'A' ? "1280x1024" : letter == 'C' ? c : q;
	int heads = letter == 'A' || letter == 'C' ? 1 : 4;

	if (letter != 'A' && letter != 'C' && (letter == 'B' || gib == 1))
		resolution = "5120x2880";
	type->size = gib * 1024;
	/* 0B and 0Q have 512 MiB. */
	if (gib == 0) {
		type->size = 512;
		heads = 2;
		resolution = "2560x1600";
	}
	type->capacity = p->size ? p->size : smaller(model->framebuffer_gib * 1024 / type->size, model->instances_max);
	type->number = p->id;
	type->instance = p->instance;
	snprintf(type->id, sizeof(type->id), "nvidia-%d", p->id);
	snprintf(type->name, sizeof(type->name), "%s-%s", model->board, p->name);
	snprintf(type->description, sizeof(type->description),
		 "num_heads=%d, frl_config=%d, framebuffer=%dM, max_resolution=%s, max_instance=%d", heads,
		 letter == 'B' ? 45 : 60, type->size, resolution, type->capacity);
}

static void type_fill(struct sim_type *type, const struct sim_model *model, const struct sim_profile *p)
{
	*type = (struct sim_type){ .size = p->size, .low = p->low, .high = p->high, .fence = p->fence };
	switch (model->family) {
	case SIM_NVIDIA:
		nvidia_type(type, model, p);
		break;
	case SIM_MTTY:
		snprintf(type->id, sizeof(type->id), "mtty-%d", p->id);
		break;
	case SIM_MBOCHS:
	case SIM_COUNTED:
		text_copy(type->id, sizeof(type->id), p->name);
		text_copy(type->description, sizeof(type->description), p->description ? p->description : "");
		break;
	case SIM_GVT:
		snprintf(type->id, sizeof(type->id), "i915-%s", p->name);
		snprintf(type->description, sizeof(type->description),
			 "low_gm_size: %dMB\nhigh_gm_size: %dMB\nfence: %d\nresolution: %s\nweight: %d", p->low,
			 p->high, p->fence, p->description, p->size);
		type->size = 0;
		break;
	case SIM_PLAIN:
		break;
	}
	if (model->has_names)
		text_copy(type->name, sizeof(type->name), p->name);
}

static int types_fill(struct sim_item *item, long types)
{
	const struct sim_profile *p = item->model->profiles;

	for (; p->name && (types == 0 || item->ntypes < types); p++)
		type_fill(&item->types[item->ntypes++], item->model, p);
	return types == 0 || item->ntypes == types ? 0 : -EINVAL;
}

/* SHAPE is "VFS" if the model has VFs, or "VFSxTYPES" if it also has a number of types. */
static int shape_parse(struct sim_item *item, char *shape, long *types, struct err *err)
{
	const struct sim_model *model = item->model;
	char *second = shape ? strchr(shape, 'x') : NULL;
	long vfs = model->vfs;

	*types = model->types;
	if (second)
		*second++ = '\0';
	if (shape && (!model->vfs || !text_number(shape, 1, SIM_VFS_MAX, &vfs)))
		return err_set(err, EINVAL, "model %s: %s is no number of VFs from 1 to %d", model->name, shape,
			       SIM_VFS_MAX);
	if (second && (!model->types || !text_number(second, 1, SIM_TYPES_MAX, types)))
		return err_set(err, EINVAL, "model %s: %s is no number of types from 1 to %d", model->name, second,
			       SIM_TYPES_MAX);
	item->vfs = (int)vfs;
	return 0;
}

static int unknown(const char *name, struct err *err)
{
	char known[200] = "";
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct sim_model *model = tables[i]; model->name && len < sizeof(known); model++)
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", len ? ", " : "", model->name);
	return err_set(err, EINVAL, "unknown model \"%s\": there are %s", name, known);
}

static int address_parse(struct sim_item *item, const char *text, struct err *err)
{
	char address[PCI_SIZE];
	unsigned function;

	if (!item->model->vendor && !text)
		return 0;
	if (!item->model->vendor || !pci_parse(address, text ? text : item->model->address) ||
	    sscanf(address, "%x:%x:%x.%x", &item->domain, &item->bus, &item->slot, &function) != 4 || function != 0)
		return err_set(err, EINVAL, "model %s: %s is no address for it", item->model->name, text);
	return 0;
}

/* Do two items need one bus? Cards without VFs can share a bus, in different slots. */
static bool clash(const struct sim_item *a, const struct sim_item *b)
{
	if (!a->model->vendor || !b->model->vendor)
		return a->model == b->model;
	if (a->domain != b->domain || (a->bus == b->bus && a->slot != b->slot && !a->vfs && !b->vfs))
		return false;
	return a->bus < b->bus + (unsigned)b->cards && b->bus < a->bus + (unsigned)a->cards;
}

/* NAME[/SHAPE][:COUNT][@ADDRESS] */
static int item_parse(struct sim_spec *spec, char *text, struct err *err)
{
	struct sim_item *item = &spec->items[spec->nitems];
	char *name = strsep(&text, "@"), *address = text, *shape = strsep(&name, ":"), *count = name;
	long cards = 1, types;
	int r;

	name = strsep(&shape, "/");
	*item = (struct sim_item){ .model = model_find(name) };
	if (!item->model)
		return unknown(name, err);
	if (count && !text_number(count, 1, item->model->cards_max, &cards))
		return err_set(err, EINVAL, "model %s: %s is no number of cards from 1 to %d", name, count,
			       item->model->cards_max);
	item->cards = (int)cards;
	r = shape_parse(item, shape, &types, err);
	if (r == 0)
		r = address_parse(item, address, err);
	if (r < 0)
		return r;
	for (int i = 0; i < spec->nitems; i++)
		if (clash(item, &spec->items[i]))
			return err_set(err, EINVAL,
				       "model %s stands where %s does: write %s:COUNT for several, or %s@ADDRESS", name,
				       spec->items[i].model->name, name, name);
	spec->nitems++;
	return types_fill(item, types);
}

int sim_model_parse(struct sim_spec *out, const char *text, struct err *err)
{
	autofree char *copy = mem_strdup(text);
	char *rest = copy, *part;

	*out = (struct sim_spec){ 0 };
	while ((part = strsep(&rest, "+"))) {
		int r;

		if (out->nitems == SIM_MODELS_MAX)
			return err_set(err, EINVAL, "more than %d models", SIM_MODELS_MAX);
		r = item_parse(out, part, err);
		if (r < 0)
			return r;
	}
	return 0;
}
