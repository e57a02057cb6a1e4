/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of the hook, and of commands that prepare: each is a process, which goes on if its caller was killed. */
#include "model/simulation/world.h"
#include "look/hostdev_filter.h"

enum { RUNNING_MAX = 256 };

static struct call *running[RUNNING_MAX];
static int nrunning;

static const char *const names[] = {
	[PREPARE] = "prepare", [MIGRATE] = "migrate",     [RESTORE] = "restore",
	[RELEASE] = "release", [RECONNECT] = "reconnect",
};

/* What the XML on stdout names. */
static int read_ids(void *arg, const char *xml, size_t len, struct err *err)
{
	struct call *call = arg;
	struct domxml *doc;

	if (domxml_parse(&doc, xml, len, DOMXML_ALL_PCI, err) == 0) {
		for (int w = 0; w < call->domain->nvgpus; w++)
			memcpy(call->ids[w], domxml_request(doc)->vgpus[w].id, UUID_SIZE);
		domxml_free(doc);
	}
	return 0;
}

static int serve(struct call *call)
{
	struct work_locks work = { 0 }; /* of a command, until its process ends */
	struct lifecycle l = { .host = &world_now.tree.host,
			       .config = &world_now.config,
			       .op = call->as,
			       .work = call->as ? &work : NULL };
	struct err *err = &call->err;
	struct domxml *doc;
	int r;

	if (call->op == RELEASE)
		return lifecycle_release(l.host, l.config, call->domain->uuid, call->reason, err);
	if (domxml_parse(&doc, call->xml, strlen(call->xml), DOMXML_ALL_PCI, err) < 0)
		broken("the XML: %s", err->text);
	hostdev_filter_keep(doc, l.host, l.config, NULL);
	l.doc = doc;
	l.request = domxml_request(doc);
	if (call->op == PREPARE)
		r = lifecycle_prepare(&l, err);
	else if (call->op == RECONNECT)
		r = lifecycle_reconnect(&l, err);
	else
		r = lifecycle_arrive(&l, call->op == MIGRATE ? PLAN_MIGRATE : PLAN_RESTORE, read_ids, call, err);
	domxml_free(doc);
	return r;
}

static void hook_main(void *arg)
{
	struct call *call = arg;
	int r = serve(call);

	say("%s", r < 0 ? call->err.text : "done");
	if (call->op == PREPARE)
		rules_prepared(call, r);
	/* -EINTR: what reads for it was killed. */
	else if (r < 0 && r != -ETIMEDOUT && r != -EINTR && (call->op == RELEASE || call->op == RECONNECT) &&
		 !profile.kill && !profile.fails)
		broken("%s fails: %s", self->what, call->err.text);
	else if (r == 0 && call->op == MIGRATE)
		rules_reserved(call);
	if (r == 0 && call->then)
		call->then(call);
	call->result = r;
}

static struct call *start(struct domain *d, enum operation op, int only, const char *as)
{
	struct call *call = calloc(1, sizeof(*call));
	char what[64];

	*call = (struct call){ .op = op, .domain = d, .only = only, .as = as, .result = -EINTR, .number = ++d->calls };
	memcpy(call->ids, d->req, sizeof(call->ids));
	world_xml(d, op != RECONNECT, only, call->xml);
	snprintf(what, sizeof(what), "%s of %s", as ? as : names[op], d->name);
	call->process = process_start(what, hook_main, call);
	call->process->mortal = true;
	for (int i = 0; i < nrunning;)
		if (!running[i]->process->ended)
			i++;
		else
			running[i] = running[--nrunning];
	if (nrunning == RUNNING_MAX)
		broken("more than %d calls at once", RUNNING_MAX);
	running[nrunning++] = call;
	rules_called(call);
	return call;
}

struct call *hook_start(struct domain *d, enum operation op, const char *reason)
{
	struct call *call = start(d, op, -1, NULL);

	call->reason = reason;
	return call;
}

struct call *hook_command(struct domain *d, int only, const char *as, void (*then)(struct call *call))
{
	struct call *call = start(d, PREPARE, only, as);

	call->then = then;
	return call;
}

int hook_wait(struct call *call)
{
	await(call->process);
	return call->result;
}

bool hook_is_last(const struct call *call)
{
	return !call->orphaned && call->number == call->domain->calls;
}

bool hook_is_any_running(void)
{
	for (int i = 0; i < nrunning; i++)
		if (!running[i]->process->ended)
			return true;
	return false;
}

struct call *hook_running(int i)
{
	return i < nrunning ? running[i] : NULL;
}
