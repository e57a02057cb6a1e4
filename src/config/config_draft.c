/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Combines the sections of all files, and checks what depends on several of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { ADDRESSES_MAX = 4096, LEFT_SHOWN = 8 };

void config_section_free(struct section *section)
{
	free(section->addresses);
	free(section->matches);
	section->addresses = NULL;
	section->matches = NULL;
	section->naddresses = section->nmatches = 0;
}

struct section *config_draft_find(const struct draft *draft, const char *type)
{
	return (struct section *)config_section(draft->config, type);
}

struct section *config_draft_add(struct draft *draft, const char *type)
{
	struct section *s = mem_add(&draft->config->sections, &draft->config->nsections, sizeof(*s));

	*s = (struct section){ .max_instances = NO_LIMIT, .class = "VGPU" };
	text_copy(s->type, TYPE_SIZE, type);
	return s;
}

/* The enabled type most similar to `type` that has no section in our files, or NULL. */
static const char *similar_to(const struct draft *draft, const char *type)
{
	struct text_guess guess = { .word = type };

	for (EACH(const struct item *, enabled, draft->enabled.types, draft->enabled.n)) {
		const struct section *s = config_draft_find(draft, enabled->text);

		if (!s || s->nova)
			text_guess(&guess, enabled->text);
	}
	return guess.best;
}

/* Checks a section. If its type is not enabled, clears its lists, so that they cause no further mistakes. */
static void check_section(struct draft *draft, struct section *s)
{
	const char *similar;
	bool named = false;

	for (EACH(const struct item *, enabled, draft->enabled.types, draft->enabled.n))
		named |= strcmp(enabled->text, s->type) == 0;
	if (s->vf && named)
		config_mistake(draft, &s->at, "%s is also listed in enabled_mdev_types; use another name for the VFs",
			       s->type);
	else if (s->vf && !s->naddresses && !s->nmatches)
		config_mistake(draft, &s->at,
			       "missing device_addresses or device_match; plain VFs are in no pool by default");
	if (s->vf || named)
		return;
	config_section_free(s);
	similar = similar_to(draft, s->type);
	if (similar)
		config_mistake(draft, &s->at, "type not enabled; similar in enabled_mdev_types: %s", similar);
	else
		config_mistake(draft, &s->at,
			       "type not enabled; correct its name, or add it to enabled_mdev_types in [devices]");
	config_mistake_word(draft, s->type);
}

static bool shares_address(const struct section *a, const struct section *b, size_t *ia, size_t *ib)
{
	for (*ia = 0; *ia < a->naddresses; ++*ia)
		for (*ib = 0; *ib < b->naddresses; ++*ib)
			if (strcmp(a->addresses[*ia].text, b->addresses[*ib].text) == 0)
				return true;
	return false;
}

/* Reports the first address that section `a` shares with an earlier section, unless both types can share a card. */
static void check_addresses(struct draft *draft, const struct section *a)
{
	for (const struct section *b = draft->config->sections; b < a; b++) {
		bool nova = a->nova && b->nova;
		size_t ia, ib;

		if (!shares_address(a, b, &ia, &ib))
			continue;
		if (draft->config->policy.several_types && !a->vf && !b->vf && !nova)
			continue;
		config_mistake(draft, &a->addresses[ia].at, "%s is also listed in [%s] (%s:%d); %s",
			       a->addresses[ia].text, b->at.section, b->addresses[ib].at.file, b->addresses[ib].at.line,
			       nova ? "Nova accepts an address once"
				    : "a card provides one type unless pgpu_types = several in [policy]");
		return;
	}
}

static void check_sections(struct draft *draft)
{
	struct section *sections = draft->config->sections;
	size_t n = draft->config->nsections, addresses = 0;

	for (size_t i = 0; i < n; i++)
		check_section(draft, &sections[i]);
	/* Limits the comparison of all pairs of sections, because another user can write nova.conf. */
	for (size_t i = 0; i < n; i++) {
		addresses += sections[i].naddresses;
		if (addresses <= ADDRESSES_MAX)
			continue;
		config_mistake(draft, &sections[i].addresses[0].at, "more than %d addresses in all", ADDRESSES_MAX);
		return;
	}
	for (size_t i = 0; i < n; i++)
		check_addresses(draft, &sections[i]);
}

/* Warns of types that get no pGPU, because an earlier type gets all pGPUs that no section names. */
static void warn_of_left(struct config *config)
{
	const struct section *first = NULL, *left = NULL;
	char types[512] = "";
	size_t n = 0;

	for (EACH(const struct section *, s, config->sections, config->nsections)) {
		if (!config_takes_rest(s) || config->policy.several_types)
			continue;
		if (first && n++ < LEFT_SHOWN)
			text_add(types, sizeof(types), "%s%s", *types ? ", " : "", s->type);
		left = n == 1 ? s : left;
		first = first ? first : s;
	}
	if (!n)
		return;
	if (n > LEFT_SHOWN)
		text_add(types, sizeof(types), " and %zu more", n - LEFT_SHOWN);
	config_warn(&(struct location){ .file = left->at.file, .line = left->at.line }, config, ENODEV,
		    "no pGPU is left for %s: %s, enabled before %s, gets all that no section names", types, first->type,
		    n == 1 ? "it" : "them");
}

/* Adds the missing sections of enabled types. Then sorts: types in the order of enabled_mdev_types, then plain VFs. */
static void order_sections(struct draft *draft)
{
	for (size_t i = 0; i < draft->enabled.n; i++) {
		const struct item *enabled = &draft->enabled.types[i];
		struct section *s = config_draft_find(draft, enabled->text), *place, moved;

		if (!s)
			s = config_draft_add(draft, enabled->text);
		if (!s->at.line)
			s->at = enabled->at;
		s->nova = draft->enabled.at.nova;
		place = &draft->config->sections[i];
		moved = *s;
		memmove(place + 1, place, (size_t)(s - place) * sizeof(*place));
		*place = moved;
	}
	warn_of_left(draft->config);
}

int config_draft_finish(struct draft *draft, struct err *err)
{
	struct config *config = draft->config;

	/* Without the complete list of types, valid sections would be reported as not enabled. */
	if (!draft->unsure)
		config_nova_apply(draft);
	if (!draft->unsure)
		check_sections(draft);
	if (!draft->unsure)
		order_sections(draft);
	if (draft->mistakes.n) {
		*err = draft->mistakes.list[0];
		return -err->code;
	}
	/* With Nova, `reuse` defaults to never, because Nova can use a free vGPU for its next guest. */
	config->policy.nova = draft->npaths > 0;
	if (config->policy.reuse_free < 0)
		config->policy.reuse_free = !config->policy.nova;
	if (!config->nsections)
		config_warn(&(struct location){ .file = config->nfiles ? config->files[0] : "" }, config, ENODEV,
			    "no type is enabled, so the pool is empty; set enabled_mdev_types in [devices]");
	return 0;
}

void config_draft_free(struct draft *draft)
{
	free(draft->paths);
	free(draft->entries);
	free(draft->enabled.types);
	config_notes_free(&draft->mistakes);
}
