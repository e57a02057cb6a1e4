/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands on a running guest: attach, detach, suspend, resume; and what a guest unplugs without one. */
#include "libvirt/internal.h"
#include "model/simulation/world.h"

struct command {
	struct domain *domain;
	unsigned which; /* of its vGPUs */
	bool done;
};

static void attach(struct call *call)
{
	nap_some(2000);
	guest_plug(call->domain, call->only, true);
}

static void let_go(void *device)
{
	nap_some(20000);
	device_close(device);
}

/* Unplugged, but QEMU still has it open for a while. */
static void unplug(struct domain *d, int w)
{
	struct device *device = device_find(d->req[w]);

	guest_plug(d, w, false);
	if (once_in(4)) {
		device_open(device, d->pid);
		process_start("a QEMU that lets go", let_go, device);
	}
}

/* It looks at the domain, has libvirt unplug, and releases, whatever has become of the domain meanwhile. */
static void detach(void *arg)
{
	struct command *command = arg;
	struct domain *d = command->domain;
	struct store store;
	struct hotplug hp = {
		.host = &world_now.tree.host, .store = &store, .config = &world_now.config, .domain.name = d->name
	};
	struct err err;

	hp.asked_ms = now_ms();
	memcpy(hp.domain.uuid, d->uuid, UUID_SIZE);
	/* No lease is written in the millisecond in which libvirt is asked. */
	nap_ms(1);
	for (int w = 0; w < d->nvgpus; w++)
		if (command->which & 1U << w)
			unplug(d, w);
	nap_some(200);
	if (store_open(&store, hp.host, true, &err) < 0)
		broken("a command finds no store: %s", err.text);
	for (int w = 0; w < d->nvgpus; w++)
		if (command->which & 1U << w && hotplug_unlease(&hp, d->req[w], true, &err) < 0)
			say("%s", err.text);
	store_close(&store);
	command->done = true;
}

static bool run_detach(struct domain *d, unsigned which)
{
	struct command *command = calloc(1, sizeof(*command));
	struct process *p;

	*command = (struct command){ .domain = d, .which = which };
	d->calls++;
	p = process_start(d->suspending ? "suspend" : "detach", detach, command);
	p->mortal = true;
	await(p);
	return command->done;
}

static void attach_again(struct call *call)
{
	struct domain *d = call->domain;

	nap_some(2000);
	d->suspending = false;
	for (int w = 0; w < d->nvgpus; w++)
		guest_plug(d, w, true);
}

/* All vGPUs are detached, with the record of that in the domain's XML; then it is saved, or the suspend broken off. */
static void suspend(struct domain *d)
{
	d->suspending = true;
	run_detach(d, (1U << d->nvgpus) - 1);
	nap_some(1000);
	if (pick(2))
		guest_stop(d, "saved");
	else if (hook_wait(hook_command(d, -1, "resume", attach_again)) < 0)
		guest_stop(d, "destroyed");
}

void command_any(struct domain *d)
{
	int w = pick(d->nvgpus);

	if (d->unplugged[w]) {
		if (hook_wait(hook_command(d, w, "attach", attach)) < 0)
			guest_stop(d, "destroyed");
	} else if (once_in(3)) {
		guest_plug(d, w, false);
	} else if (!d->unplugged[0] && !d->unplugged[d->nvgpus - 1] && once_in(3)) {
		suspend(d);
	} else {
		run_detach(d, 1U << w);
	}
}

static void start_saved(struct call *call)
{
	nap_some(20000);
	guest_run(call->domain);
}

/* The command leases what the record names before it has libvirt start the domain; it can be killed in between. */
void command_resume(struct domain *d)
{
	if (hook_wait(hook_command(d, -1, "resume", start_saved)) < 0)
		guest_stop(d, "failed");
}
