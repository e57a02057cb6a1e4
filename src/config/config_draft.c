/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files' sections put together, and what only the whole can tell. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "base/text.h"

enum { ADDRESSES_MAX = 4096 };

static void section_free(struct section *section)
{
	free(section->addresses);
	free(section->addresses_at);
	free(section->matches);
}

/* They have gone to another section. */
static void forget_lists(struct section *section)
{
	section->addresses = NULL;
	section->addresses_at = NULL;
	section->matches = NULL;
}

static struct part *find_part(const struct draft *draft, const char *type)
{
	for (size_t i = 0; i < draft->nparts; i++)
		if (strcmp(draft->parts[i].section.type, type) == 0)
			return &draft->parts[i];
	return NULL;
}

static void section_default(struct section *section, const char *type)
{
	*section = (struct section){ .max_instances = NO_LIMIT, .class = "VGPU" };
	text_copy(section->type, TYPE_SIZE, type);
}

static int take_type(struct draft *draft, const char *type, const struct ini_section *from, const struct spot *at,
		     enum dialect dialect, struct err *err)
{
	bool vf = strncmp(from->name, "vf_", 3) == 0;
	struct part *part = find_part(draft, type);

	/* One file must not speak of a type twice; a later file (a drop-in) replaces keys of an earlier one. */
	if (part && (part->section.file == at->file || part->section.vf != vf))
		return spot_err(at, err, "is the same type as [%s] in %s:%d", part->name, part->section.file,
				part->section.line);
	if (!part) {
		part = list_add(&draft->parts, &draft->nparts, sizeof(*part));
		if (!part)
			return err_sys(err, ENOMEM, "%s", at->file);
		section_default(&part->section, type);
		part->section.vf = vf;
		part->nova = dialect == DIALECT_NOVA;
	}
	text_copy(part->name, sizeof(part->name), from->name);
	part->section.file = at->file;
	part->section.line = at->line;
	return config_keys_take(draft, part, vf ? config_vf_keys : config_mdev_keys, at->file, from, dialect, err);
}

static int take_section(struct draft *draft, const char *file, const struct ini_section *from, enum dialect dialect,
			struct err *err)
{
	static const struct {
		const char *name;
		const struct key *keys;
	} fixed[] = { { "devices", config_devices_keys },
		      { "policy", config_policy_keys },
		      { "quota", config_quota_keys } };
	static const char *const prefixes[] = { "mdev_", "vgpu_", "vf_" };
	struct spot at = { .file = file, .line = from->line, .section = from->name };
	char type[TYPE_SIZE];

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (strcmp(from->name, fixed[i].name) == 0)
			return config_keys_take(draft, NULL, fixed[i].keys, file, from, dialect, err);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t n = strlen(prefixes[i]);

		if (strncmp(from->name, prefixes[i], n) != 0)
			continue;
		if (!type_parse(type, from->name + n))
			return spot_err(&at, err, "'%s' is no id of a type, such as nvidia-35", from->name + n);
		return take_type(draft, type, from, &at, dialect, err);
	}
	return spot_err(&at, err, "no such section; there are [devices], [mdev_TYPE], [vf_NAME], [policy] and [quota]");
}

int config_draft_take(struct draft *draft, const char *file, const struct ini *ini, enum dialect dialect,
		      struct err *err)
{
	for (size_t i = 0; i < ini->nsections; i++) {
		size_t before = draft->mistakes ? draft->mistakes->n : 0;
		int r = config_mistake(draft->mistakes, take_section(draft, file, &ini->sections[i], dialect, err),
				       err);

		if (r < 0)
			return r;
		if (draft->mistakes && draft->mistakes->n > before && strcmp(ini->sections[i].name, "devices") == 0)
			draft->unsure = true;
	}
	return 0;
}

static int add_nova_part(struct draft *ours, struct part *part, struct err *err)
{
	struct spot at = { .file = part->section.file, .line = part->section.line, .section = part->name };
	const struct part *own = find_part(ours, part->section.type);
	struct part *slot;

	if (own)
		return spot_warn(&at, ours->config, err, "not used, as [%s] in %s:%d stands for it", own->name,
				 own->section.file, own->section.line);
	slot = list_add(&ours->parts, &ours->nparts, sizeof(*slot));
	if (!slot)
		return err_sys(err, ENOMEM, "%s", at.file);
	*slot = *part;
	forget_lists(&part->section);
	return 0;
}

int config_draft_add_nova(struct draft *ours, struct draft *nova, struct err *err)
{
	int r = 0;

	if (ours->enabled_at.line && nova->enabled_at.line) {
		r = spot_warn(&nova->enabled_at, ours->config, err, "not used, as %s in %s:%d stands for it",
			      ours->enabled_at.key, ours->enabled_at.file, ours->enabled_at.line);
	} else if (nova->enabled_at.line) {
		ours->enabled = nova->enabled;
		ours->nenabled = nova->nenabled;
		ours->enabled_at = nova->enabled_at;
		nova->enabled = NULL;
	}
	for (size_t i = 0; r == 0 && i < nova->nparts; i++)
		r = add_nova_part(ours, &nova->parts[i], err);
	return r;
}

static bool is_enabled(const struct draft *draft, const char *type)
{
	for (size_t i = 0; i < draft->nenabled; i++)
		if (strcmp(draft->enabled[i].type, type) == 0)
			return true;
	return false;
}

/* A type's section without its type: a slip of ours, every day's life in a nova.conf. */
static int check_enabled(struct draft *draft, struct part *part, struct err *err)
{
	const struct section *s = &part->section;
	struct spot at = { .file = s->file, .line = s->line, .section = part->name };

	part->enabled = is_enabled(draft, s->type);
	if (s->vf || part->enabled)
		return 0;
	if (!part->nova)
		return spot_err(&at, err, "the type is not enabled: name %s in enabled_mdev_types of [devices]",
				s->type);
	return spot_warn(&at, draft->config, err, "not used, as its type is not enabled");
}

/* A section of plain VFs enables itself, and must say which. */
static int check_plain_vfs(struct part *part, struct err *err)
{
	struct spot at = { .file = part->section.file, .line = part->section.line, .section = part->name };

	if (!part->section.vf)
		return 0;
	if (part->enabled)
		return spot_err(&at, err, "%s is also named in enabled_mdev_types: give the VFs another name",
				part->section.type);
	if (!part->section.naddresses && !part->section.nmatches)
		return spot_err(&at, err,
				"needs device_addresses or device_match: no plain VF is in a pool by default");
	part->enabled = true;
	return 0;
}

static bool shares_address(const struct section *a, const struct section *b, size_t *ia, size_t *ib)
{
	for (*ia = 0; *ia < a->naddresses; ++*ia)
		for (*ib = 0; *ib < b->naddresses; ++*ib)
			if (strcmp(a->addresses[*ia], b->addresses[*ib]) == 0)
				return true;
	return false;
}

/* Is an address of this part also given to one before it? */
static int check_addresses(const struct draft *draft, const struct part *a, struct err *err)
{
	for (const struct part *b = draft->parts; a->enabled && b < a; b++) {
		struct spot at = a->addresses_at;
		size_t ia, ib;

		if (!b->enabled || !shares_address(&a->section, &b->section, &ia, &ib) ||
		    (draft->config->policy.several_types && !a->section.vf && !b->section.vf))
			continue;
		at.section = a->name;
		at.line = a->section.addresses_at[ia].line;
		return spot_err(&at, err,
				"%s is also given to [%s] in %s:%d: one type for a card, unless pgpu_types = "
				"several in [policy]",
				a->section.addresses[ia], b->name, b->section.addresses_at[ib].file,
				b->section.addresses_at[ib].line);
	}
	return 0;
}

/* Each pair of parts is compared: so there is a bound, as a nova.conf may come from another user. */
static int count_addresses(const struct draft *draft, struct err *err)
{
	size_t all = 0;

	for (size_t i = 0; i < draft->nparts; i++) {
		struct spot at = draft->parts[i].addresses_at;

		at.section = draft->parts[i].name;
		all += draft->parts[i].enabled ? draft->parts[i].section.naddresses : 0;
		if (all > ADDRESSES_MAX)
			return spot_err(&at, err, "more than %d addresses in all", ADDRESSES_MAX);
	}
	return 0;
}

/* What only the whole can tell. */
static int check_parts(struct draft *draft, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < draft->nparts; i++)
		r = config_mistake(draft->mistakes, check_enabled(draft, &draft->parts[i], err), err);
	for (size_t i = 0; r == 0 && i < draft->nparts; i++)
		r = config_mistake(draft->mistakes, check_plain_vfs(&draft->parts[i], err), err);
	return r;
}

static int check_all_addresses(struct draft *draft, struct err *err)
{
	int r = count_addresses(draft, err);

	for (size_t i = 0; r == 0 && i < draft->nparts; i++)
		r = config_mistake(draft->mistakes, check_addresses(draft, &draft->parts[i], err), err);
	return r;
}

/* Those of plain VFs come behind the types. */
static int fill_plain_vfs(struct draft *draft, struct err *err)
{
	struct config *config = draft->config;

	for (size_t i = 0; i < draft->nparts; i++) {
		struct part *part = &draft->parts[i];
		struct section *s;

		if (!part->section.vf)
			continue;
		s = list_add(&config->sections, &config->nsections, sizeof(*s));
		if (!s)
			return err_sys(err, ENOMEM, "%s", part->section.file);
		*s = part->section;
		s->enabled = true;
		forget_lists(&part->section);
	}
	return 0;
}

/* Moves the enabled types' sections to config, in the order in which they are enabled. */
static int fill_sections(struct draft *draft, struct err *err)
{
	struct config *config = draft->config;
	const char *unnamed = NULL;

	for (size_t i = 0; i < draft->nenabled; i++) {
		struct part *part = find_part(draft, draft->enabled[i].type);
		struct section *s = list_add(&config->sections, &config->nsections, sizeof(*s));

		if (!s)
			return err_sys(err, ENOMEM, "%s", draft->enabled_at.file);
		section_default(s, draft->enabled[i].type);
		s->file = draft->enabled_at.file;
		if (part) {
			*s = part->section;
			forget_lists(&part->section);
		}
		s->enabled = true;
		s->enabled_at = draft->enabled[i].at;
		if (s->naddresses || s->nmatches || config->policy.several_types)
			continue;
		if (unnamed) {
			int r = spot_warn(
				&draft->enabled_at, config, err,
				"%s gets no card: it has neither device_addresses nor device_match, and %s, which comes "
				"before it, gets all cards that no section names",
				s->type, unnamed);

			if (r < 0)
				return r;
			config->warnings.list[config->warnings.n - 1].of_pool = true;
		} else {
			unnamed = draft->enabled[i].type;
		}
	}
	return 0;
}

static bool has_plain_vfs(const struct draft *draft)
{
	for (size_t i = 0; i < draft->nparts; i++)
		if (draft->parts[i].section.vf)
			return true;
	return false;
}

int config_draft_finish(struct draft *draft, struct err *err)
{
	struct spot whole = { .file = draft->config->nfiles ? draft->config->files[0] : "" };
	int r;

	/* Without the list of types, each section would look like one too many. */
	if (draft->unsure)
		return 0;
	r = check_parts(draft, err);
	if (r == 0 && draft->nenabled == 0 && !has_plain_vfs(draft)) {
		r = spot_warn(&whole, draft->config, err,
			      "no type is enabled, so there is no pool: set enabled_mdev_types in [devices]");
		if (r == 0)
			draft->config->warnings.list[draft->config->warnings.n - 1].of_pool = true;
	}
	if (r == 0)
		r = check_all_addresses(draft, err);
	if (r == 0)
		r = fill_sections(draft, err);
	if (r == 0)
		r = fill_plain_vfs(draft, err);
	/* Nova makes the vGPUs of its own guests, and takes one that is free there for its next. */
	if (r == 0 && draft->nova_conf && !draft->reuse_given)
		draft->config->policy.reuse_free = false;
	return r;
}

void config_draft_free(struct draft *draft)
{
	for (size_t i = 0; i < draft->nparts; i++)
		section_free(&draft->parts[i].section);
	free(draft->parts);
	free(draft->enabled);
	free(draft->nova_conf);
}
