/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Creates and removes mdevs. */
#include "sim/mdev.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/device.h"
#include "sim/instances.h"
#include "sim/vfio.h"

static struct sim_kernel *kernel_of(const struct sim_mdev *mdev)
{
	return mdev->parent->gpu->kernel;
}

static void log_of(const struct sim_mdev *mdev, const char *what, int result)
{
	sim_log(kernel_of(mdev), what, mdev->parent, mdev->type, mdev->uuid, result);
}

/* Ends the mdev: removes its directory, group and capacity, and answers the waiting write. */
static void mdev_end(struct sim_mdev *mdev, ssize_t result)
{
	struct sim_kernel *kernel = kernel_of(mdev);
	struct sim_mdev **at = &kernel->mdevs;

	while (*at != mdev)
		at = &(*at)->next;
	*at = mdev->next;
	sim_timer_forget(kernel, &mdev->step);
	sim_timer_forget(kernel, &mdev->reaper);
	sim_device_unlink(mdev);
	sim_tree_remove(&kernel->tree, mdev->dir);
	if (mdev->group)
		sim_vfio_group_free(mdev->group);
	if (!mdev->is_zombie && !mdev->fails) {
		sim_instances_give(mdev->parent, mdev->type);
		sim_device_instances_changed(mdev->parent->gpu);
	}
	if (mdev->write)
		sim_write_done(mdev->write, result);
	free(mdev);
}

static void on_closed(struct sim_group *group);

static void links_appear(void *arg)
{
	struct sim_mdev *mdev = arg;

	mdev->group = sim_vfio_group(kernel_of(mdev), mdev, on_closed);
	sim_device_link(mdev);
}

static void create_ends(void *arg)
{
	struct sim_mdev *mdev = arg;
	struct sim_kernel *kernel = kernel_of(mdev);
	long late = sim_knob(mdev->parent->gpu, SIM_ATTR_DELAY);
	struct sim_write *write = mdev->write;

	log_of(mdev, "create", -mdev->fails);
	if (mdev->fails) {
		mdev_end(mdev, -mdev->fails);
		return;
	}
	mdev->state = SIM_ACTIVE;
	mdev->write = NULL;
	if (late > 0)
		sim_timer_set(kernel, &mdev->step, late, links_appear, mdev);
	else
		links_appear(mdev);
	sim_write_done(write, (ssize_t)write->len);
}

static struct sim_mdev *mdev_find(const struct sim_kernel *kernel, const char *uuid)
{
	struct sim_mdev *mdev = kernel->mdevs;

	while (mdev && strcmp(mdev->uuid, uuid) != 0)
		mdev = mdev->next;
	return mdev;
}

/* Parses a UUID as `create` does: 36 characters, or 37 characters of which the last is ignored. */
static bool uuid_written(char out[UUID_SIZE], const struct sim_write *write)
{
	char text[UUID_SIZE] = "";

	if (write->len != UUID_SIZE - 1 && write->len != UUID_SIZE)
		return false;
	memcpy(text, write->data, UUID_SIZE - 1);
	return uuid_parse(out, text);
}

static void refuse(struct sim_parent *parent, const struct sim_type *type, const char *uuid, struct sim_write *write,
		   int error)
{
	sim_log(parent->gpu->kernel, "create", parent, type, uuid, error);
	sim_write_done(write, error);
}

void sim_mdev_create(struct sim_parent *parent, const struct sim_type *type, struct sim_write *write)
{
	struct sim_kernel *kernel = parent->gpu->kernel;
	long delay = sim_knob(parent->gpu, SIM_CREATE_DELAY);
	struct sim_mdev *mdev;
	char uuid[UUID_SIZE];
	int r = 0, fails;

	if (!uuid_written(uuid, write)) {
		refuse(parent, type, "-", write, -EINVAL);
		return;
	}
	if (mdev_find(kernel, uuid)) {
		refuse(parent, type, uuid, write, -EEXIST);
		return;
	}
	fails = sim_order_take(kernel, "create", parent);
	if (!fails)
		r = sim_instances_take(parent, type);
	if (r < 0) {
		refuse(parent, type, uuid, write, r);
		return;
	}
	mdev = mem_new(1, sizeof(*mdev));
	mdev->parent = parent;
	mdev->type = type;
	mdev->fails = fails;
	mdev->write = write;
	memcpy(mdev->uuid, uuid, sizeof(uuid));
	mdev->next = kernel->mdevs;
	kernel->mdevs = mdev;
	sim_device_add(mdev);
	sim_device_instances_changed(parent->gpu);
	if (delay > 0)
		sim_timer_set(kernel, &mdev->step, delay, create_ends, mdev);
	else
		create_ends(mdev);
}

static void remove_ends(void *arg)
{
	struct sim_mdev *mdev = arg;

	log_of(mdev, mdev->write ? "remove" : "driver-remove", 0);
	mdev_end(mdev, mdev->write ? (ssize_t)mdev->write->len : 0);
}

static void remove_goes_on(struct sim_mdev *mdev)
{
	long delay = sim_knob(mdev->parent->gpu, SIM_REMOVE_DELAY);

	if (mdev->group && mdev->group->holder)
		return;
	if (delay > 0)
		sim_timer_set(kernel_of(mdev), &mdev->step, delay, remove_ends, mdev);
	else
		remove_ends(mdev);
}

/* `write` NULL: the driver removes the mdev itself. */
static void remove_starts(struct sim_mdev *mdev, struct sim_write *write)
{
	mdev->state = SIM_REMOVING;
	mdev->write = write;
	sim_timer_forget(kernel_of(mdev), &mdev->step);
	sim_timer_forget(kernel_of(mdev), &mdev->reaper);
	sim_device_unlink(mdev);
	remove_goes_on(mdev);
}

/* Parses a number as kstrtoul() does: no blanks, at most one newline at the end. */
static bool number_written(unsigned long *out, const struct sim_write *write)
{
	char text[32] = "", *end;
	size_t len = write->len;

	if (len > 0 && write->data[len - 1] == '\n')
		len--;
	if (len == 0 || len >= sizeof(text))
		return false;
	memcpy(text, write->data, len);
	if (!isdigit((unsigned char)text[0]) && !(text[0] == '+' && isdigit((unsigned char)text[1])))
		return false;
	errno = 0;
	*out = strtoul(text, &end, 0);
	return errno == 0 && (size_t)(end - text) == len;
}

/* With the setting zombie, a removal before NVIDIA's driver removes the mdev loses the instance. */
static void remove_by_hand(struct sim_mdev *mdev, struct sim_write *write)
{
	if (sim_knob(mdev->parent->gpu, SIM_DRIVER_ZOMBIE) && (mdev->reaper.at || (mdev->group && mdev->group->holder)))
		mdev->is_zombie = true;
	remove_starts(mdev, write);
}

/* Ends the driver's wait for vgpu-mgr. */
static void plugin_waited(void *arg)
{
	struct sim_mdev *mdev = arg;
	struct sim_write *write = mdev->write;

	mdev->write = NULL;
	if (sim_vfio_busy_ms(mdev->group) == 0) {
		remove_by_hand(mdev, write);
		return;
	}
	log_of(mdev, "remove", -EBUSY);
	sim_write_done(write, -EBUSY);
}

void sim_device_remove(struct sim_node *node, struct sim_write *write)
{
	struct sim_mdev *mdev = node->owner;
	long busy = sim_vfio_busy_ms(mdev->group);
	unsigned long number;
	int r = 0;

	if (!number_written(&number, write))
		r = -EINVAL;
	else if (number != 0)
		r = mdev->state == SIM_ACTIVE && !mdev->write ? -sim_order_take(kernel_of(mdev), "remove", mdev->parent)
							      : -EAGAIN;
	if (r < 0 || number == 0) {
		log_of(mdev, "remove", r);
		sim_write_done(write, r < 0 ? r : (ssize_t)write->len);
	} else if (busy > 0) {
		mdev->write = write;
		sim_timer_set(kernel_of(mdev), &mdev->step, busy < SIM_PLUGIN_WAIT ? busy : SIM_PLUGIN_WAIT,
			      plugin_waited, mdev);
	} else {
		remove_by_hand(mdev, write);
	}
}

/* Passes on a `remove` that waits for vgpu-mgr, so that this removal answers it. */
static void driver_removes(void *arg)
{
	struct sim_mdev *mdev = arg;

	remove_starts(mdev, mdev->write);
}

static void on_closed(struct sim_group *group)
{
	struct sim_mdev *mdev = group->owner;
	const struct sim_gpu *gpu = mdev->parent->gpu;
	long after = sim_knob(gpu, SIM_DRIVER_REMOVES) - 1;

	if (mdev->state == SIM_REMOVING) {
		remove_goes_on(mdev);
		return;
	}
	if (gpu->item->model->family != SIM_NVIDIA)
		return;
	group->busy_until = group->kernel->now + sim_knob(gpu, SIM_PLUGIN_DELAY);
	if (after >= 0)
		sim_timer_set(kernel_of(mdev), &mdev->reaper, after, driver_removes, mdev);
}

int sim_mdev_remove_all(struct sim_parent *parent)
{
	struct sim_mdev *mdev = parent->gpu->kernel->mdevs;

	for (struct sim_mdev *m = mdev; m; m = m->next)
		if (m->parent == parent && (m->state != SIM_ACTIVE || m->write || (m->group && m->group->holder)))
			return -EBUSY;
	while (mdev) {
		struct sim_mdev *next = mdev->next;

		if (mdev->parent == parent) {
			log_of(mdev, "driver-remove", 0);
			mdev_end(mdev, 0);
		}
		mdev = next;
	}
	return 0;
}
