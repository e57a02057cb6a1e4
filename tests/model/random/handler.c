/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The device handler in the random test, as a second actor whose views are stale: libvirt is asked at one operation,
 * and what it said is acted upon at a later one; and others go on in the middle of a pass. With it what only the
 * handler looks after: vGPUs that are plugged in and out, domains that a command resumes, starts that take long.
 */
#include <errno.h>

#include "model/random/world.h"
#include "daemon/reconcile.h"

/* What libvirt said, and when it was asked. */
static struct view {
	bool taken;
	int64_t looked_ms;
	size_t n;
	struct live_domain live[DOMAINS];
	struct domxml *docs[DOMAINS];
	char xml[DOMAINS][XML_MAX];
} view;

static struct lease_marks plugged;
static struct lease_marks unfinished;

static void view_drop(void)
{
	for (size_t i = 0; i < view.n; i++)
		domxml_free(view.docs[i]);
	view.n = 0;
	view.taken = false;
}

/*
 * A restore under way: libvirt may list its domain as shut off until QEMU runs. Not for longer than start_grace: then
 * it would look like a domain that ended without a release.
 */
static bool is_unlisted(const struct domain *d)
{
	return d->starting && fake->now_ms - d->began_ms < (int64_t)world.config.policy.start_grace_s * 1000 && pick(2);
}

static void view_take(void)
{
	view_drop();
	view.taken = true;
	/* No lease is written in the millisecond in which libvirt is asked. */
	view.looked_ms = ++fake->now_ms;
	fake->now_ms++;
	for (int i = 0; i < DOMAINS; i++) {
		const struct domain *d = &world.domains[i];
		struct live_domain *live = &view.live[view.n];
		struct err err;

		if (!d->runs || is_unlisted(d))
			continue;
		if (domxml_parse(&view.docs[view.n], view.xml[view.n], world_xml(d, view.xml[view.n]), DOMXML_ALL_PCI,
				 &err) < 0) {
			errno = err.code;
			tree_fail(err.text);
		}
		*live = (struct live_domain){ .request = domxml_request(view.docs[view.n]), .settled = !d->starting };
		memcpy(live->uuid, d->uuid, UUID_SIZE);
		view.n++;
	}
}

/* In the middle of a pass: whatever the handler knows is old from here on. */
static void others_act(void)
{
	static void (*const acts[])(struct domain *d) = { op_prepare, op_release, op_plug, op_resume, op_arrive };

	say(" [meanwhile: ");
	finish_starts();
	if (pick(3) == 0)
		fake->now_ms += pick(200) * 1000;
	for (int n = 1 + pick(3); n > 0; n--) {
		fake_process();
		acts[pick(5)](&world.domains[pick(DOMAINS)]);
		say(";");
	}
	if (pick(3) == 0)
		fake->now_ms += pick(200) * 1000;
	say("]");
}

static void run_pass(bool alone)
{
	struct store store;
	struct reconcile pass = { .store = &store,
				  .config = &world.config,
				  .policy = &world.config.policy,
				  .domains = view.live,
				  .ndomains = view.n,
				  .looked_ms = view.looked_ms,
				  .plugged = &plugged };
	struct err err;

	if (store_open(&store, &world.tree.host, true, &err) < 0)
		fake_broken("the handler finds no store: %s", err.text);
	store.resident = true;
	fake_meanwhile = others_act;
	fake->meanwhile_at = !alone && pick(2) ? 1 + pick(30) : 0;
	if (!*fake->broken && reconcile_run(&pass, &err) < 0)
		fake_broken("a pass fails: %s", err.text);
	fake->meanwhile_at = 0;
	for (size_t i = 0; i < pass.n; i++)
		say("%s %s", i ? "," : ":", pass.items[i].why);
	if (!*fake->broken && reconcile_finish(&store, &world.config.policy, &unfinished, &err) < 0)
		fake_broken("releases are not finished: %s", err.text);
	reconcile_end(&pass);
	store_close(&store);
}

/* A running QEMU has all its vGPUs open, but in this test not always. */
static bool has_all_open(const struct domain *d)
{
	if (!d->runs || d->starting)
		return false;
	for (int w = 0; w < d->nvgpus; w++)
		if (!d->unplugged[w] && fake_device(d->req[w])->opener != d->pid)
			return false;
	return true;
}

void op_handler(struct domain *d)
{
	int how = pick(4);

	if (how == 1 && has_all_open(d) && pick(3) == 0) {
		say("the handler's pass after the leases of %s were lost", d->name);
		lose_leases(d);
		view_take();
		run_pass(true);
		view_drop();
		rules_always();
		return;
	}
	if (how == 0) {
		say("the handler asks libvirt");
		view_take();
		/* What it was not told of runs by the time it acts. */
		finish_starts();
		return;
	}
	say("the handler's pass");
	if (how == 1 && view.taken)
		say(" with what libvirt said %lld s ago", (long long)(fake->now_ms - view.looked_ms) / 1000);
	else
		view_take();
	run_pass(false);
	view_drop();
}

void op_plug(struct domain *d)
{
	int w = pick(d->nvgpus), r;
	struct domain one = *d; /* what a command asks for: this one alone */
	struct fake_device *device = fake_device(d->req[w]);
	struct err err = { 0 };

	if (!d->runs || d->starting)
		return;
	if (!d->unplugged[w]) {
		say("unplug %s from %s", d->req[w], d->name);
		fake_close(device);
		device->since_ms = fake->now_ms;
		d->unplugged[w] = true;
		set_status(d, true);
		return;
	}
	one.nvgpus = 1;
	one.unplugged[0] = false;
	memcpy(one.req[0], d->req[w], UUID_SIZE);
	one.type[0] = d->type[w];
	say("plug %s into %s", d->req[w], d->name);
	if (pick(6) == 0 && killed_in(call_prepare, &one, &r)) {
		say(": killed");
		return;
	}
	r = call_prepare(&one, &err);
	say(": %s", r < 0 ? err.text : "done");
	if (r < 0)
		return;
	d->unplugged[w] = false;
	set_status(d, true);
	if (pick(8))
		fake_open(fake_device(d->req[w]), d->pid);
}

void op_resume(struct domain *d)
{
	struct err err = { 0 };
	int r;

	if (d->runs)
		return;
	if (d->command) {
		bool killed = pick(4) == 0;

		fake_end(d->command);
		d->command = 0;
		say("resume %s: %s", d->name, killed ? "killed" : "libvirt has started it");
		if (!killed)
			run_domain(d);
		return;
	}
	say("resume %s", d->name);
	r = call_prepare(d, &err);
	say(": %s", r < 0 ? err.text : "leased");
	if (r == 0 && fake_lasts())
		d->command = fake->pid;
	else if (r == 0)
		call_release(d);
}

void start_slowly(struct domain *d)
{
	say(", slowly");
	d->runs = d->starting = true;
	d->began_ms = fake->now_ms;
}

void finish_starts(void)
{
	for (int i = 0; i < DOMAINS; i++)
		if (world.domains[i].starting)
			run_domain(&world.domains[i]);
}

void handler_end(void)
{
	view_drop();
	lease_marks_free(&plugged);
	lease_marks_free(&unfinished);
}
