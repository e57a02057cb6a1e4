/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cards that can be simulated, as tables, and the description of a host made of them. */
#include "sim_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "text.h"

/* NVIDIA: a number, and the type's name without the board. Mdev samples: the id's second part and the name. */
struct sim_profile {
	int id;
	const char *name;
	const char *description;
	int size;
	int low, high, fence;
};

/* clang-format off: rows of a table */
#define T(number, series) { .id = (number), .name = (series) }

static const struct sim_profile t4[] = {
	T(222, "1B"),  T(223, "2B"),  T(224, "2B4"), T(225, "1A"), T(226, "2A"),  T(227, "4A"),
	T(228, "8A"),  T(229, "16A"), T(230, "1Q"),  T(231, "2Q"), T(232, "4Q"),  T(233, "8Q"),
	T(234, "16Q"), T(252, "1B4"), T(319, "4C"),  T(320, "8C"), T(321, "16C"), { 0 },
};

static const struct sim_profile a40[] = {
	T(555, "1B"),  T(556, "2B"),  T(557, "1Q"),  T(558, "2Q"),  T(559, "3Q"),  T(560, "4Q"),
	T(561, "6Q"),  T(562, "8Q"),  T(563, "12Q"), T(564, "16Q"), T(565, "24Q"), T(566, "48Q"),
	T(567, "1A"),  T(568, "2A"),  T(569, "3A"),  T(570, "4A"),  T(571, "6A"),  T(572, "8A"),
	T(573, "12A"), T(574, "16A"), T(575, "24A"), T(576, "48A"), T(581, "4C"),  T(582, "6C"),
	T(583, "8C"),  T(584, "12C"), T(585, "16C"), T(586, "24C"), T(587, "48C"), { 0 },
};

/* Made up: forty types of an imagined board. */
static const struct sim_profile bench[] = {
	T(9001, "1Q"),  T(9002, "2Q"),  T(9003, "3Q"),  T(9004, "4Q"),  T(9005, "6Q"),  T(9006, "8Q"),  T(9007, "12Q"),
	T(9008, "16Q"), T(9009, "24Q"), T(9010, "48Q"), T(9011, "1A"),  T(9012, "2A"),  T(9013, "3A"),  T(9014, "4A"),
	T(9015, "6A"),  T(9016, "8A"),  T(9017, "12A"), T(9018, "16A"), T(9019, "24A"), T(9020, "48A"), T(9021, "1C"),
	T(9022, "2C"),  T(9023, "3C"),  T(9024, "4C"),  T(9025, "6C"),  T(9026, "8C"),  T(9027, "12C"), T(9028, "16C"),
	T(9029, "24C"), T(9030, "48C"), T(9031, "1B"),  T(9032, "2B"),  T(9033, "3B"),  T(9034, "4B"),  T(9035, "6B"),
	T(9036, "8B"),  T(9037, "12B"), T(9038, "16B"), T(9039, "24B"), T(9040, "48B"), { 0 },
};

#undef T
/* clang-format on */

static const struct sim_profile mtty[] = {
	{ .id = 1, .name = "Single port serial", .size = 1 },
	{ .id = 2, .name = "Dual port serial", .size = 2 },
	{ 0 },
};

static const struct sim_profile mdpy[] = {
	{ .id = 1, .name = "mdpy-vga", .description = "virtual display, 640x480 framebuffer", .size = 1 },
	{ .id = 2, .name = "mdpy-xga", .description = "virtual display, 1024x768 framebuffer", .size = 1 },
	{ .id = 3, .name = "mdpy-hd", .description = "virtual display, 1920x1080 framebuffer", .size = 1 },
	{ 0 },
};

static const struct sim_profile gvt[] = {
	{ 1, "GVTg_V5_1", "1920x1200", 16, 512, 2048, 4 },
	{ 2, "GVTg_V5_2", "1920x1200", 8, 256, 1024, 4 },
	{ 3, "GVTg_V5_4", "1920x1200", 4, 128, 512, 4 },
	{ 4, "GVTg_V5_8", "1024x768", 2, 64, 384, 4 },
	{ 0 },
};

static const struct sim_model models[] = {
	{ .name = "t4",
	  .says = "NVIDIA T4: mdevs on the PF itself, from 0000:84:00.0 on",
	  .family = SIM_NVIDIA,
	  .driver = "nvidia",
	  .mdev_driver = "nvidia-vgpu-vfio",
	  .board = "GRID T4",
	  .vendor = 0x10de,
	  .device = 0x1eb8,
	  .subdevice = 0x12a2,
	  .class = 0x030200,
	  .bus = 0x84,
	  .cards_max = SIM_CARDS_MAX,
	  .framebuffer_gib = 16,
	  .instances_max = 16,
	  .profiles = t4 },
	{ .name = "a40",
	  .says = "NVIDIA A40: mdevs on 32 VFs (a40/VFS for another number), from 0000:41:00.0 on",
	  .family = SIM_NVIDIA,
	  .driver = "nvidia",
	  .mdev_driver = "nvidia-vgpu-vfio",
	  .board = "NVIDIA A40",
	  .vendor = 0x10de,
	  .device = 0x2235,
	  .subdevice = 0x145a,
	  .class = 0x030200,
	  .bus = 0x41,
	  .cards_max = SIM_CARDS_MAX,
	  .vfs = 32,
	  .framebuffer_gib = 48,
	  .instances_max = 32,
	  .profiles = a40 },
	{ .name = "bench",
	  .says = "imagined NVIDIA card, bench/VFSxTYPES: 48x30 where not given, from 0000:c1:00.0 on",
	  .family = SIM_NVIDIA,
	  .driver = "nvidia",
	  .mdev_driver = "nvidia-vgpu-vfio",
	  .board = "NVIDIA BENCH",
	  .vendor = 0x10de,
	  .device = 0x20b5,
	  .subdevice = 0x1533,
	  .class = 0x030200,
	  .bus = 0xc1,
	  .cards_max = SIM_CARDS_MAX,
	  .vfs = 48,
	  .types = 30,
	  .framebuffer_gib = 48,
	  .instances_max = 48,
	  .profiles = bench },
	{ .name = "gvt-g",
	  .says = "Intel GVT-g on 0000:00:02.0: types without names that share one aperture",
	  .family = SIM_GVT,
	  .driver = "i915",
	  .mdev_driver = "intel_vgpu_mdev",
	  .board = "",
	  .vendor = 0x8086,
	  .device = 0x5917,
	  .subdevice = 0x2245,
	  .class = 0x030000,
	  .slot = 2,
	  .cards_max = 1,
	  .profiles = gvt },
	{ .name = "mtty",
	  .says = "the kernel's sample driver mtty: 24 serial ports, no PCI device",
	  .family = SIM_MTTY,
	  .driver = "mtty",
	  .mdev_driver = "mtty",
	  .board = "",
	  .cards_max = 1,
	  .profiles = mtty },
	{ .name = "mdpy",
	  .says = "the kernel's sample driver mdpy: 4 displays, no PCI device",
	  .family = SIM_MDPY,
	  .driver = "mdpy",
	  .mdev_driver = "mdpy",
	  .board = "",
	  .cards_max = 1,
	  .profiles = mdpy },
};

void sim_model_list(FILE *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		fprintf(out, "%-7s%s\n", models[i].name, models[i].says);
}

void sim_model_address(char out[PARENT_SIZE], const struct sim_model *model, int card, int vf)
{
	int function = vf < 0 ? 0 : SIM_NVIDIA_VF + vf;

	if (!model->vendor)
		text_copy(out, PARENT_SIZE, model->driver);
	else
		snprintf(out, PARENT_SIZE, "0000:%02x:%02x.%x", (unsigned)(model->bus + card) & 0xff,
			 (unsigned)(model->slot + function / 8) & 0x1f, (unsigned)function & 7);
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

/* What a series is like is the same on all boards: see the table of types of any NVIDIA release. */
static void nvidia_type(struct sim_type *type, const struct sim_model *model, const struct sim_profile *p)
{
	int gib = atoi(p->name);
	char series = p->name[strspn(p->name, "0123456789")];
	const char *resolution = series == 'A' ? "1280x1024" : series == 'C' ? "4096x2160" : "7680x4320";

	if (series == 'B' || gib == 1)
		resolution = series == 'A' ? resolution : "5120x2880";
	type->size = gib * 1024;
	type->capacity = smaller(model->framebuffer_gib / gib, model->instances_max);
	snprintf(type->id, sizeof(type->id), "nvidia-%d", p->id);
	snprintf(type->name, sizeof(type->name), "%s-%s", model->board, p->name);
	snprintf(type->description, sizeof(type->description),
		 "num_heads=%d, frl_config=%d, framebuffer=%dM, max_resolution=%s, max_instance=%d",
		 series == 'A' || series == 'C' ? 1 : 4, series == 'B' ? 45 : 60, type->size, resolution,
		 type->capacity);
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
		text_copy(type->name, sizeof(type->name), p->name);
		break;
	case SIM_MDPY:
		text_copy(type->id, sizeof(type->id), p->name);
		text_copy(type->name, sizeof(type->name), p->name);
		text_copy(type->description, sizeof(type->description), p->description);
		break;
	case SIM_GVT:
		snprintf(type->id, sizeof(type->id), "i915-%s", p->name);
		snprintf(type->description, sizeof(type->description),
			 "low_gm_size: %dMB\nhigh_gm_size: %dMB\nfence: %d\nresolution: %s\nweight: %d", p->low,
			 p->high, p->fence, p->description, p->size);
		type->size = 0;
		break;
	}
}

static int types_fill(struct sim_item *item, long types)
{
	const struct sim_profile *p = item->model->profiles;

	for (; p->name && (types == 0 || item->ntypes < types); p++)
		type_fill(&item->types[item->ntypes++], item->model, p);
	return types == 0 || item->ntypes == types ? 0 : -EINVAL;
}

/* SHAPE: "VFS" where the model has VFs, "VFSxTYPES" where it says how many types. */
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

static int item_parse(struct sim_spec *spec, char *text, struct err *err)
{
	struct sim_item *item = &spec->items[spec->nitems];
	char *count = strchr(text, ':'), *shape;
	long cards = 1, types;
	int r;

	if (count)
		*count++ = '\0';
	shape = strchr(text, '/');
	if (shape)
		*shape++ = '\0';
	*item = (struct sim_item){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		if (strcmp(models[i].name, text) == 0)
			item->model = &models[i];
	if (!item->model)
		return err_set(err, EINVAL, "unknown model \"%s\": there are t4, a40, bench, gvt-g, mtty and mdpy",
			       text);
	for (int i = 0; i < spec->nitems; i++)
		if (spec->items[i].model == item->model)
			return err_set(err, EINVAL, "model %s is named twice: write %s:COUNT", text, text);
	if (count && !text_number(count, 1, item->model->cards_max, &cards))
		return err_set(err, EINVAL, "model %s: %s is no number of cards from 1 to %d", text, count,
			       item->model->cards_max);
	item->cards = (int)cards;
	r = shape_parse(item, shape, &types, err);
	if (r < 0)
		return r;
	spec->nitems++;
	return types_fill(item, types);
}

int sim_model_parse(struct sim_spec *out, const char *text, struct err *err)
{
	autofree char *copy = strdup(text);
	char *rest = copy, *part;

	if (!copy)
		return err_sys(err, ENOMEM, "model %s", text);
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
