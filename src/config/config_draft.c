/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Combines the sections of all files, and checks what depends on several of them.
 *
 * If several lines of nova.conf set an option, the line that oslo.config would use counts. Values are read as in
 * vgpu-lease.conf, without oslo.config's $substitution. A value that Nova would read differently is refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { ADDRESSES_MAX = 4096, ENTRIES_MAX = 4096, LEFT_SHOWN = 8 };

void config_section_free(struct section *section)
{
	free(section->addresses);
	free(section->matches);
	section->addresses = NULL;
	section->matches = NULL;
	section->naddresses = section->nmatches = 0;
}

const struct item *config_item(const struct item *list, size_t n, const char *text)
{
	for (EACH(const struct item *, item, list, n))
		if (strcmp(item->text, text) == 0)
			return item;
	return NULL;
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

/* A header or key of a nova.conf that defines the pool, by the names in nova/conf/devices.py. */
struct nova_entry {
	struct location at;
	const char *type;      /* in at.section; NULL: the entry is a list in [devices] */
	const struct key *key; /* NULL: the header */
	char *value;           /* in draft->texts; each continuation line begins with '\n' */
	bool old;              /* deprecated name: counts only if the file does not use the current name */
};

int config_nova_take(struct draft *draft, const struct location *at, char *value)
{
	/* oslo.config ignores the case of section names. */
	const bool list = strcasecmp(at->section, "devices") == 0, vgpu = strncasecmp(at->section, "vgpu_", 5) == 0;
	const struct key *key = at->key ? config_key(list ? config_devices_keys : config_mdev_keys, at->key) : NULL;
	struct nova_entry *entry;

	if (!list && !vgpu && strncasecmp(at->section, "mdev_", 5) != 0)
		return 0;
	if (key ? !key->nova : list || at->key)
		return 0;
	if (draft->nentries == ENTRIES_MAX)
		return config_mistake(draft, &(struct location){ .file = at->file, .line = at->line },
				      "more than %d lines in [devices] and [mdev_*]", ENTRIES_MAX);
	entry = mem_add(&draft->entries, &draft->nentries, sizeof(*entry));
	*entry = (struct nova_entry){ .at = *at, .key = key, .old = vgpu };
	entry->type = list ? NULL : at->section + strlen("mdev_");
	entry->value = value;
	entry->at.key = key ? key->name : NULL;
	entry->old |= list && strcmp(key->name, "enabled_vgpu_types") == 0;
	return 0;
}

/* True for a key that Nova reads only in [mdev_*]. */
static bool is_unread(const struct nova_entry *entry)
{
	return entry->old && entry->type && entry->key && !entry->key->list;
}

/*
 * Finds the entry that sets a type's key or is its header (`key` NULL); `type` NULL: the list of types. Only the last
 * file that has the option, under either name, counts. In that file an entry with the current name counts before one
 * with the deprecated name, and a later entry before an earlier one.
 */
static const struct nova_entry *find_entry(const struct draft *draft, const char *type, const struct key *key)
{
	const struct nova_entry *best = NULL;

	for (size_t i = draft->nentries; i-- > 0;) {
		const struct nova_entry *entry = &draft->entries[i];

		if (!type != !entry->type || is_unread(entry) ||
		    (type && (entry->key != key || strcasecmp(entry->type, type) != 0)))
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
	struct setting t = { .draft = draft, .section = section, .key = entry->key, .at = entry->at };

	/* Nova accepts an empty list. */
	return t.key->list && !entry->value[strspn(entry->value, " \t\n")] ? 0 : config_key_set(&t, entry->value);
}

/* Reads the options of an enabled type, unless our files have its section. */
static void read_section(struct draft *draft, const char *type)
{
	const struct nova_entry *header = find_entry(draft, type, NULL);
	struct section *s;

	if (!header || config_draft_find(draft, type))
		return;
	s = config_draft_add(draft, type);
	s->at = header->at;
	for (const struct key *key = config_mdev_keys; key->name; key++) {
		const struct nova_entry *entry = find_entry(draft, type, key);

		if (entry)
			set_option(draft, s, entry);
	}
	if (s->naddresses || strcmp(s->class, "VGPU") == 0)
		return;
	text_copy(s->class, CLASS_SIZE, "VGPU");
	config_warn(&find_entry(draft, type, config_key(config_mdev_keys, "mdev_class"))->at, draft->config, EINVAL,
		    "not used; Nova offers pGPUs that no section names as VGPU");
}

/* Warns about a valid entry that is not used, for example because another key of the file replaces it. */
static void warn_of(const struct draft *draft, const struct nova_entry *entry)
{
	const struct location *at = &entry->at, *list = &draft->enabled.at;
	const struct nova_entry *found = find_entry(draft, entry->type, entry->key);
	const char *type = NULL; /* the type of the entry's section, if it is enabled */
	const struct section *own;

	for (EACH(const struct item *, enabled, draft->enabled.types, draft->enabled.n))
		if (entry->type && strcasecmp(entry->type, enabled->text) == 0)
			type = enabled->text;
	own = type ? config_draft_find(draft, type) : NULL;
	if (own && own->at.nova)
		own = NULL;
	if (entry->type && !entry->key) {
		if (found == entry && !type)
			config_warn(at, draft->config, EINVAL, "not used, because its type is not enabled");
		if (found == entry && own)
			config_warn(at, draft->config, EINVAL, "not used; replaced by [%s] (%s:%d)", own->at.section,
				    own->at.file, own->at.line);
		return;
	}
	if (entry->type ? !type || own : list->line && !list->nova)
		return;
	if (is_unread(entry))
		config_warn(at, draft->config, EINVAL, "not used; Nova reads this key in [mdev_%s] only", type);
	else if (found != entry && found->at.file == at->file)
		config_warn(at, draft->config, EINVAL, "not used; replaced by [%s] %s (%s:%d)", found->at.section,
			    found->at.key, found->at.file, found->at.line);
}

/* Applies the enabled types of the nova.conf files and their sections, unless our files have them. */
static void apply_nova(struct draft *draft)
{
	const struct location *ours = &draft->enabled.at;
	const struct nova_entry *types = find_entry(draft, NULL, NULL);
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

/* Checks a section. If its type is not enabled, clears its lists, so that they cause no further mistakes. */
static void check_section(struct draft *draft, struct section *s)
{
	const bool named = config_item(draft->enabled.types, draft->enabled.n, s->type);
	struct text_guess guess = { .word = s->type };

	if (s->vf && named)
		config_mistake(draft, &s->at, "%s is also listed in enabled_mdev_types; use another name for the VFs",
			       s->type);
	else if (s->vf && !s->naddresses && !s->nmatches)
		config_mistake(draft, &s->at,
			       "missing device_addresses or device_match; plain VFs are in no pool by default");
	if (s->vf || named)
		return;
	config_section_free(s);
	/* A type that has a section in our files is not the type meant here. */
	for (EACH(const struct item *, enabled, draft->enabled.types, draft->enabled.n)) {
		const struct section *own = config_draft_find(draft, enabled->text);

		if (!own || own->at.nova)
			text_guess(&guess, enabled->text);
	}
	if (guess.best)
		config_mistake(draft, &s->at, "type not enabled; similar in enabled_mdev_types: %s", guess.best);
	else
		config_mistake(draft, &s->at,
			       "type not enabled; correct its name, or add it to enabled_mdev_types in [devices]");
	config_mistake_word(draft, s->type);
}

/* Reports the first address that section `a` shares with an earlier section, unless both types can share a card. */
static void check_addresses(struct draft *draft, const struct section *a)
{
	for (const struct section *b = draft->config->sections; b < a; b++) {
		bool nova = a->at.nova && b->at.nova;

		if (draft->config->policy.several_types && !a->vf && !b->vf && !nova)
			continue;
		for (EACH(const struct item *, own, a->addresses, a->naddresses)) {
			const struct item *other = config_item(b->addresses, b->naddresses, own->text);

			if (!other)
				continue;
			config_mistake(draft, &own->at, "%s is also listed in [%s] (%s:%d); %s", own->text,
				       b->at.section, other->at.file, other->at.line,
				       nova ? "Nova accepts an address once"
					    : "a card provides one type unless pgpu_types = several in [policy]");
			return;
		}
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

/* Does nova.conf enable the type? True also if our files have a list of types, which replaces that of nova.conf. */
static bool nova_enables(const struct draft *draft, const char *type)
{
	const struct nova_entry *list = find_entry(draft, NULL, NULL);
	autofree char *text = mem_strdup(list ? list->value : "");
	bool enables = draft->enabled.at.nova;
	char *rest = text, *item;

	while (!enables && (item = text_next(&rest, ", \t\n\"'")))
		enables = strcmp(item, type) == 0;
	return enables;
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
		s->nova = nova_enables(draft, s->type);
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
		apply_nova(draft);
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
	config_strings_free(draft->texts, draft->ntexts);
	config_notes_free(&draft->mistakes);
}
