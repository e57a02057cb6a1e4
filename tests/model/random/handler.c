/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The device handler in the random test, as a second actor whose views are stale: libvirt is asked at one operation,
 * and what it said is acted upon at a later one; and others go on in the middle of a pass. With it what only the
 * handler looks after: vGPUs that are plugged in and out, domains that a command suspends and resumes, starts that take
 * long.
 */
#include <errno.h>

#include "model/random/world.h"
#include "daemon/reconcile.h"
#include "live/internal.h"

/* What libvirt said, and when it was asked. */
static struct view {
	bool taken;
	int64_t looked_ms;
	size_t n;
	struct live_domain live[DOMAINS];
	struct domxml *docs[DOMAINS], *taken_docs[DOMAINS];
	char xml[DOMAINS][XML_MAX];
} view;

static struct lease_marks plugged;
static struct lease_marks unfinished;

static void view_drop(void)
{
	for (size_t i = 0; i < view.n; i++) {
		domxml_free(view.docs[i]);
		domxml_free(view.taken_docs[i]);
	}
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

static struct domxml *parse(const struct domain *d, char xml[XML_MAX])
{
	struct domxml *doc;
	struct err err;

	if (domxml_parse(&doc, xml, world_xml(d, xml), DOMXML_ALL_PCI, &err) < 0) {
		errno = err.code;
		tree_fail(err.text);
	}
	return doc;
}

/* The record of a suspend has the domain's vGPUs as they were. */
static struct domxml *parse_record(const struct domain *d)
{
	struct domain was = *d;
	char xml[XML_MAX];

	memset(was.unplugged, 0, sizeof(was.unplugged));
	return d->suspending ? parse(&was, xml) : NULL;
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

		if (!d->runs || is_unlisted(d))
			continue;
		view.docs[view.n] = parse(d, view.xml[view.n]);
		view.taken_docs[view.n] = parse_record(d);
		*live = (struct live_domain){ .request = domxml_request(view.docs[view.n]), .settled = !d->starting };
		if (view.taken_docs[view.n])
			live->taken = domxml_request(view.taken_docs[view.n]);
		memcpy(live->uuid, d->uuid, UUID_SIZE);
		view.n++;
	}
}

/* In the middle of a pass: whatever the handler knows is old from here on. */
static void others_act(void)
{
	static void (*const acts[])(struct domain *d) = { op_prepare, op_release, op_plug,  op_detach,
							  op_suspend, op_resume,  op_arrive };

	say(" [meanwhile: ");
	finish_starts();
	if (pick(3) == 0)
		fake->now_ms += pick(200) * 1000;
	for (int n = 1 + pick(3); n > 0; n--) {
		fake_process();
		acts[pick(7)](&world.domains[pick(DOMAINS)]);
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

static void unplug(struct domain *d, int w)
{
	struct fake_device *device = fake_device(d->req[w]);

	fake_close(device);
	device->since_ms = fake->now_ms;
	d->unplugged[w] = true;
	set_status(d, true);
}

/* Mostly one that a command is at, or that has something unplugged: so commands cross each other. */
static struct domain *likely(struct domain *d)
{
	int from = pick(DOMAINS);

	for (int i = 0; pick(8) && i < DOMAINS; i++) {
		struct domain *other = &world.domains[(from + i) % DOMAINS];

		if (other->runs && (other->detaching || other->unplugged[0] || other->unplugged[1]))
			return other;
	}
	return d;
}

void op_plug(struct domain *any)
{
	struct domain *d = likely(any), one = *d; /* what a command asks for: this one alone */
	int w = pick(d->nvgpus), r;
	struct err err = { 0 };

	if (!d->runs || d->starting || d->suspending)
		return;
	if (!d->unplugged[w]) {
		say("unplug %s from %s", d->req[w], d->name);
		unplug(d, w);
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

/* A command looks at the domain, and at no lease of the same millisecond. */
static void look(struct domain *d)
{
	d->asked_ms = ++fake->now_ms;
	fake->now_ms++;
}

/* The second half of a command that has unplugged vGPUs, whatever has become of the domain meanwhile. */
static void unlease(struct domain *d)
{
	struct store store;
	struct hotplug hp = { .host = &world.tree.host,
			      .store = &store,
			      .config = &world.config,
			      .policy = &world.config.policy,
			      .domain.name = d->name };
	struct err err;

	memcpy(hp.domain.uuid, d->uuid, UUID_SIZE);
	if (store_open(&store, &world.tree.host, true, &err) < 0)
		fake_broken("a command finds no store: %s", err.text);
	for (int w = 0; w < d->nvgpus; w++)
		if (d->detaching & 1U << w && hotplug_unlease(&hp, hp.policy, d->req[w], d->asked_ms, &err) < 0)
			say(": %s", err.text);
	store_close(&store);
	d->detaching = 0;
	rules_always();
}

void op_detach(struct domain *any)
{
	struct domain *d = likely(any);
	int w = pick(d->nvgpus);

	if (!d->runs || d->starting || d->suspending)
		return;
	if (d->detaching) {
		bool killed = pick(6) == 0;

		say("detach from %s: %s", d->name, killed ? "killed" : "it releases");
		if (!killed)
			unlease(d);
		d->detaching = 0;
	} else if (!d->unplugged[w]) {
		say("detach %s from %s", d->req[w], d->name);
		look(d);
		unplug(d, w);
		d->detaching = 1U << w;
	}
}

/* It has them again, as with `resume` of a domain that runs. */
static void undo_suspend(struct domain *d)
{
	struct domain was = *d;
	struct err err = { 0 };

	memset(was.unplugged, 0, sizeof(was.unplugged));
	if (call_prepare(&was, &err) < 0) {
		say(": %s", err.text);
		return;
	}
	d->suspending = false;
	memset(d->unplugged, 0, sizeof(d->unplugged));
	run_domain(d);
}

void op_suspend(struct domain *any)
{
	struct domain *d = likely(any);

	if (!d->runs || d->starting)
		return;
	if (!d->suspending) {
		for (int w = 0; w < d->nvgpus; w++)
			if (d->unplugged[w])
				return;
		say("suspend %s", d->name);
		look(d);
		d->suspending = true;
		for (int w = 0; w < d->nvgpus; w++)
			unplug(d, w);
		d->detaching = (1U << d->nvgpus) - 1;
		return;
	}
	say("suspend %s", d->name);
	if (d->detaching) {
		say(": it releases");
		unlease(d);
	} else if (pick(3)) {
		say(": saved");
		stop(d);
		call_release(d);
	} else {
		say(": broken off");
		undo_suspend(d);
	}
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
