/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files in the directory nvidia of a VF. */
#include "sim/variant.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/device.h"
#include "sim/instances.h"
#include "sim/vf.h"
#include "sim/vfio.h"

static struct sim_vf *vf_of(const struct sim_node *node)
{
	return ((const struct sim_parent *)node->owner)->vf;
}

static struct sim_kernel *kernel_of(const struct sim_vf *vf)
{
	return vf->parent->gpu->kernel;
}

/* The type that the files show; NULL: none, or a type is being set. */
static const struct sim_type *type_of(const struct sim_vf *vf)
{
	return vf->type && vf->state != SIM_CREATING ? vf->type : NULL;
}

static void answer(struct sim_vf *vf, const char *what, const struct sim_type *type, struct sim_write *write, ssize_t r)
{
	sim_log(kernel_of(vf), what, vf->parent, type, NULL, r < 0 ? (int)r : 0);
	sim_write_done(write, r < 0 ? r : (ssize_t)write->len);
}

/* Ends the operation in progress, and answers its write. */
static void ends(struct sim_vf *vf, const char *what, int error)
{
	const struct sim_type *type = vf->type;
	struct sim_write *write = vf->write;
	bool has_type = (vf->state == SIM_CREATING) == !error;

	vf->write = NULL;
	vf->state = SIM_ACTIVE;
	vf->group->is_usable = has_type;
	if (!has_type) {
		sim_instances_give(vf->parent, type);
		vf->type = NULL;
		vf->params[0] = '\0';
	}
	sim_device_instances_changed(vf->parent->gpu);
	answer(vf, what, type, write, -error);
}

static void create_ends(void *arg)
{
	struct sim_vf *vf = arg;

	ends(vf, "create", vf->fails);
}

static const struct sim_type *type_numbered(const struct sim_item *item, long number)
{
	for (int i = 0; i < item->ntypes; i++)
		if (item->types[i].number == number)
			return &item->types[i];
	return NULL;
}

static void create(struct sim_vf *vf, long number, struct sim_write *write)
{
	struct sim_gpu *gpu = vf->parent->gpu;
	const struct sim_type *type = type_numbered(gpu->item, number);
	long delay = sim_knob(gpu, SIM_CREATE_DELAY);
	int r = -EPERM;

	if (!vf->type)
		r = type ? sim_instances_take(vf->parent, type) : -EIO;
	if (r < 0) {
		answer(vf, "create", type, write, r);
		return;
	}
	vf->type = type;
	vf->state = SIM_CREATING;
	vf->write = write;
	vf->fails = sim_order_take(gpu->kernel, "create", vf->parent);
	sim_device_instances_changed(gpu);
	if (delay > 0)
		sim_timer_set(gpu->kernel, &vf->step, delay, create_ends, vf);
	else
		create_ends(vf);
}

static void remove_ends(void *arg)
{
	ends(arg, "remove", 0);
}

/* vgpu-mgr has released the VF, or the driver's wait for vgpu-mgr has ended. */
static void remove_goes_on(void *arg)
{
	struct sim_vf *vf = arg;
	long delay = sim_knob(vf->parent->gpu, SIM_REMOVE_DELAY);

	if (sim_vfio_busy_ms(vf->group) > 0)
		ends(vf, "remove", EBUSY);
	else if (delay > 0)
		sim_timer_set(kernel_of(vf), &vf->step, delay, remove_ends, vf);
	else
		remove_ends(vf);
}

static void clear(struct sim_vf *vf, struct sim_write *write)
{
	long busy = sim_vfio_busy_ms(vf->group);
	int r = 0;

	if (!vf->type || vf->state != SIM_ACTIVE || vf->group->holder)
		r = -EPERM;
	else
		r = -sim_order_take(kernel_of(vf), "remove", vf->parent);
	if (r < 0) {
		answer(vf, "remove", vf->type, write, r);
		return;
	}
	vf->state = SIM_REMOVING;
	vf->write = write;
	vf->group->is_usable = false;
	if (busy > 0)
		sim_timer_set(kernel_of(vf), &vf->step, busy < SIM_PLUGIN_WAIT ? busy : SIM_PLUGIN_WAIT, remove_goes_on,
			      vf);
	else
		remove_goes_on(vf);
}

/* Parses a number as kstrtol() does: no blanks, at most one newline at the end; a NUL ends the number. */
static bool number_written(long *out, const struct sim_write *write)
{
	const char *digits = write->data + (*write->data == '+' || *write->data == '-');
	char *end;

	if (!isdigit((unsigned char)*digits))
		return false;
	errno = 0;
	*out = strtol(write->data, &end, 10);
	return errno == 0 && (*end == '\0' || strcmp(end, "\n") == 0);
}

static void current_store(struct sim_node *node, struct sim_write *write)
{
	struct sim_vf *vf = vf_of(node);
	long number;

	if (!number_written(&number, write) || number < 0)
		answer(vf, "create", NULL, write, -EINVAL);
	else if (number > 0)
		create(vf, number, write);
	else
		clear(vf, write);
}

static int current_show(const struct sim_node *node, FILE *out)
{
	const struct sim_type *type = type_of(vf_of(node));

	fprintf(out, "%d\n", type ? type->number : 0);
	return 0;
}

/* Shows the types that fit now. For a VF with a type, shows only the heading. */
static int creatable_show(const struct sim_node *node, FILE *out)
{
	const struct sim_vf *vf = vf_of(node);
	const struct sim_item *item = vf->parent->gpu->item;

	fputs("ID    : vGPU Name\n", out);
	for (int i = 0; i < item->ntypes; i++)
		if (sim_instances_available(vf->parent, &item->types[i]) > 0)
			fprintf(out, "%-5d : %s\n", item->types[i].number, item->types[i].name);
	return 0;
}

static int instance_show(const struct sim_node *node, FILE *out)
{
	const struct sim_type *type = type_of(vf_of(node));

	if (!type)
		return -ENXIO;
	if (type->instance)
		fprintf(out, "%d\n", vf_of(node)->parent->instance);
	else
		fputs("Not Applicable\n", out);
	return 0;
}

static int placement_show(const struct sim_node *node, FILE *out)
{
	const struct sim_type *type = type_of(vf_of(node));

	if (!type)
		return -ENXIO;
	fputs(type->instance ? "0\n" : "Not Applicable\n", out);
	return 0;
}

static int params_show(const struct sim_node *node, FILE *out)
{
	if (!type_of(vf_of(node)))
		return -ENXIO;
	fprintf(out, "%s\n", vf_of(node)->params);
	return 0;
}

static void params_store(struct sim_node *node, struct sim_write *write)
{
	struct sim_vf *vf = vf_of(node);
	int refused = !type_of(vf) ? -ENXIO : vf->group->holder ? -EPERM : 0;

	sim_device_params(vf->parent, vf->type, NULL, refused, vf->params, write);
}

static int warm_show(const struct sim_node *node, FILE *out)
{
	if (!type_of(vf_of(node)))
		return -ENXIO;
	fputs("0\n", out);
	return 0;
}

static void other_store(struct sim_node *node, struct sim_write *write)
{
	sim_write_done(write, type_of(vf_of(node)) ? -EIO : -ENXIO);
}

static const struct sim_attr attrs[] = {
	{ .name = "creatable_vgpu_types", .mode = 0444, .kept = true, .show = creatable_show },
	{ .name = "current_vgpu_type", .mode = 0644, .show = current_show, .store = current_store },
	{ .name = "gpu_instance_id", .mode = 0644, .show = instance_show, .store = other_store },
	{ .name = "placement_id", .mode = 0644, .show = placement_show, .store = other_store },
	{ .name = "vgpu_params", .mode = 0644, .show = params_show, .store = params_store },
	{ .name = "warm_update", .mode = 0644, .show = warm_show, .store = other_store },
};

void sim_variant_register(struct sim_parent *parent)
{
	struct sim_tree *tree = &parent->gpu->kernel->tree;

	parent->types = sim_tree_dir(tree, parent->dir, "nvidia", parent);
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++)
		sim_tree_file(tree, parent->types, &attrs[i], parent);
}

int sim_variant_unregister(struct sim_parent *parent)
{
	return parent->vf->type ? -EBUSY : 0;
}
