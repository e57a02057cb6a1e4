/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state of the simulated kernel: clock, lists, injected errors, log. */
#include "sim/kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { LOG_MAX = 4 << 20 }; /* bytes; a longer log loses its older half */

static const struct {
	const char *name;
	int code;
} errors[] = {
	{ "EPERM", EPERM },   { "ENOENT", ENOENT }, { "EINTR", EINTR },   { "EIO", EIO },
	{ "ENXIO", ENXIO },   { "E2BIG", E2BIG },   { "EAGAIN", EAGAIN }, { "ENOMEM", ENOMEM },
	{ "EACCES", EACCES }, { "EBUSY", EBUSY },   { "EEXIST", EEXIST }, { "ENODEV", ENODEV },
	{ "EINVAL", EINVAL }, { "ENOSPC", ENOSPC }, { "EUSERS", EUSERS }, { "ETIMEDOUT", ETIMEDOUT },
};

const char *sim_errno_name(int code, char buf[16])
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].code == code)
			return errors[i].name;
	snprintf(buf, 16, "%d", code);
	return buf;
}

int sim_errno_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (strcmp(errors[i].name, name) == 0)
			return errors[i].code;
	return 0;
}

void sim_kernel_init(struct sim_kernel *kernel, int64_t now)
{
	*kernel = (struct sim_kernel){ .now = now, .start = now };
	kernel->log = mem_strdup("");
	sim_tree_init(&kernel->tree);
}

void sim_kernel_free(struct sim_kernel *kernel)
{
	while (kernel->mdevs) {
		struct sim_mdev *mdev = kernel->mdevs;

		kernel->mdevs = mdev->next;
		free(mdev);
	}
	while (kernel->groups) {
		struct sim_group *group = kernel->groups;

		kernel->groups = group->next;
		free(group);
	}
	while (kernel->users) {
		struct sim_handle *handle = kernel->users;

		kernel->users = handle->next;
		free(handle);
	}
	while (kernel->processes) {
		struct sim_process *process = kernel->processes;

		kernel->processes = process->next;
		free(process);
	}
	sim_order_clear(kernel);
	sim_hang_clear(kernel);
	sim_tree_free(&kernel->tree);
	for (int i = 0; i < kernel->ngpus; i++) {
		for (int j = 0; j < kernel->gpus[i].nparents; j++)
			free(kernel->gpus[i].parents[j].vf);
		free(kernel->gpus[i].parents);
		while (kernel->gpus[i].vfs_asks) {
			struct sim_vfs_write *ask = kernel->gpus[i].vfs_asks;

			kernel->gpus[i].vfs_asks = ask->next;
			free(ask);
		}
	}
	free(kernel->gpus);
	free(kernel->log);
}

void sim_timer_forget(struct sim_kernel *kernel, struct sim_timer *timer)
{
	struct sim_timer **at = &kernel->timers;

	while (*at && *at != timer)
		at = &(*at)->next;
	if (*at)
		*at = timer->next;
	timer->at = 0;
}

void sim_timer_set(struct sim_kernel *kernel, struct sim_timer *timer, long ms, void (*fire)(void *), void *arg)
{
	struct sim_timer **at = &kernel->timers;

	sim_timer_forget(kernel, timer);
	*timer = (struct sim_timer){ .at = kernel->now + ms, .fire = fire, .arg = arg };
	while (*at && (*at)->at <= timer->at)
		at = &(*at)->next;
	timer->next = *at;
	*at = timer;
}

void sim_timer_hurry(struct sim_kernel *kernel, struct sim_timer *timer)
{
	if (timer->at)
		sim_timer_set(kernel, timer, 0, timer->fire, timer->arg);
}

void sim_kernel_advance(struct sim_kernel *kernel, int64_t now)
{
	struct sim_timer *timer;

	kernel->now = now;
	while ((timer = kernel->timers) && timer->at <= now) {
		kernel->timers = timer->next;
		timer->at = 0;
		timer->fire(timer->arg);
	}
}

int64_t sim_kernel_deadline(const struct sim_kernel *kernel)
{
	return kernel->timers ? kernel->timers->at : -1;
}

long sim_knob(const struct sim_gpu *gpu, enum sim_knob knob)
{
	return gpu->knobs[knob] >= 0 ? gpu->knobs[knob] : gpu->kernel->knobs[knob];
}

struct sim_gpu *sim_kernel_gpu(const struct sim_kernel *kernel, const char *name)
{
	for (int i = 0; i < kernel->ngpus; i++)
		if (strcmp(kernel->gpus[i].name, name) == 0)
			return &kernel->gpus[i];
	return NULL;
}

struct sim_parent *sim_kernel_parent(const struct sim_kernel *kernel, const char *name)
{
	for (int i = 0; i < kernel->ngpus; i++)
		for (int j = 0; j < kernel->gpus[i].nparents; j++)
			if (kernel->gpus[i].parents[j].dir && strcmp(kernel->gpus[i].parents[j].name, name) == 0)
				return &kernel->gpus[i].parents[j];
	return NULL;
}

void sim_order_add(struct sim_kernel *kernel, const struct sim_order *order)
{
	struct sim_order **at = &kernel->orders;

	while (*at)
		at = &(*at)->next;
	*at = mem_new(1, sizeof(**at));
	**at = *order;
	(*at)->next = NULL;
}

void sim_order_clear(struct sim_kernel *kernel)
{
	while (kernel->orders) {
		struct sim_order *order = kernel->orders;

		kernel->orders = order->next;
		free(order);
	}
}

int sim_order_take(struct sim_kernel *kernel, const char *what, const struct sim_parent *parent)
{
	for (struct sim_order **at = &kernel->orders; *at; at = &(*at)->next) {
		struct sim_order *order = *at;
		int error = order->error;

		if (strcmp(order->what, what) != 0 ||
		    (strcmp(order->where, "any") != 0 && strcmp(order->where, parent->name) != 0 &&
		     strcmp(order->where, parent->gpu->name) != 0))
			continue;
		if (--order->left == 0) {
			*at = order->next;
			free(order);
		}
		return error;
	}
	return 0;
}

void sim_hang_clear(struct sim_kernel *kernel)
{
	while (kernel->hangs) {
		struct sim_hang *hang = kernel->hangs;

		kernel->hangs = hang->next;
		free(hang);
	}
}

/* Is the file in the directory of this card or parent, or of a VF of this card? */
static bool is_of(const struct sim_kernel *kernel, const struct sim_node *file, const char *where)
{
	for (const struct sim_node *dir = file->parent; dir; dir = dir->parent) {
		const struct sim_parent *parent = sim_kernel_parent(kernel, dir->name);

		if (strcmp(dir->name, where) == 0 || (parent && strcmp(parent->gpu->name, where) == 0))
			return true;
	}
	return false;
}

bool sim_hangs(const struct sim_kernel *kernel, const struct sim_node *file)
{
	if (file->waits)
		return true;
	for (const struct sim_hang *hang = kernel->hangs; hang; hang = hang->next)
		if (strcmp(hang->attribute, file->name) == 0 &&
		    (strcmp(hang->where, "any") == 0 || is_of(kernel, file, hang->where)))
			return true;
	return false;
}

/* Invalidates the files whose reads hang, because the real kernel would answer the reads from its cache. */
static void forget_hanging(struct sim_kernel *kernel, struct sim_node *dir)
{
	for (struct sim_node *node = dir->first; node; node = node->next)
		if (node->kind == SIM_DIR)
			forget_hanging(kernel, node);
		else if (node->kind == SIM_FILE && sim_hangs(kernel, node))
			sim_tree_stale(&kernel->tree, node);
}

void sim_hang_add(struct sim_kernel *kernel, const struct sim_hang *hang)
{
	struct sim_hang *copy = mem_new(1, sizeof(*copy));

	*copy = *hang;
	copy->next = kernel->hangs;
	kernel->hangs = copy;
	forget_hanging(kernel, kernel->sys);
}

static void log_drop_older_half(struct sim_kernel *kernel)
{
	const char *half = strchr(kernel->log + kernel->log_len / 2, '\n');
	size_t from = (size_t)(half - kernel->log) + 1;

	kernel->log_len -= from;
	memmove(kernel->log, kernel->log + from, kernel->log_len + 1);
}

void sim_log(struct sim_kernel *kernel, const char *what, const struct sim_parent *parent, const struct sim_type *type,
	     const char *uuid, int result)
{
	char line[256], buf[16];
	int len = snprintf(line, sizeof(line), "%" PRId64 " %s %s %s %s %s\n", kernel->now - kernel->start, what,
			   parent->name, type ? type->id : "-", uuid ? uuid : "-",
			   result < 0 ? sim_errno_name(-result, buf) : "ok");

	if (kernel->log_len + (size_t)len > LOG_MAX)
		log_drop_older_half(kernel);
	kernel->log = mem_resize(kernel->log, kernel->log_len + (size_t)len + 1, 1);
	memcpy(kernel->log + kernel->log_len, line, (size_t)len + 1);
	kernel->log_len += (size_t)len;
}

void sim_log_clear(struct sim_kernel *kernel)
{
	kernel->log_len = 0;
	kernel->log[0] = '\0';
}
