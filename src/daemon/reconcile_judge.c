/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pure judgement of a running domain's device, and of a running domain's lease. */
#include "daemon/reconcile.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static enum reconcile_verdict say(enum reconcile_verdict verdict,
									char why[REASON_SIZE], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, REASON_SIZE, fmt, ap);
	va_end(ap);
	return verdict;
}

/* Judges a lease that is not `active` although its domain runs. */
static enum reconcile_verdict judge_unfinished(const struct reconcile_view *v, char why[REASON_SIZE])
{
	const struct lease *lease = v->lease;

	/* A reservation creates no device. It ends at its deadline; then the device has no lease. */
	if (lease->state == LEASE_RESERVED)
		return say(RECONCILE_LEAVE, why, "reserved for its domain");
	if (v->at_work)
		return say(RECONCILE_LEAVE, why, "in use by another process");
	/* An exiting QEMU can have its devices open even after the domain's release. */
	if (v->now_ms - lease->since_ms < v->grace_ms)
		return say(RECONCILE_LEAVE, why, "its lease has just changed");
	return say(RECONCILE_ADOPT, why, "attached to its domain, but its lease is '%s'",
		   lease_state_word(lease->state));
}

enum reconcile_verdict reconcile_device(const struct reconcile_view *v, char why[REASON_SIZE])
{
	if (!v->settled)
		return say(RECONCILE_LEAVE, why, "its domain is being started, migrated or stopped");
	if (v->lease && v->lease->since_ms >= v->looked_ms)
		return say(RECONCILE_LEAVE, why, "its lease changed after libvirt was asked");
	if (v->lease && strcmp(v->lease->domain, v->domain) != 0)
		return say(RECONCILE_REPORT, why, "attached to this domain, but leased to domain %.100s",
			   v->lease->name);
	if (v->lease && v->lease->state == LEASE_ACTIVE)
		return say(RECONCILE_LEAVE, why, "leased to its domain");
	if (v->open < 0)
		return say(RECONCILE_LEAVE, why, "cannot tell whether it is open");
	/* A running QEMU has its devices open. If this one is closed, QEMU has ended or has lost it. */
	if (!v->exists || v->open == 0)
		return say(RECONCILE_LEAVE, why, "named by its domain, but not open");
	if (v->lease)
		return judge_unfinished(v, why);
	return say(RECONCILE_ADOPT, why, "attached to its domain, but not leased");
}

enum reconcile_verdict reconcile_lease(const struct reconcile_view *v, char why[REASON_SIZE])
{
	int64_t age = v->now_ms - v->lease->since_ms;

	if (v->lease->state != LEASE_ACTIVE)
		return say(RECONCILE_LEAVE, why, "not active");
	if (!v->known)
		return say(RECONCILE_LEAVE, why, "the XML of its domain is not available");
	if (v->lease->since_ms >= v->looked_ms)
		return say(RECONCILE_LEAVE, why, "its lease changed after libvirt was asked");
	if (!v->settled)
		return say(RECONCILE_LEAVE, why, "its domain is being started, migrated or stopped");
	if (v->named)
		return say(RECONCILE_LEAVE, why, "attached to its domain");
	if (v->taken)
		return say(RECONCILE_LEAVE, why, "detached by a suspend that has not completed");
	if (v->at_work)
		return say(RECONCILE_LEAVE, why, "in use by another process");
	if (v->open < 0)
		return say(RECONCILE_LEAVE, why, "cannot tell whether it is open");
	if (v->open > 0)
		return say(RECONCILE_LEAVE, why, "detached, but still open");
	/* A lease is written before its device is attached, so the attach may still follow. */
	if (!v->seen && age < v->grace_ms)
		return say(RECONCILE_LEAVE, why, "not attached yet");
	return say(RECONCILE_RELEASE, why, "detached from its domain");
}
