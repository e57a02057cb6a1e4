/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a plan says to people: the reasons of a refusal in one line. */
#include "plan_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "room.h"

enum { SHOWN_VFS = 6, CAUSES_MAX = 560 }; /* bytes for the causes, so that the whole line stays below ERR_TEXT_MAX */

void plan_text_types(const struct config *config, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < config->nsections && n < size; i++)
		if (config->sections[i].enabled)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", config->sections[i].type);
	if (!*buf)
		snprintf(buf, size, "(none is enabled)");
}

/*
 * One cause with all its pGPUs: "0000:84:00.0, 0000:85:00.0: full (16 of 16 in use)". Marks what it took in `told`.
 */
static int one_cause(const struct plan *plan, const struct plan_facts *facts, size_t want, size_t first, bool *told,
		     char *buf, size_t size)
{
	const char *reason = plan->verdicts[first].reason;
	size_t n = 0;
	int cards = 0;

	for (size_t i = first; i < plan->nverdicts; i++) {
		const struct verdict *v = &plan->verdicts[i];

		if (v->want != want || told[i] || strcmp(v->reason, reason) != 0)
			continue;
		told[i] = true;
		cards++;
		if (n < size)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", cards > 1 ? ", " : "",
					      facts->inv->pgpus[v->pgpu].address);
	}
	if (n < size)
		snprintf(buf + n, size - n, ": %s", reason);
	return cards;
}

/* Has the card room for one of the types that the wish names, or for what it serves? */
static bool has_room(const struct plan_facts *facts, const struct leases *promised, const struct wish *wish, int pgpu)
{
	const struct pool_card *card = &facts->pool->cards[pgpu];
	struct room room = { 0 };

	if (!card->in_pool || facts->inv->pgpus[pgpu].framework == FW_MDEV)
		return false;
	for (int t = 0; t < wish->ntypes && !room.has; t++)
		room_on(&room, facts, promised, pgpu, wish->types[t], wish->want->id, "");
	if (wish->ntypes == 0)
		room_on(&room, facts, promised, pgpu, card->section->type, wish->want->id, "");
	return room.has;
}

void plan_text_free_vfs(const struct plan_facts *facts, const struct leases *promised, size_t want, char *buf,
			size_t size)
{
	const struct wish *wish = &facts->wishes[want];
	const struct inventory *inv = facts->inv;
	size_t n = 0, found = 0;

	for (int g = 0; facts->pool && g < (int)inv->npgpus; g++) {
		if (!has_room(facts, promised, wish, g))
			continue;
		for (int i = inv->pgpus[g].first; i < inv->pgpus[g].first + inv->pgpus[g].nparents; i++) {
			if (strcmp(inv->parents[i].name, wish->want->id) == 0 ||
			    !room_parent_is_free(facts, promised, i, wish->want->id))
				continue;
			if (found++ < SHOWN_VFS && n < size)
				n += (size_t)snprintf(buf + n, size - n, "%s%s",
						      n ? ", " : "; free here: ", inv->parents[i].name);
		}
	}
	if (found == 0)
		snprintf(buf, size, "; no VF of the pool is free");
	else if (found > SHOWN_VFS && n < size)
		snprintf(buf + n, size - n, " and %zu more", found - SHOWN_VFS);
}

void plan_text_no_room(const struct plan *plan, const struct plan_facts *facts, const struct leases *promised,
		       size_t want, char *buf, size_t size)
{
	const struct wish *wish = &facts->wishes[want];
	bool *told = calloc(plan->nverdicts + 1, sizeof(*told));
	char cause[CAUSES_MAX];
	size_t n, room;
	int left = 0;

	if (!told)
		abort();
	n = (size_t)snprintf(buf, size, "no room for %s", wish->types[0]);
	room = n + CAUSES_MAX;
	if (facts->inv->npgpus == 0)
		n += (size_t)snprintf(buf + n, size - n, ": this host has no pGPU");
	for (size_t i = 0; i < plan->nverdicts; i++) {
		int cards;

		if (told[i] || plan->verdicts[i].want != want)
			continue;
		cards = one_cause(plan, facts, want, i, told, cause, sizeof(cause));
		if (n + strlen(cause) + 2 > room || strlen(cause) + 1 == sizeof(cause))
			left += cards;
		else
			n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? "; " : ": ", cause);
	}
	if (left)
		n += (size_t)snprintf(buf + n, size - n, "; and %d more", left);
	if (wish->want->kind == WANT_PCI && n < size) {
		plan_text_free_vfs(facts, promised, want, buf + n, size - n);
		n += strlen(buf + n);
	}
	snprintf(buf + n, size - n, "; free a vGPU there, or see 'vgpu-lease plan'");
	free(told);
}
