/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pool of nova.conf. If several lines set an option, the line that oslo.config would use counts. Values are read as
 * in vgpu-lease.conf, without oslo.config's $substitution. A value that Nova would read differently is refused.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { ENTRIES_MAX = 4096 };

/* An option of nova.conf that defines the pool. NOVA_UNREAD: an option that Nova reads only in a section [mdev_*]. */
enum nova_option { NOVA_TYPES, NOVA_HEADER, NOVA_ADDRESSES, NOVA_CLASS, NOVA_MAX, NOVA_UNREAD };

struct nova_entry {
	struct location at; /* key NULL: the entry is a section's header */
	char *value;        /* owned by config->names; each continuation line begins with '\n' */
	enum nova_option option;
	bool old; /* has the deprecated name */
};

/* The names in nova/conf/devices.py. */
static const struct {
	const char *section, *key; /* key NULL: a section's header */
	enum nova_option option;
	bool old; /* deprecated: counts only if the file does not use the current name */
} options[] = {
	{ "devices", "enabled_mdev_types", NOVA_TYPES, false },
	{ "devices", "enabled_vgpu_types", NOVA_TYPES, true },
	{ "mdev_", NULL, NOVA_HEADER, false },
	{ "vgpu_", NULL, NOVA_HEADER, true },
	{ "mdev_", "device_addresses", NOVA_ADDRESSES, false },
	{ "vgpu_", "device_addresses", NOVA_ADDRESSES, true },
	{ "mdev_", "mdev_class", NOVA_CLASS, false },
	{ "vgpu_", "mdev_class", NOVA_UNREAD, true },
	{ "mdev_", "max_instances", NOVA_MAX, false },
	{ "vgpu_", "max_instances", NOVA_UNREAD, true },
};

/* Compares without case, because oslo.config ignores the case of section names. */
static bool is_option(size_t i, const char *section, const char *key)
{
	size_t n = strlen(options[i].section);

	if (strncasecmp(section, options[i].section, n) != 0 || (options[i].section[n - 1] != '_' && section[n]))
		return false;
	return key && options[i].key ? strcmp(key, options[i].key) == 0 : key == options[i].key;
}

int config_nova_take(struct draft *draft, const struct location *at, char *value)
{
	struct nova_entry *slot;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (!is_option(i, at->section, at->key))
			continue;
		if (draft->nentries == ENTRIES_MAX)
			return config_mistake(draft, &(struct location){ .file = at->file, .line = at->line },
					      "more than %d lines in [devices] and [mdev_*]", ENTRIES_MAX);
		slot = mem_add(&draft->entries, &draft->nentries, sizeof(*slot));
		*slot = (struct nova_entry){ .at = *at, .option = options[i].option, .old = options[i].old };
		slot->value = value;
		slot->at.key = options[i].key;
	}
	return 0;
}

/*
 * Finds the entry that sets an option. Only the last file that has the option, under either name, counts. In that file
 * an entry with the current name counts before one with the deprecated name, and a later entry before an earlier one.
 * `type` NULL: an option of [devices].
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

static int set_option(struct draft *draft, struct section *section, const struct nova_entry *entry)
{
	struct setting t = {
		.draft = draft,
		.section = section,
		.key = config_key(section ? config_mdev_keys : config_devices_keys, entry->at.key),
		.at = entry->at,
	};

	/* Nova accepts an empty list. */
	return t.key->list && !entry->value[strspn(entry->value, " \t\n")] ? 0 : config_key_set(&t, entry->value);
}

/* Reads the options of an enabled type, unless our files have its section. */
static void read_section(struct draft *draft, const char *type)
{
	const struct nova_entry *header = find_entry(draft, type, NOVA_HEADER);
	struct section *s;

	if (!header || config_draft_find(draft, type))
		return;
	s = config_draft_add(draft, type);
	s->nova = true;
	s->at = header->at;
	for (enum nova_option option = NOVA_ADDRESSES; option <= NOVA_MAX; option++) {
		const struct nova_entry *entry = find_entry(draft, type, option);

		if (entry)
			set_option(draft, s, entry);
	}
	if (s->naddresses || strcmp(s->class, "VGPU") == 0)
		return;
	text_copy(s->class, CLASS_SIZE, "VGPU");
	config_warn(&find_entry(draft, type, NOVA_CLASS)->at, draft->config, EINVAL,
		    "not used; Nova offers pGPUs that no section names as VGPU");
}

/* Warns about a valid entry that is not used, for example because another key of the file replaces it. */
static void warn_of(const struct draft *draft, const struct nova_entry *entry)
{
	const char *type = NULL; /* the type of the entry's section, if it is enabled */
	const struct section *own;
	const struct nova_entry *found;
	const struct location *at = &entry->at;

	for (EACH(const struct item *, enabled, draft->enabled.types, draft->enabled.n))
		if (entry->option != NOVA_TYPES && strcasecmp(at->section + 5, enabled->text) == 0)
			type = enabled->text;
	own = type ? config_draft_find(draft, type) : NULL;
	if (own && own->nova)
		own = NULL;
	found = find_entry(draft, entry->option == NOVA_TYPES ? NULL : at->section + 5, entry->option);
	if (entry->option == NOVA_HEADER) {
		if (found == entry && !type)
			config_warn(at, draft->config, EINVAL, "not used, because its type is not enabled");
		if (found == entry && own)
			config_warn(at, draft->config, EINVAL, "not used; replaced by [%s] (%s:%d)", own->at.section,
				    own->at.file, own->at.line);
		return;
	}
	if (entry->option == NOVA_TYPES ? draft->enabled.at.line && !draft->enabled.at.nova : !type || own)
		return;
	if (entry->option == NOVA_UNREAD)
		config_warn(at, draft->config, EINVAL, "not used; Nova reads this key in [mdev_%s] only", type);
	else if (found != entry && found->at.file == at->file)
		config_warn(at, draft->config, EINVAL, "not used; replaced by [%s] %s (%s:%d)", found->at.section,
			    found->at.key, found->at.file, found->at.line);
}

void config_nova_apply(struct draft *draft)
{
	const struct location *ours = &draft->enabled.at;
	const struct nova_entry *types = find_entry(draft, NULL, NOVA_TYPES);
	const struct item *twice = &draft->twice;
	const struct section *s;

	if (types && ours->line)
		config_warn(&types->at, draft->config, EINVAL, "not used; replaced by %s (%s:%d)", ours->key,
			    ours->file, ours->line);
	else if (types && set_option(draft, NULL, types) < 0)
		draft->unsure = true;
	for (size_t i = 0; !draft->unsure && i < draft->enabled.n; i++)
		read_section(draft, draft->enabled.types[i].text);
	/* Nova accepts a type that is listed twice, unless the type has addresses: each would then occur twice. */
	s = twice->text ? config_draft_find(draft, twice->text) : NULL;
	if (s && s->naddresses)
		config_mistake(draft, &twice->at, "%s is listed twice", twice->text);
	else if (twice->text)
		config_warn(&twice->at, draft->config, EINVAL, "%s is listed twice", twice->text);
	for (size_t i = 0; !draft->unsure && i < draft->nentries; i++)
		warn_of(draft, &draft->entries[i]);
}
