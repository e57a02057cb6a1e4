/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides what becomes of a vGPU that no request asks for. */
#include "decide/fate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	CLOSE_MS = 5000,  /* until the next look at an unplugged open device, or at a creation that hangs */
	YOUNG_MS = 60000, /* a younger definition without a device is kept, because Nova may still create the device */
	SOON_MS = 1000,
};

__attribute__((format(printf, 3, 4))) static void say(struct fate *fate, bool goes, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fate->why, sizeof(fate->why), fmt, ap);
	va_end(ap);
	fate->goes = goes;
}

/* Judges a creation that may have been interrupted, and whose device may be incomplete. */
static void creating(struct fate *fate, const struct lease_facts *f)
{
	if (f->at_work)
		say(fate, false, "being created now");
	else if (lease_is_void(f->lease, f->exists, f->at_work, f->now_ms))
		say(fate, true, "its creation was interrupted, and there is no device");
	else if (f->now_ms - f->lease->since_ms < (int64_t)f->policy->create_timeout_s * 1000)
		say(fate, false, "its creation was interrupted less than create_timeout ago");
	else
		say(fate, true, "its creation was interrupted");
}

static void without_domain(struct fate *fate, const struct lease_facts *f)
{
	int64_t age_ms = f->now_ms - f->lease->since_ms, grace_ms = (int64_t)f->policy->start_grace_s * 1000;

	/* A resume holds the work lock while libvirt starts the saved domain. */
	if (f->at_work)
		say(fate, false, "being changed now");
	else if (!f->exists)
		say(fate, true, "its device is gone, and its domain does not %s", f->runs ? "have it" : "run");
	else if (!f->had && age_ms < grace_ms) {
		fate->due_ms = f->lease->since_ms + grace_ms;
		say(fate, false, "active for %" PRId64 " s of the %d s of start_grace", age_ms / 1000,
		    f->policy->start_grace_s);
	} else {
		say(fate, true, f->runs ? "its domain runs without it" : "its domain no longer runs");
	}
}

static void judge_lease(struct fate *fate, const struct lease_facts *f)
{
	const struct lease *lease = f->lease;

	if (lease->state == LEASE_RESERVED && lease_is_void(lease, f->exists, f->at_work, f->now_ms))
		say(fate, true, "its reservation has expired");
	else if (lease->state == LEASE_RESERVED)
		say(fate, false, "reserved for an arriving domain");
	else if (f->open)
		say(fate, false, "%s", f->open);
	else if (f->exists == PRESENCE_UNKNOWN)
		say(fate, false, "cannot tell whether it exists: %s%s%.150s", lease->vgpu.pgpu, *f->unseen ? ": " : "",
		    f->unseen);
	else if (lease->state == LEASE_RELEASING && lease->deadline_ms >= f->now_ms)
		say(fate, false, "kept for its domain, which is arriving");
	else if (lease->state == LEASE_RELEASING)
		say(fate, true, "to be released");
	else if (lease->since_ms >= f->looked_ms)
		say(fate, false, "its lease changed a moment ago");
	else if (f->has)
		say(fate, false, "its domain runs");
	else if (f->unread)
		say(fate, false, "cannot tell whether its domain runs: %.180s", f->unread);
	else if (lease->state == LEASE_CREATING)
		creating(fate, f);
	else
		without_domain(fate, f);
}

static int64_t next_look(const struct lease_facts *f)
{
	const struct lease *lease = f->lease;
	int64_t created_ms = lease->since_ms + (int64_t)f->policy->create_timeout_s * 1000;
	int64_t ended_ms = lease->since_ms + (int64_t)f->policy->start_grace_s * 1000;

	switch (lease->state) {
	case LEASE_RESERVED:
		return lease->deadline_ms + 1;
	case LEASE_RELEASING:
		return lease->deadline_ms >= f->now_ms ? lease->deadline_ms + 1 : 0;
	case LEASE_CREATING:
		/* No event reports the end of a write or the closing of a device. */
		return (created_ms >= f->now_ms ? created_ms : f->now_ms + CLOSE_MS) + 1;
	case LEASE_ACTIVE:
		if (f->runs && !f->has && f->open)
			return f->now_ms + CLOSE_MS;
		return f->now_ms > ended_ms && lease->since_ms < f->looked_ms ? 0 : ended_ms + 1;
	}
	return 0;
}

void fate_of_lease(struct fate *fate, const struct lease_facts *facts)
{
	int64_t again = next_look(facts), soon = facts->now_ms + SOON_MS;

	*fate = (struct fate){ 0 };
	judge_lease(fate, facts);
	if (!fate->goes && again)
		fate->again_ms = again < soon ? soon : again;
}

static void by_age(struct fate *fate, const struct orphan_facts *f)
{
	int64_t grace_ms = (int64_t)f->policy->reclaim_grace_s * 1000, idle_ms = f->now_ms - f->idle_ms;

	fate->due_ms = f->idle_ms + grace_ms;
	if (idle_ms < grace_ms) {
		say(fate, false, "idle for %" PRId64 " s of the %" PRId64 " s of reclaim_grace", idle_ms / 1000,
		    grace_ms / 1000);
	} else if (f->alone && f->now_ms - f->definition_ms < YOUNG_MS) {
		fate->due_ms = f->definition_ms + YOUNG_MS;
		say(fate, false, "its mdevctl definition was created a moment ago");
	} else if (f->alone) {
		say(fate, true, "an mdevctl definition without a device, in no domain's XML, idle for %" PRId64 " s",
		    idle_ms / 1000);
	} else {
		say(fate, true, "%s: no lease, not open, in no domain's XML, %sidle for %" PRId64 " s%s",
		    f->for_guest ? "an orphan" : "unused", f->nova ? "" : "not started by mdevctl, ", idle_ms / 1000,
		    f->defined ? "; its mdevctl definition is removed with it" : "");
	}
}

void fate_of_orphan(struct fate *fate, const struct orphan_facts *f)
{
	const char *keeps = f->named ? f->named : f->open ? f->open : f->kept;

	*fate = (struct fate){ .free = f->typed && !keeps };
	if (!f->policy->reclaim_orphans) {
		say(fate, false, "reclaim = never, so %s are kept", f->alone ? "definitions" : "foreign devices");
	} else if (!f->typed) {
		say(fate, false, "its type cannot be read");
	} else if (keeps) {
		say(fate, false, "%s", keeps);
	} else if (!f->for_guest && !f->unused) {
		fate->due_ms = FATE_KEPT;
		say(fate, false, "kept: not made for a guest; 'vgpu-lease gc --unused' removes it");
	} else {
		by_age(fate, f);
	}
}

enum attached fate_of_attached(const struct attached_facts *f, char why[REASON_SIZE])
{
	*why = '\0';
	if (!f->settled || (f->lease && f->lease->since_ms >= f->looked_ms))
		return ATTACHED_LEAVE;
	if (f->lease && strcmp(f->lease->domain, f->domain) != 0) {
		snprintf(why, REASON_SIZE, "attached to this domain, but leased to domain %.100s", f->lease->name);
		return ATTACHED_REPORT;
	}
	/* A running QEMU has its devices open. A closed device shows that QEMU has ended or has lost it. */
	if (!f->exists || f->open != 1)
		return ATTACHED_LEAVE;
	if (!f->lease) {
		snprintf(why, REASON_SIZE, "attached to its domain, but not leased");
		return ATTACHED_LEASE;
	}
	/* A pass drops an expired reservation, and a later pass leases the device. */
	if (f->lease->state == LEASE_RESERVED || f->lease->state == LEASE_ACTIVE || f->at_work)
		return ATTACHED_LEAVE;
	/* A QEMU that exits can have its devices open after the domain's release. */
	if (f->now_ms - f->lease->since_ms < f->grace_ms)
		return ATTACHED_LEAVE;
	snprintf(why, REASON_SIZE, "attached to its domain, but its lease is '%s'", lease_state_words[f->lease->state]);
	return ATTACHED_LEASE;
}
