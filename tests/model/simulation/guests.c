/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libvirt, for one domain: its calls of the hook. A kill of libvirtd leaves a call alone, whose end nobody is told. */
#include "model/simulation/world.h"

enum { GONE = -ECONNRESET };

static void set_status(const struct domain *d)
{
	char path[64], xml[XML_MAX];

	quiet++;
	snprintf(path, sizeof(path), "run/libvirt/qemu/%s.xml", d->name);
	if (d->runs) {
		world_xml(d, d->suspending, -1, xml);
		tree_addf(&world_now.tree, "%s = <domstatus state='running'>%s", path, xml);
	} else {
		unlinkat(world_now.tree.host.root, path, 0);
	}
	quiet--;
}

static int restart(const struct domain *d)
{
	say("libvirtd is killed, and %s is forgotten", d->name);
	world_now.alone = true;
	nap_some(20000);
	return GONE;
}

static bool libvirtd_dies(int n)
{
	return !world_now.over && profile.restarts && once_in(n);
}

static int call_hook(struct domain *d, enum operation op, const char *reason)
{
	struct call *call = hook_start(d, op, reason);

	if (!libvirtd_dies(8))
		return hook_wait(call);
	pause_until(now_us + pick(pick(2) ? 20 : 2000) * 1000L, &call->process->events);
	if (call->process->ended)
		return call->result;
	call->orphaned = true;
	return restart(d);
}

static void forget(struct domain *d)
{
	for (int w = 0; w < d->nvgpus; w++)
		if (d->needs && !d->unplugged[w] && device_find(d->req[w]))
			device_find(d->req[w])->since_ms = now_ms();
	d->runs = d->needs = d->restoring = d->suspending = d->lost = false;
	memset(d->unplugged, 0, sizeof(d->unplugged));
	set_status(d);
}

static void close_all(const struct domain *d)
{
	for (int i = 0; i < DEVICES; i++)
		if (*devices[i].uuid && devices[i].opener == d->pid)
			device_close(&devices[i]);
}

static void exit_slowly(void *domain)
{
	const struct domain *d = domain;

	nap_some(3000);
	close_all(d);
}

/* libvirt calls release when QEMU has ended, which may need a moment more to close what it had. */
void guest_stop(struct domain *d, const char *reason)
{
	bool killed = libvirtd_dies(20);

	say("%s ends: %s", d->name, killed ? "without a release" : reason);
	if (d->runs && once_in(6))
		process_start("a QEMU that exits", exit_slowly, d);
	else
		close_all(d);
	forget(d);
	if (killed)
		restart(d);
	else
		call_hook(d, RELEASE, reason);
	if (!killed && once_in(8))
		call_hook(d, RELEASE, reason);
	/* A QEMU of the same domain starts when the last one is gone. */
	if (once_in(4))
		nap_some(4000);
	memcpy(d->req, d->first, sizeof(d->req));
}

/* VFIO refuses a second opener; a guest that has one's vGPU would be ours to prevent. */
static bool can_open(const struct domain *d)
{
	for (int w = 0; w < d->nvgpus; w++) {
		const struct device *device = device_find(d->req[w]);

		if (!device)
			broken("%s starts without %s, which prepare gave it", d->name, d->req[w]);
		if (device->opener && device->opener != d->pid) {
			for (int i = 0; i < DOMAINS; i++)
				if (world_now.domains[i].pid == device->opener && world_now.domains[i].runs)
					broken("%s starts with %s, which %s has open", d->name, d->req[w],
					       world_now.domains[i].name);
			return false;
		}
	}
	return true;
}

void guest_run(struct domain *d)
{
	d->runs = true;
	d->restoring = false;
	for (int w = 0; w < d->nvgpus; w++)
		if (!d->unplugged[w])
			device_open(device_find(d->req[w]), d->pid);
	set_status(d);
	say("%s runs", d->name);
}

void guest_plug(struct domain *d, int w, bool in)
{
	struct device *device = device_find(d->req[w]);

	d->unplugged[w] = !in;
	if (in) {
		device_open(device, d->pid);
	} else {
		device_close(device);
		device->since_ms = now_ms();
	}
	set_status(d);
	say("%s %s %s", d->req[w], in ? "plugged into" : "unplugged from", d->name);
}

static void start(struct domain *d)
{
	int r = call_hook(d, PREPARE, NULL);

	if (r == 0) {
		/* Less than start_grace; a restore takes its time. */
		d->restoring = once_in(4);
		nap_some(d->restoring ? 60000 : 3000);
		if (libvirtd_dies(15))
			r = restart(d);
	}
	if (r == GONE) {
		forget(d);
		memcpy(d->req, d->first, sizeof(d->req));
	} else if (r == 0 && pick(10) && can_open(d)) {
		guest_run(d);
	} else {
		guest_stop(d, "failed");
	}
}

/* A migration to this host, or a restore; `migrate begin` may be all that there is of it. */
static bool arrive(struct domain *d)
{
	struct call *call = hook_start(d, once_in(3) ? RESTORE : MIGRATE, NULL);
	bool migrates = call->op == MIGRATE;
	int r = hook_wait(call);

	if (migrates && (r < 0 || once_in(5)))
		return false;
	memcpy(d->req, call->ids, sizeof(d->req));
	nap_some(2000);
	return true;
}

/* Another host sends a domain that runs here: nothing of it may change. */
static void arrive_twice(struct domain *d)
{
	struct call *call = hook_start(d, MIGRATE, NULL);

	if (hook_wait(call) == 0)
		broken("%s may arrive, and it runs here", d->name);
}

static bool has_all_open(const struct domain *d)
{
	for (int w = 0; w < d->nvgpus; w++)
		if (d->unplugged[w] || device_find(d->req[w])->opener != d->pid)
			return false;
	return true;
}

static void reconnect(struct domain *d)
{
	/* Somebody who has looked already would take an open vGPU without a lease for a free one. */
	bool lost = !d->shares && has_all_open(d) && once_in(3) && !hook_is_any_running();

	if (lost) {
		char path[128];

		say("the leases of %s are lost", d->name);
		d->lost = true;
		quiet++;
		for (int w = 0; w < d->nvgpus; w++) {
			snprintf(path, sizeof(path), "run/vgpu-lease/leases/%s", d->req[w]);
			unlinkat(world_now.tree.host.root, path, 0);
			ledger_forget(d->req[w]);
		}
		quiet--;
	}
	if (lost && once_in(2)) {
		await(process_start("the pass of a handler", pass_of_handler, NULL));
		rules_restored(d);
	}
	do
		if (hook_wait(hook_start(d, RECONNECT, NULL)) == 0 && d->lost)
			rules_restored(d);
	while (d->lost);
}

static void live_on(struct domain *d)
{
	int what = pick(8);

	if (what == 0)
		reconnect(d);
	else if (what == 1)
		arrive_twice(d);
	else if (what < 5)
		command_any(d);
	else
		guest_stop(d, once_in(4) ? "migrated" : "shutdown");
}

void guest_life(void *domain)
{
	struct domain *d = domain;

	while (!world_now.over) {
		nap_some(pick(10) ? 20000 : 300000);
		if (world_now.over)
			break;
		if (d->runs)
			live_on(d);
		else if (once_in(6))
			command_resume(d);
		else if (pick(4) || arrive(d))
			start(d);
	}
	if (d->needs || d->runs || pick(2))
		guest_stop(d, "shutdown");
}
