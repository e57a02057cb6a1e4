/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations of the random test: what libvirt does, what other parties do, and what goes wrong. */
#include <errno.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "model/random/world.h"

enum { HOURS_MS = 4 * 3600 * 1000 };

static char *said;
static size_t said_room;

void say(const char *fmt, ...)
{
	size_t n = strlen(said);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said + n, said_room - n, fmt, ap);
	va_end(ap);
}

/* A flow, as the hook calls it. */
struct run {
	char xml[XML_MAX];
	struct domxml *doc;
	struct lifecycle lifecycle;
};

static void run_start(struct run *run, const struct domain *d)
{
	size_t len = world_xml(d, run->xml);
	struct err err;

	run->doc = NULL;
	if (domxml_parse(&run->doc, run->xml, len, 0, &err) < 0) {
		errno = err.code;
		tree_fail(err.text);
	}
	run->lifecycle = (struct lifecycle){ .host = &world.tree.host,
					     .config = &world.config,
					     .policy = &world.config.policy,
					     .why_no_config = "",
					     .doc = run->doc,
					     .request = domxml_request(run->doc) };
}

void set_status(const struct domain *d, bool runs)
{
	char path[64], text[XML_MAX + 100], xml[XML_MAX];

	snprintf(path, sizeof(path), "run/libvirt/qemu/%s.xml", d->name);
	if (!runs) {
		unlinkat(world.tree.host.root, path, 0);
		return;
	}
	world_xml(d, xml);
	snprintf(text, sizeof(text), "%s = <domstatus state='running'>%s", path, xml);
	tree_add(&world.tree, text);
}

/* Something that goes wrong, in one of five operations. */
static void pick_fault(void)
{
	static const int errnos[] = { EIO, ENOSPC, EAGAIN, EBUSY, EPERM };

	switch (pick(36)) {
	case 0:
		fake->create_errno = errnos[pick(5)];
		break;
	case 1:
		fake->remove_errno = errnos[pick(5)];
		break;
	case 2:
		fake->hang = true;
		break;
	case 3:
		fake->half = true;
		break;
	case 4:
		fake->grab = true;
		break;
	case 5:
		fake->settle_at = 1 + pick(12);
		break;
	default:
		return;
	}
	say(" (%s)", fake->create_errno   ? "create fails"
		     : fake->remove_errno ? "remove fails"
		     : fake->hang         ? "create hangs"
		     : fake->grab         ? "opened by somebody the moment it appears"
		     : fake->settle_at    ? "what is late happens meanwhile"
					  : "half made");
}

static void close_all(const struct domain *d)
{
	for (int i = 0; i < FAKE_DEVICES; i++)
		if (*fake->devices[i].uuid && fake->devices[i].opener == d->pid)
			fake_close(&fake->devices[i]);
}

void stop(struct domain *d)
{
	for (int w = 0; d->runs && w < d->nvgpus; w++)
		if (!d->unplugged[w] && fake_device(d->req[w]))
			fake_device(d->req[w])->since_ms = fake->now_ms;
	d->runs = d->starting = false;
	memset(d->unplugged, 0, sizeof(d->unplugged));
	d->detaching = 0;
	d->suspending = false;
	if (d->command)
		fake_end(d->command);
	d->command = 0;
	set_status(d, false);
}

int call_release(const struct domain *d)
{
	struct err err = { 0 };
	int r = lifecycle_release(&world.tree.host, &world.config, d->uuid, d->name, "-", &err);

	if (r < 0)
		fake_broken("release of %s fails: %s", d->name, err.text);
	return r;
}

void op_release(struct domain *d)
{
	bool dying = pick(5) == 0;

	say("release %s%s", d->name, d->runs ? "" : " once more");
	if (dying)
		say(", QEMU still dying");
	else
		close_all(d);
	stop(d);
	pick_fault();
	call_release(d);
	memcpy(d->req, d->first, sizeof(d->req));
}

int call_prepare(const struct domain *d, struct err *err)
{
	struct run run;
	int r;

	run_start(&run, d);
	r = lifecycle_prepare(&run.lifecycle, err);
	domxml_free(run.doc);
	return r;
}

/* The same in a process that is killed on the way: true if it was. */
bool killed_in(int (*flow)(const struct domain *d, struct err *err), const struct domain *d, int *r)
{
	struct err err = { 0 };
	int status, at = 1 + pick(80);
	pid_t pid = fork();

	if (pid == 0) {
		fake->kill_at = at;
		_exit(flow(d, &err) < 0 ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	fake->kill_at = 0;
	*r = WEXITSTATUS(status) ? -EIO : 0;
	return WEXITSTATUS(status) == 137;
}

void run_domain(struct domain *d)
{
	d->runs = true;
	d->starting = false;
	set_status(d, true);
	for (int w = 0; w < d->nvgpus && pick(8); w++)
		fake_open(fake_device(d->req[w]), d->pid);
}

void op_prepare(struct domain *d)
{
	struct err err = { 0 };
	int r;

	if (d->runs || d->command)
		return;
	say("prepare %s (%s%s%s, %s)", d->name, d->req[0], d->nvgpus > 1 ? ", " : "", d->nvgpus > 1 ? d->req[1] : "",
	    d->type[0]);
	if (pick(12) == 0) {
		if (killed_in(call_prepare, d, &r))
			say(": killed");
		else if (r == 0)
			run_domain(d);
	} else {
		pick_fault();
		r = call_prepare(d, &err);
		rules_prepare(d, r, &err);
		say(": %s", r < 0 ? err.text : "done");
		if (r == 0 && !*fake->broken)
			(pick(6) ? run_domain : start_slowly)(d);
	}
	/* libvirt releases what could not be started, unless it was killed itself. */
	if (!d->runs && pick(8)) {
		fake_process();
		call_release(d);
		memcpy(d->req, d->first, sizeof(d->req));
	}
}

void op_arrive(struct domain *d)
{
	bool restore = pick(3) == 0;
	struct err err = { 0 };
	struct run run;
	struct domxml *doc;
	char *xml = NULL;
	size_t len = 0;
	int r;

	if (d->runs || d->command)
		return;
	say("%s %s", restore ? "restore" : "migrate", d->name);
	memcpy(d->req, d->first, sizeof(d->req));
	run_start(&run, d);
	r = (restore ? lifecycle_restore : lifecycle_migrate)(&run.lifecycle, &xml, &len, &err);
	domxml_free(run.doc);
	say(": %s%s", r < 0 ? err.text : "done", xml ? ", rewritten" : "");
	if (xml && domxml_parse(&doc, xml, len, 0, &err) == 0) {
		for (int w = 0; w < d->nvgpus; w++)
			memcpy(d->req[w], domxml_request(doc)->vgpus[w].id, UUID_SIZE);
		domxml_free(doc);
	}
	free(xml);
	/* What cannot be restored is refused by prepare; a domain that just stopped may still hold its lease. */
	if (!restore && r == 0)
		rules_reserve(d, r, &err);
}

void lose_leases(const struct domain *d)
{
	char path[128];

	for (int w = 0; w < d->nvgpus; w++) {
		/* Of a vGPU that was unplugged nobody would know any more whose it was. */
		if (d->unplugged[w])
			continue;
		snprintf(path, sizeof(path), "run/vgpu-lease/leases/%s", d->req[w]);
		unlinkat(world.tree.host.root, path, 0);
	}
}

static void op_reconnect(struct domain *d)
{
	struct err err = { 0 };
	struct run run;
	bool lost = pick(4) == 0;

	if (!d->runs)
		return;
	say("reconnect %s%s", d->name, lost ? " after its leases were lost" : "");
	if (lost)
		lose_leases(d);
	run_start(&run, d);
	if (lifecycle_reconnect(&run.lifecycle, &err) < 0)
		fake_broken("reconnect of %s fails: %s", d->name, err.text);
	domxml_free(run.doc);
}

/* libvirtd and the guest are gone, and nobody says so. */
static void op_lose(struct domain *d)
{
	if (!d->runs)
		return;
	say("%s is gone without a release", d->name);
	close_all(d);
	stop(d);
	memcpy(d->req, d->first, sizeof(d->req));
}

/*
 * In a lease of more than a promise: Nova makes devices for domains that are on their way, but none that somebody is
 * just making.
 */
bool is_leased(const char *uuid)
{
	struct store store;
	struct lease lease;
	struct err err;
	bool leased = store_open(&store, &world.tree.host, false, &err) == 0 && store.leases >= 0 &&
		      lease_get(&store, uuid, &lease, &err) == 1 && lease.state != LEASE_RESERVED;

	store_close(&store);
	return leased;
}

/* Is this the QEMU of a domain that runs? */
static bool is_guest(int pid)
{
	for (int i = 0; i < DOMAINS; i++)
		if (world.domains[i].pid == pid)
			return world.domains[i].runs;
	return false;
}

static void op_foreign(struct domain *d)
{
	int card = pick(FAKE_CARDS), type = pick(FAKE_TYPES);
	struct fake_device *device = &fake->devices[pick(FAKE_DEVICES)];
	char uuid[UUID_SIZE], parent[PARENT_SIZE];

	if (pick(3) == 0) {
		snprintf(uuid, sizeof(uuid), "f0000000-0000-4000-8000-%012d", pick(50));
		if (pick(2))
			memcpy(uuid, d->req[0], UUID_SIZE);
		snprintf(parent, sizeof(parent), "%s", fake_cards[card].address);
		if (fake_cards[card].nvfs)
			parent[strlen(parent) - 1] = (char)('4' + pick(fake_cards[card].nvfs));
		say("somebody makes %s on %s", uuid, parent);
		if (fake_cards[card].types[type].id && !is_leased(uuid))
			say(": %d", fake_create(parent, fake_cards[card].types[type].id, uuid));
	} else if (*device->uuid && !device->ours && !device->opener && !is_leased(device->uuid)) {
		say("somebody %s %s", pick(2) ? "opens" : "removes", device->uuid);
		if (strstr(said, "opens"))
			fake_open(device, 2000 + pick(10));
		else
			fake_remove(device->uuid);
	} else if (*device->uuid && device->opener && !is_guest(device->opener)) {
		say("process %d closes %s", device->opener, device->uuid);
		fake_close(device);
	}
}

static void op_time(struct domain *d)
{
	int seconds = pick(10) ? pick(90) : pick(1000);

	(void)d;
	say("%d s pass", seconds);
	fake->now_ms += seconds * 1000;
	if (pick(3) == 0)
		fake_settle();
}

static struct operation {
	int weight;
	void (*run)(struct domain *d);
	const char *name;
	long times;
} operations[] = {
	{ 23, op_prepare, "prepare", 0 },    { 18, op_release, "release", 0 }, { 7, op_arrive, "arrive", 0 },
	{ 4, op_reconnect, "reconnect", 0 }, { 3, op_lose, "lose", 0 },        { 10, op_foreign, "others", 0 },
	{ 6, op_collect, "gc", 0 },          { 9, op_handler, "handler", 0 },  { 4, op_plug, "plug", 0 },
	{ 3, op_detach, "detach", 0 },       { 3, op_suspend, "suspend", 0 },  { 4, op_resume, "resume", 0 },
	{ 6, op_time, "time", 0 },
};

enum { OPERATIONS = sizeof(operations) / sizeof(*operations) };

void operate(char *text, size_t size)
{
	said = text;
	said_room = size;
	*said = '\0';
	/* Not every operation is possible with every domain. */
	while (!*said) {
		int n = pick(100), i = 0;

		while (i < OPERATIONS - 1 && (n -= operations[i].weight) >= 0)
			i++;
		fake_process();
		/* Only libvirt, whom the handler asks, knows of a start that takes longer than start_grace. */
		if (operations[i].run != op_time && operations[i].run != op_handler)
			finish_starts();
		operations[i].run(&world.domains[pick(DOMAINS)]);
		operations[i].times += *said != '\0';
	}
}

void operations_print(void)
{
	for (int i = 0; i < OPERATIONS; i++)
		printf("# %-10s %ld\n", operations[i].name, operations[i].times);
	printf("# %ld vGPUs were made, %ld removed\n", fake->creates, fake->removes);
}

void operate_finish(void)
{
	char text[200];

	said = text;
	said_room = sizeof(text);
	for (int i = 0; i < FAKE_DEVICES; i++)
		if (*fake->devices[i].uuid)
			fake_close(&fake->devices[i]);
	fake_settle();
	for (int i = 0; i < DOMAINS; i++) {
		fake_process();
		stop(&world.domains[i]);
		call_release(&world.domains[i]);
	}
	for (int i = 0; i < 3; i++) {
		fake_process();
		fake->now_ms += HOURS_MS;
		*said = '\0';
		op_collect(NULL);
	}
}
