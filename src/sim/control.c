/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files in the directory control. */
#include "sim/control.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sim/command.h"
#include "base/text.h"

enum { DELAY_MAX = 3600 * 1000 };

/* One control file. A node's attr pointer is cast to this struct, so `attr` must be the first member. */
struct command {
	struct sim_attr attr;
	enum sim_knob knob;
	int (*run)(struct sim_kernel *kernel, const struct command *command, struct sim_words *words);
	int (*run_card)(struct sim_kernel *kernel, struct sim_words *words);
	const char *takes, *says;
};

static void set(struct sim_kernel *kernel, struct sim_gpu *gpu, enum sim_knob knob, long value)
{
	*(gpu ? &gpu->knobs[knob] : &kernel->knobs[knob]) = value;
}

/* Removes the first of several words, and sets *gpu to the card that it names. -ENODEV: no such card. */
static int card_take(const struct sim_kernel *kernel, struct sim_words *words, struct sim_gpu **gpu)
{
	char name[PARENT_SIZE];

	*gpu = NULL;
	if (words->n < 2)
		return 0;
	if (!parent_parse(name, words->at[0]))
		return -EINVAL;
	*gpu = sim_kernel_gpu(kernel, name);
	if (!*gpu)
		return -ENODEV;
	memmove(&words->at[0], &words->at[1], (size_t)--words->n * sizeof(words->at[0]));
	return 0;
}

/* Ends the creations that wait for their delay. */
static void end_creations(struct sim_kernel *kernel, const struct sim_gpu *gpu)
{
	for (struct sim_mdev *mdev = kernel->mdevs; mdev; mdev = mdev->next)
		if (mdev->state == SIM_CREATING && (!gpu || mdev->parent->gpu == gpu))
			sim_timer_hurry(kernel, &mdev->step);
	for (int i = 0; i < kernel->ngpus; i++)
		for (int n = 0; n < kernel->gpus[i].nparents && (!gpu || gpu == &kernel->gpus[i]); n++) {
			struct sim_vf *vf = kernel->gpus[i].parents[n].vf;

			if (vf && vf->state == SIM_CREATING)
				sim_timer_hurry(kernel, &vf->step);
		}
}

static int delay_run(struct sim_kernel *kernel, const struct command *command, struct sim_words *words)
{
	struct sim_gpu *gpu;
	long ms;
	int r = card_take(kernel, words, &gpu);

	if (r < 0)
		return r;
	if (words->n != 1 || !text_number(words->at[0], 0, DELAY_MAX, &ms))
		return -EINVAL;
	set(kernel, gpu, command->knob, ms);
	if (command->knob == SIM_CREATE_DELAY && ms == 0)
		end_creations(kernel, gpu);
	return 0;
}

static int driver_run(struct sim_kernel *kernel, const struct command *command, struct sim_words *words)
{
	bool zombie = words->n > 1 && strcmp(words->at[words->n - 1], "zombie") == 0;
	struct sim_gpu *gpu;
	long ms = -1;
	int r;

	words->n -= zombie;
	r = card_take(kernel, words, &gpu);
	if (r < 0)
		return r;
	if (words->n != 1)
		return -EINVAL;
	if (strcmp(words->at[0], "off") == 0 ? zombie : !text_number(words->at[0], 0, DELAY_MAX, &ms))
		return -EINVAL;
	set(kernel, gpu, command->knob, ms + 1);
	set(kernel, gpu, SIM_DRIVER_ZOMBIE, zombie);
	return 0;
}

static void knob_print(FILE *out, const char *who, const struct command *command, const long *knobs)
{
	long value = knobs[command->knob];

	if (command->knob != SIM_DRIVER_REMOVES)
		fprintf(out, "%s %ld\n", who, value);
	else if (value == 0)
		fprintf(out, "%s off\n", who);
	else
		fprintf(out, "%s %ld%s\n", who, value - 1, knobs[SIM_DRIVER_ZOMBIE] ? " zombie" : "");
}

static int knob_show(const struct sim_node *node, FILE *out)
{
	const struct command *command = (const struct command *)node->attr;
	const struct sim_kernel *kernel = node->owner;

	knob_print(out, "default", command, kernel->knobs);
	for (int i = 0; i < kernel->ngpus; i++)
		if (kernel->gpus[i].knobs[command->knob] >= 0)
			knob_print(out, kernel->gpus[i].name, command, kernel->gpus[i].knobs);
	return 0;
}

static int inject_run(struct sim_kernel *kernel, const struct command *command, struct sim_words *words)
{
	struct sim_order order = { .left = 1 };
	long left = 1;

	(void)command;
	if (words->n == 1 && strcmp(words->at[0], "clear") == 0) {
		sim_order_clear(kernel);
		return 0;
	}
	if (words->n < 3 || (strcmp(words->at[0], "create") != 0 && strcmp(words->at[0], "remove") != 0 &&
			     strcmp(words->at[0], "params") != 0))
		return -EINVAL;
	text_copy(order.what, sizeof(order.what), words->at[0]);
	if (!parent_parse(order.where, words->at[1]))
		return -EINVAL;
	if (strcmp(order.where, "any") != 0 && !sim_kernel_gpu(kernel, order.where) &&
	    !sim_kernel_parent(kernel, order.where))
		return -ENODEV;
	order.error = sim_errno_parse(words->at[2]);
	if (!order.error || (words->n == 4 && !text_number(words->at[3], 1, 1000000, &left)))
		return -EINVAL;
	order.left = (int)left;
	sim_order_add(kernel, &order);
	return 0;
}

static int inject_show(const struct sim_node *node, FILE *out)
{
	const struct sim_kernel *kernel = node->owner;
	char buf[16];

	for (const struct sim_order *o = kernel->orders; o; o = o->next)
		fprintf(out, "%s %s %s %d\n", o->what, o->where, sim_errno_name(o->error, buf), o->left);
	return 0;
}

static int hang_run(struct sim_kernel *kernel, const struct command *command, struct sim_words *words)
{
	struct sim_hang hang = { 0 };

	(void)command;
	if (words->n == 1 && strcmp(words->at[0], "clear") == 0) {
		sim_hang_clear(kernel);
		return 0;
	}
	if (words->n != 2 || !text_copy(hang.attribute, sizeof(hang.attribute), words->at[0]) ||
	    !parent_parse(hang.where, words->at[1]))
		return -EINVAL;
	if (strcmp(hang.where, "any") != 0 && !sim_kernel_gpu(kernel, hang.where) &&
	    !sim_kernel_parent(kernel, hang.where))
		return -ENODEV;
	sim_hang_add(kernel, &hang);
	return 0;
}

static int hang_show(const struct sim_node *node, FILE *out)
{
	const struct sim_kernel *kernel = node->owner;

	for (const struct sim_hang *h = kernel->hangs; h; h = h->next)
		fprintf(out, "%s %s\n", h->attribute, h->where);
	return 0;
}

static int log_run(struct sim_kernel *kernel, const struct command *command, struct sim_words *words)
{
	(void)command;
	if (words->n != 1 || strcmp(words->at[0], "clear") != 0)
		return -EINVAL;
	sim_log_clear(kernel);
	return 0;
}

static int log_show(const struct sim_node *node, FILE *out)
{
	const struct sim_kernel *kernel = node->owner;

	fwrite(kernel->log, 1, kernel->log_len, out);
	return 0;
}

static void pending_print(FILE *out, bool creates, const struct sim_parent *parent, const struct sim_type *type,
			  const char *uuid, const struct sim_write *write)
{
	fprintf(out, "%s %s %s %s %d\n", creates ? "create" : "remove", parent->name, type->id, uuid,
		write ? (int)write->pid : 0);
}

static int pending_show(const struct sim_node *node, FILE *out)
{
	const struct sim_kernel *kernel = node->owner;

	for (const struct sim_mdev *m = kernel->mdevs; m; m = m->next)
		if (m->state != SIM_ACTIVE || m->write)
			pending_print(out, m->state == SIM_CREATING, m->parent, m->type, m->uuid, m->write);
	for (int i = 0; i < kernel->ngpus; i++) {
		for (int j = 0; j < kernel->gpus[i].nparents; j++) {
			const struct sim_vf *vf = kernel->gpus[i].parents[j].vf;

			if (vf && vf->write)
				pending_print(out, vf->state == SIM_CREATING, vf->parent, vf->type, "-", vf->write);
		}
	}
	return 0;
}

static int pid_show(const struct sim_node *node, FILE *out)
{
	(void)node;
	fprintf(out, "%d\n", (int)getpid());
	return 0;
}

static void store(struct sim_node *node, struct sim_write *write)
{
	autofree char *copy = mem_strdup(write->data);
	char *rest = copy, *line;
	int r = 0;

	while (r == 0 && (line = strsep(&rest, "\n")))
		r = sim_control_line(node->owner, node->name, line);
	sim_write_done(write, r < 0 ? r : (ssize_t)write->len);
}

#define FILE_OF(name, shows) .attr = { name, 0644, false, shows, store }
#define KNOB(name, what, does) FILE_OF(name, knob_show), .knob = (what), .run = (does)

static const struct command commands[] = {
	{ KNOB("create_delay_ms", SIM_CREATE_DELAY, delay_run), .takes = "[CARD] MS",
	  .says = "time that the driver needs to create a vGPU" },
	{ KNOB("remove_delay_ms", SIM_REMOVE_DELAY, delay_run), .takes = "[CARD] MS",
	  .says = "time that the driver needs to remove a vGPU" },
	{ KNOB("attr_delay_ms", SIM_ATTR_DELAY, delay_run), .takes = "[CARD] MS",
	  .says = "delay of mdev_type, iommu_group and driver after create" },
	{ KNOB("params_delay_ms", SIM_PARAMS_DELAY, delay_run), .takes = "[CARD] MS",
	  .says = "time that the driver needs for a write to vgpu_params" },
	{ KNOB("plugin_delay_ms", SIM_PLUGIN_DELAY, delay_run), .takes = "[CARD] MS",
	  .says = "NVIDIA's vgpu-mgr keeps a device open this long: EBUSY" },
	{ KNOB("driver_removes", SIM_DRIVER_REMOVES, driver_run), .takes = "[CARD] MS [zombie] | off",
	  .says = "NVIDIA's driver removes an mdev this long after its close" },
	{ FILE_OF("inject", inject_show), .run = inject_run, .takes = "create|remove|params WHERE ERRNO [N] | clear",
	  .says = "the next N fail; WHERE: a parent, a card or \"any\"" },
	{ FILE_OF("hang", hang_show), .run = hang_run, .takes = "ATTRIBUTE WHERE | clear",
	  .says = "reads of this file never return; WHERE as for inject" },
	{ FILE_OF("register", sim_command_register_show), .run_card = sim_command_register,
	  .takes = "PARENT|CARD on|off", .says = "register or unregister parents with the mdev core" },
	{ FILE_OF("vfs", sim_command_vfs_show), .run_card = sim_command_vfs, .takes = "CARD on|off",
	  .says = "enable or disable VFs, as sriov-manage -e and -d" },
	{ FILE_OF("mixed", sim_command_mixed_show), .run_card = sim_command_mixed, .takes = "CARD on|off",
	  .says = "mixed-size mode, as nvidia-smi vgpu -shm" },
	{ FILE_OF("mig", sim_command_mig_show), .run_card = sim_command_mig,
	  .takes = "CARD on|off | CARD PROFILE | CARD ID off",
	  .says = "MIG mode; create (1g.5gb) or destroy a GPU instance" },
	{ FILE_OF("bind", sim_command_bind_show), .run_card = sim_command_bind, .takes = "VF|CARD DRIVER|none",
	  .says = "bind a plain VF, or all VFs of a card, to a driver" },
	{ FILE_OF("iommu", sim_command_iommu_show), .run_card = sim_command_iommu, .takes = "VF|CARD DEVICE|none",
	  .says = "move a VF, or all VFs of a card, to DEVICE's IOMMU group" },
	{ FILE_OF("log", log_show), .run = log_run, .takes = "clear",
	  .says = "all operations: MS WHAT PARENT TYPE UUID RESULT" },
	{ .attr = { "pending", 0444, false, pending_show, NULL },
	  .takes = "",
	  .says = "operations in progress: WHAT PARENT TYPE UUID PID" },
	{ .attr = { "pid", 0444, false, pid_show, NULL }, .takes = "", .says = "PID of the simulator" },
};

static const struct command *command_of(const char *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i].attr.name, file) == 0)
			return &commands[i];
	return NULL;
}

int sim_control_line(struct sim_kernel *kernel, const char *file, char *line)
{
	const struct command *command = command_of(file);
	struct sim_words words = { 0 };
	char *word;

	if (!command || !command->attr.store)
		return -EINVAL;
	while ((word = text_next(&line, " \t"))) {
		if (words.n == SIM_WORDS_MAX)
			return -EINVAL;
		words.at[words.n++] = word;
	}
	if (words.n == 0)
		return 0;
	return command->run ? command->run(kernel, command, &words) : command->run_card(kernel, &words);
}

void sim_control_build(struct sim_kernel *kernel)
{
	kernel->control = sim_tree_dir(&kernel->tree, kernel->tree.root, "control", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		sim_tree_file(&kernel->tree, kernel->control, &commands[i].attr, kernel);
}

void sim_control_help(FILE *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		fprintf(out, "  %-16s %s\n", commands[i].attr.name,
			*commands[i].takes ? commands[i].takes : "(read only)");
		fprintf(out, "  %-16s     %s\n", "", commands[i].says);
	}
}
