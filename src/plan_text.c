/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a plan says to people: the reasons of a refusal in one line. */
#include "plan_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_priv.h"

enum { SHOWN_VFS = 6, CAUSES_MAX = 560 }; /* bytes for the causes, so that the whole line stays below ERR_TEXT_MAX */

void plan_text_types(const struct plan_facts *facts, enum want_kind kind, char *buf, size_t size)
{
	const struct config *config = facts->config;
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < config->nsections && n < size; i++)
		if (pool_has_type(facts->pool, &config->sections[i], kind == WANT_MDEV, UNKNOWN))
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", config->sections[i].type);
}

/* Who says that it is to be of this type; nothing where the metadata do. */
static void text_source(const struct wish *wish, char *buf, size_t size)
{
	switch (wish->source) {
	case TYPE_UNSAID:
	case TYPE_ASKED:
		buf[0] = '\0';
		break;
	case TYPE_DEFINED:
		snprintf(buf, size, ", from its mdevctl definition (/etc/mdevctl.d/%s/%s)", wish->last_parent,
			 wish->want->id);
		break;
	case TYPE_REMEMBERED:
		snprintf(buf, size, ", remembered from its last lease (/var/lib/vgpu-lease/affinity/%s)",
			 wish->want->id);
		break;
	case TYPE_POOLED:
		snprintf(buf, size, ", the only type of the pool");
		break;
	case TYPE_SERVED:
		snprintf(buf, size, ", the only type of its card");
		break;
	}
}

void plan_text_wish(const struct wish *wish, char *buf, size_t size)
{
	size_t n = 0;

	if (wish->ntypes > 1)
		n = (size_t)snprintf(buf, size, "%s (", wish->want->type);
	for (int t = 0; t < wish->ntypes && n < size; t++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", t ? ", " : "", wish->types[t]);
	if (wish->ntypes > 1 && n < size)
		n += (size_t)snprintf(buf + n, size - n, ")");
	if (n < size)
		text_source(wish, buf + n, size - n);
}

/* "; or write type='nvidia-222' in its <vgpu:device>": where another type could be had and the metadata say none. */
static void text_other_types(const struct plan_facts *facts, const struct wish *wish, char *buf, size_t size)
{
	const struct config *config = facts->config;
	size_t n = 0;

	buf[0] = '\0';
	if (wish->source != TYPE_DEFINED && wish->source != TYPE_REMEMBERED)
		return;
	for (size_t i = 0; i < config->nsections && n < size; i++)
		if (!plan_type_fits(wish, config->sections[i].type) &&
		    pool_has_type(facts->pool, &config->sections[i], wish->want->kind == WANT_MDEV, UNKNOWN))
			n += (size_t)snprintf(buf + n, size - n, "%stype='%s'", n ? " or " : "; or write ",
					      config->sections[i].type);
	if (n && n < size)
		snprintf(buf + n, size - n, " in its <vgpu:device>");
}

/* Why one card has no room. Borrows its texts. */
struct cause {
	const char *card, *reason;
	bool told;
};

/* The causes for a want: pGPUs of this host, then those that it lacks. The caller frees them. */
static struct cause *list_causes(const struct plan *plan, const struct plan_facts *facts, size_t want, size_t *n)
{
	struct cause *causes = calloc(plan->nverdicts + facts->nlacks + 1, sizeof(*causes));

	if (!causes)
		abort();
	*n = 0;
	for (size_t i = 0; i < plan->nverdicts; i++) {
		const struct verdict *v = &plan->verdicts[i];

		if (v->want == want && !v->elsewhere)
			causes[(*n)++] = (struct cause){ facts->inv->pgpus[v->pgpu].address, v->reason, false };
	}
	for (size_t i = 0; i < facts->nlacks; i++)
		if (plan_type_fits(&facts->wishes[want], facts->lacks[i].type))
			causes[(*n)++] = (struct cause){ facts->lacks[i].address, facts->lacks[i].reason, false };
	return causes;
}

/*
 * One cause with all its cards: "0000:84:00.0, 0000:85:00.0: full (16 of 16 in use)"; how many they are. A card that has
 * it for several types is named once.
 */
static int one_cause(struct cause *causes, size_t n, size_t first, char *buf, size_t size)
{
	size_t len = 0;
	int cards = 0;

	for (size_t i = first; i < n; i++) {
		bool again = false;

		if (causes[i].told || strcmp(causes[i].reason, causes[first].reason) != 0)
			continue;
		for (size_t j = first; j < i && !again; j++)
			again = strcmp(causes[j].card, causes[i].card) == 0 &&
				strcmp(causes[j].reason, causes[i].reason) == 0;
		causes[i].told = true;
		if (again)
			continue;
		if (len < size)
			len += (size_t)snprintf(buf + len, size - len, "%s%s", cards ? ", " : "", causes[i].card);
		cards++;
	}
	if (len < size)
		snprintf(buf + len, size - len, ": %s", causes[first].reason);
	return cards;
}

/*
 * Has the card room for one of the types that the wish names, or for what it serves? *unsuited is set where it has VFs
 * that are free, and none for this hostdev.
 */
static bool has_room(const struct plan_facts *facts, const struct leases *promised, const struct wish *wish, int pgpu,
		     bool *unsuited)
{
	const struct pool_card *card = &facts->pool->cards[pgpu];
	struct room room = { 0 };

	if (!card->in_pool || plan_other_kind(facts, pgpu, wish->want))
		return false;
	for (int t = 0; t < wish->ntypes && !room.has; t++)
		room_on(&room, facts, promised, pgpu, wish->types[t], wish->want, wish->want->id, "");
	if (wish->ntypes == 0)
		room_on(&room, facts, promised, pgpu, card->section->type, wish->want, wish->want->id, "");
	*unsuited |= room.unsuited;
	return room.has;
}

void plan_text_free_vfs(const struct plan_facts *facts, const struct leases *promised, size_t want, char *buf,
			size_t size)
{
	const struct wish *wish = &facts->wishes[want];
	const struct inventory *inv = facts->inv;
	size_t n = 0, found = 0;
	bool unsuited = false;

	for (int g = 0; facts->pool && g < (int)inv->npgpus; g++) {
		if (!has_room(facts, promised, wish, g, &unsuited))
			continue;
		for (int i = inv->pgpus[g].first; i < inv->pgpus[g].first + inv->pgpus[g].nparents; i++) {
			/* One of another hostdev of the domain is no advice. */
			if (request_find(facts->request, inv->parents[i].name) ||
			    !room_parent_is_free(facts, promised, i, wish->want->id) ||
			    !room_parent_suits(facts, i, wish->want))
				continue;
			if (found++ < SHOWN_VFS && n < size)
				n += (size_t)snprintf(buf + n, size - n, "%s%s",
						      n ? ", " : "; free here: ", inv->parents[i].name);
		}
	}
	if (found == 0 && !unsuited)
		snprintf(buf, size, "; no VF of the pool is free");
	else if (found > SHOWN_VFS && n < size)
		snprintf(buf + n, size - n, " and %zu more", found - SHOWN_VFS);
}

void plan_text_no_room(const struct plan *plan, const struct plan_facts *facts, const struct leases *promised,
		       size_t want, char *buf, size_t size)
{
	const struct wish *wish = &facts->wishes[want];
	char text[CAUSES_MAX];
	size_t ncauses, n, room;
	struct cause *causes = list_causes(plan, facts, want, &ncauses);
	const char *before = ": ";
	int left = 0;

	plan_text_wish(wish, text, sizeof(text));
	n = (size_t)snprintf(buf, size, "no room for %s", text);
	room = n + CAUSES_MAX;
	if (facts->inv->npgpus == 0 && ncauses == 0)
		n += (size_t)snprintf(buf + n, size - n, ": this host has no pGPU");
	for (size_t i = 0; i < ncauses; i++) {
		int cards;

		if (causes[i].told)
			continue;
		cards = one_cause(causes, ncauses, i, text, sizeof(text));
		if (n + strlen(text) + 2 > room || strlen(text) + 1 == sizeof(text)) {
			left += cards;
			continue;
		}
		n += (size_t)snprintf(buf + n, size - n, "%s%s", before, text);
		before = "; ";
	}
	if (left)
		n += (size_t)snprintf(buf + n, size - n, "; and %d more", left);
	if (wish->want->kind == WANT_PCI && n < size) {
		plan_text_free_vfs(facts, promised, want, buf + n, size - n);
		n += strlen(buf + n);
	}
	n += (size_t)snprintf(buf + n, size - n, "; free a vGPU there, or see 'vgpu-lease plan'");
	if (n < size)
		text_other_types(facts, wish, buf + n, size - n);
	free(causes);
}
