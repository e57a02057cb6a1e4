/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Nova's pool. oslo.config's rules decide which of several files, sections, names and lines sets an option. A value is
 * read as in our files, without substitution; a value that has another meaning to Nova is refused.
 */
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "internal.h"

/*
 * Finds the entry that sets an option. Only the last file with the option, under either name, counts. In that file the
 * current name overrides the deprecated one, and a later entry an earlier one. `type` NULL: an option of [devices].
 */
static const struct nova_entry *find_entry(const struct draft *draft, const char *type, enum nova_option option)
{
	const struct nova_entry *best = NULL;

	for (size_t i = draft->nentries; i-- > 0;) {
		const struct nova_entry *entry = &draft->entries[i];

		if (entry->option != option || (type && strcasecmp(entry->at.section + 5, type) != 0))
			continue;
		if (best && best->at.file != entry->at.file)
			break;
		if (!best || (best->old && !entry->old))
			best = entry;
	}
	return best;
}

static int set_option(struct draft *draft, struct section *section, const struct nova_entry *entry, struct err *err)
{
	struct setting t = {
		.draft = draft,
		.section = section,
		.key = config_key(section ? config_mdev_keys : config_devices_keys, entry->at.key),
		.at = entry->at,
		.err = err,
	};

	t.at.key = t.key->name; /* the entry's key does not outlive the draft */
	/* Nova accepts an empty list. */
	return t.key->list && !entry->value[strspn(entry->value, " \t\n")] ? 0 : config_key_set(&t, entry->value);
}

/* Reads the enabled types, unless our own list replaces Nova's. */
static int read_types(struct draft *draft, struct err *err)
{
	const struct location *ours = &draft->enabled[DIALECT_OURS].at;
	const struct nova_entry *entry = find_entry(draft, NULL, NOVA_TYPES);
	int r;

	if (!entry)
		return 0;
	if (ours->line) {
		config_warn(&entry->at, draft->config, false, "not used; replaced by %s (%s:%d)", ours->key, ours->file,
			    ours->line);
		return 0;
	}
	r = set_option(draft, NULL, entry, err);
	draft->unsure |= r < 0;
	return config_mistake(draft, r, err);
}

/* Reads the options of an enabled type, unless our files have its section. */
static int read_section(struct draft *draft, const char *type, struct err *err)
{
	const struct nova_entry *header = find_entry(draft, type, NOVA_HEADER);
	struct section *s;
	int r = 0;

	if (!header || config_draft_find(draft, type))
		return 0;
	s = config_draft_add(draft, type);
	s->nova = true;
	s->at = header->at;
	for (enum nova_option option = NOVA_ADDRESSES; r == 0 && option <= NOVA_MAX; option++) {
		const struct nova_entry *entry = find_entry(draft, type, option);

		if (entry)
			r = config_mistake(draft, set_option(draft, s, entry, err), err);
	}
	if (r < 0 || s->naddresses || strcmp(s->class, "VGPU") == 0)
		return r;
	text_copy(s->class, CLASS_SIZE, "VGPU");
	config_warn(&find_entry(draft, type, NOVA_CLASS)->at, draft->config, false,
		    "not used; Nova offers pGPUs that no section names as VGPU");
	return 0;
}

/* The enabled type of an entry's section, or NULL. */
static const char *type_of(const struct draft *draft, const struct nova_entry *entry)
{
	const struct enabled_list *list = config_draft_enabled(draft);

	for (size_t i = 0; entry->option != NOVA_TYPES && i < list->n; i++)
		if (strcasecmp(entry->at.section + 5, list->types[i].type) == 0)
			return list->types[i].type;
	return NULL;
}

/* Warns about an entry that looks valid but is not used, such as a key that another in the same file replaces. */
static void warn_of(const struct draft *draft, const struct nova_entry *entry)
{
	const char *type = type_of(draft, entry);
	const struct section *own = type ? config_draft_find(draft, type) : NULL;
	const struct nova_entry *found;
	const struct location *at = &entry->at;

	if (own && own->nova)
		own = NULL;
	found = find_entry(draft, entry->option == NOVA_TYPES ? NULL : at->section + 5, entry->option);
	if (entry->option == NOVA_HEADER) {
		if (found == entry && !type)
			config_warn(at, draft->config, false, "not used, because its type is not enabled");
		if (found == entry && own)
			config_warn(at, draft->config, false, "not used; replaced by [%s] (%s:%d)", own->at.section,
				    own->at.file, own->at.line);
		return;
	}
	if (entry->option == NOVA_TYPES ? draft->enabled[DIALECT_OURS].at.line > 0 : !type || own)
		return;
	if (entry->option == NOVA_UNREAD)
		config_warn(at, draft->config, false, "not used; Nova reads this key in [mdev_%s] only", type);
	else if (found != entry && found->at.file == at->file)
		config_warn(at, draft->config, false, "not used; replaced by [%s] %s (%s:%d)", found->at.section,
			    found->at.key, found->at.file, found->at.line);
}

int config_nova_apply(struct draft *draft, struct err *err)
{
	int r = read_types(draft, err);
	const struct enabled_list *list = config_draft_enabled(draft);

	for (size_t i = 0; r == 0 && !draft->unsure && i < list->n; i++)
		r = read_section(draft, list->types[i].type, err);
	for (size_t i = 0; r == 0 && !draft->unsure && i < draft->nentries; i++)
		warn_of(draft, &draft->entries[i]);
	return r;
}
