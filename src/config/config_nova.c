/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Nova's pool: the options of [devices] and of the enabled types, as Nova's libvirt driver takes them
 * (_get_supported_vgpu_types and _validate_device_address in nova/virt/libvirt/driver.py). Where its releases differ,
 * 2026.2 counts: an earlier one does not start with what only that accepts, so it has no instance here.
 *
 * Nova takes much that names nothing: a text that cannot be a type, an address that it compares as text with lower-case
 * ones. It serves nothing then, but it is not as if it were not there: such a type can be the one of the pGPUs that
 * nobody names, such an address keeps its type from being that.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { ADDRESSES_MAX = 4096 };

/* What is put together. */
struct pool {
	struct draft *draft;
	struct err *err;
	struct section *section; /* whose addresses are read */
	struct address {
		char *text;
		struct place at;
	} *addresses; /* of all types: Nova takes each once */
	size_t naddresses;
};

static void pool_free(struct pool *pool)
{
	for (size_t i = 0; i < pool->naddresses; i++)
		free(pool->addresses[i].text);
	free(pool->addresses);
}

/* Returns 0. */
__attribute__((format(printf, 3, 4))) static int warn(struct pool *pool, const struct nova_entry *entry,
						      const char *fmt, ...)
{
	struct spot at = config_nova_spot(entry);
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	spot_warn(&at, pool->draft->config, false, "%s", text);
	return 0;
}

/*
 * The items of a list option, as oslo.config's List has them: commas at the end count for nothing, an empty item
 * between two commas for an item. Calls `add` with each, and the line where it begins.
 */
static int each_item(struct pool *pool, const struct nova_entry *entry, char *list,
		     int (*add)(struct pool *pool, const struct nova_entry *entry, const char *item))
{
	struct nova_entry at = *entry;
	char *all = config_nova_strip(list), *item;
	int r = 0;

	for (char *c = list; c < all; c++)
		at.at.line += *c == '\n';
	for (size_t n = strlen(all); n > 0 && all[n - 1] == ','; n--)
		all[n - 1] = '\0';
	if (!*all)
		return 0;
	while (r == 0 && (item = strsep(&all, ","))) {
		char *start = config_nova_strip(item);
		int lines = 0;

		for (; item < start; item++)
			at.at.line += *item == '\n';
		for (const char *c = item; *c; c++)
			lines += *c == '\n';
		r = add(pool, &at, item);
		at.at.line += lines;
	}
	return r;
}

/*
 * What Nova enables: a text that is no type gets a '?' for what cannot stand in one, so that no request can name it.
 * `number` tells apart those that look the same then.
 */
static void type_of(char type[TYPE_SIZE], const char *text, const struct enabled_list *list, size_t number)
{
	char safe[TYPE_SIZE - 24];
	size_t n = 0;

	if (type_parse(type, text))
		return;
	for (; n < sizeof(safe) - 1 && text[n]; n++)
		safe[n] = isalnum((unsigned char)text[n]) || strchr("_.-", text[n]) ? text[n] : '?';
	safe[n] = '\0';
	snprintf(type, TYPE_SIZE, "%s%s", safe, strchr(safe, '?') ? "" : "?");
	for (size_t i = 0; i < number; i++)
		if (strcmp(list->types[i].type, type) == 0)
			snprintf(type, TYPE_SIZE, "%s?%zu", safe, number);
}

static int add_type(struct pool *pool, const struct nova_entry *entry, const char *item)
{
	struct enabled_list *list = &pool->draft->enabled[DIALECT_NOVA];
	struct spot at = config_nova_spot(entry);
	struct enabled *enabled;

	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->types[i].text, item) == 0) {
			list->types[i].twice = true;
			return 0;
		}
	if (list->n == TYPES_MAX)
		return spot_err(&at, pool->err, "more than %d types", TYPES_MAX);
	enabled = mem_add(&list->types, &list->n, sizeof(*enabled));
	enabled->text = mem_strdup(item);
	enabled->at = entry->at;
	type_of(enabled->type, item, list, list->n - 1);
	if (!strchr(enabled->type, '?'))
		return 0;
	at.word = item;
	spot_warn(&at, pool->draft->config, false,
		  "'%.80s' is not a type ID such as nvidia-35, but Nova enables it as written; no pGPU provides it%s",
		  item, strstr(item, " #") || strstr(item, " ;") ? "; a comment needs a line of its own" : "");
	return 0;
}

/* [devices]: our own list stands for Nova's. */
static int read_types(struct pool *pool)
{
	struct draft *draft = pool->draft;
	const struct enabled_list *ours = &draft->enabled[DIALECT_OURS];
	const struct nova_entry *entry = config_nova_find(draft, NULL, NOVA_TYPES);
	autofree char *value = NULL;
	int r;

	if (!entry)
		return 0;
	if (ours->at.line)
		return warn(pool, entry, "not used; replaced by %s (%s:%d)", ours->at.key, ours->at.file,
			    ours->at.line);
	r = config_nova_value(draft, NULL, NOVA_TYPES, &value, pool->err);
	if (r == 0)
		r = each_item(pool, entry, value, add_type);
	draft->enabled[DIALECT_NOVA].at = config_nova_spot(entry);
	return r;
}

/* As Nova matches it: any character may stand where the last point is. */
static bool looks_like_pci(const char *s)
{
	static const char form[] = "xxxx:xx:xx";
	size_t i;

	for (i = 0; form[i]; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)s[i]) : s[i] != form[i])
			return false;
	if (!s[i] || s[i] == '\n')
		return false;
	for (i++; ((unsigned char)s[i] & 0xc0) == 0x80;)
		i++;
	return s[i] >= '0' && s[i] <= '7' && !s[i + 1];
}

/* Nova looks for a virtual parent in sysfs, each _ a /. */
static bool is_virtual(const struct host *host, const char *text)
{
	char path[PARENT_SIZE + sizeof("sys/devices/virtual/")], word[PARENT_SIZE];

	if (!host || strstr(text, "_.") || (*text && !parent_parse(word, text)))
		return false;
	snprintf(path, sizeof(path), "sys/devices/virtual/%s", text);
	for (char *c = path; *c; c++)
		if (*c == '_')
			*c = '/';
	return faccessat(host->root, path, F_OK, 0) == 0;
}

/*
 * The device that an address names: "" where Nova takes it, but no device has that address. False where Nova refuses
 * it. Of virtual parents Nova and libvirt know those of the form NAME_NAME.
 */
static bool device_of(const struct host *host, char device[PARENT_SIZE], const char *text)
{
	device[0] = '\0';
	if (looks_like_pci(text)) {
		if (!pci_parse(device, text) || strcmp(device, text) != 0)
			device[0] = '\0';
		return true;
	}
	if (isalpha((unsigned char)text[0]) && strncmp(text, "pci_", 4) != 0 && parent_parse(device, text) &&
	    config_halve(device))
		return true;
	device[0] = '\0';
	return is_virtual(host, text);
}

static int take_device(struct pool *pool, const struct nova_entry *entry, const char *device)
{
	struct section *s = pool->section;
	struct spot at = config_nova_spot(entry);
	size_t n = s->naddresses;
	char(*slot)[PARENT_SIZE];
	struct place *place;

	if (n == SECTION_ADDRESSES_MAX)
		return spot_err(&at, pool->err, "more than %d addresses", SECTION_ADDRESSES_MAX);
	place = mem_add(&s->addresses_at, &n, sizeof(*place));
	slot = mem_add(&s->addresses, &s->naddresses, PARENT_SIZE);
	*place = entry->at;
	text_copy(*slot, PARENT_SIZE, device);
	return 0;
}

static int add_address(struct pool *pool, const struct nova_entry *entry, const char *item)
{
	struct spot at = config_nova_spot(entry);
	char device[PARENT_SIZE], pci[PCI_SIZE];
	struct address *slot;

	for (size_t i = 0; i < pool->naddresses; i++) {
		const struct address *a = &pool->addresses[i];

		if (strcmp(a->text, item) == 0)
			return spot_err(&at, pool->err, "%s is also listed in %s:%d; Nova accepts an address once",
					item, a->at.file, a->at.line);
	}
	if (pool->naddresses == ADDRESSES_MAX)
		return spot_err(&at, pool->err, "more than %d addresses in all", ADDRESSES_MAX);
	slot = mem_add(&pool->addresses, &pool->naddresses, sizeof(*slot));
	slot->text = mem_strdup(item);
	slot->at = entry->at;
	if (!device_of(pool->draft->host, device, item))
		return spot_err(&at, pool->err,
				"'%.80s' is neither a PCI address with domain, such as 0000:84:00.0, nor a virtual "
				"parent, such as mtty_mtty; separate addresses with commas",
				item);
	pool->section->named = true;
	if (*device && !looks_like_pci(item))
		warn(pool, entry, "'%.80s' is a virtual parent; Nova rejects it before 2026.2", item);
	if (*device)
		return take_device(pool, entry, device);
	if (!looks_like_pci(item))
		return warn(pool, entry, "'%.80s' names no device; Nova rejects it before 2026.2", item);
	if (pci_parse(pci, item))
		return warn(pool, entry, "'%.80s' names no device, because Nova compares addresses as text; write %s",
			    item, pci);
	return warn(pool, entry, "'%.80s' names no device, but Nova accepts it", item);
}

/* The header of the type's section: the last, [mdev_TYPE] before [vgpu_TYPE]. */
static const struct nova_entry *header_of(const struct draft *draft, const char *type)
{
	const struct nova_entry *found = NULL;

	for (size_t i = 0; i < draft->nentries; i++) {
		const struct nova_entry *e = &draft->entries[i];

		if (e->key)
			continue;
		if (config_nova_is_of(e, type, false))
			found = e;
		else if (config_nova_is_of(e, type, true) && !(found && config_nova_is_of(found, type, false)))
			found = e;
	}
	return found;
}

/* The options of an enabled type, where we have no section of it. */
static int read_section(struct pool *pool, const struct enabled *enabled)
{
	struct draft *draft = pool->draft;
	const char *type = config_nova_text(enabled);
	const struct nova_entry *header = header_of(draft, type);
	struct spot list = {
		.file = enabled->at.file, .line = enabled->at.line, .section = "devices", .key = "enabled_mdev_types"
	};
	autofree char *value = NULL;
	struct section *s;

	if (!header || config_draft_find(draft, enabled->type, false))
		return 0;
	s = config_draft_add(draft, enabled->type);
	s->nova = true;
	s->file = header->at.file;
	s->line = header->at.line;
	snprintf(s->name, sizeof(s->name), "%s", header->section);
	pool->section = s;
	if (config_nova_class(draft, type, s->class, pool->err) < 0 ||
	    config_nova_max(draft, type, &s->max_instances, pool->err) < 0 ||
	    config_nova_value(draft, type, NOVA_ADDRESSES, &value, pool->err) < 0)
		return -pool->err->code;
	if (value && each_item(pool, config_nova_find(draft, type, NOVA_ADDRESSES), value, add_address) < 0)
		return -pool->err->code;
	if (enabled->twice && s->named)
		return spot_err(&list, pool->err, "%s is listed twice", type);
	if (s->named || strcmp(s->class, "VGPU") == 0)
		return 0;
	text_copy(s->class, CLASS_SIZE, "VGPU");
	return warn(pool, config_nova_find(draft, type, NOVA_CLASS),
		    "not used; Nova offers pGPUs that no section names as VGPU");
}

/* The enabled type of a section, NULL where it is not enabled. */
static const struct enabled *enabled_of(const struct draft *draft, const struct nova_entry *entry)
{
	const struct enabled_list *list = config_draft_enabled(draft);

	for (size_t i = 0; i < list->n; i++)
		if (strcasecmp(entry->section + 5, config_nova_text(&list->types[i])) == 0)
			return &list->types[i];
	return NULL;
}

static bool is_devices(const struct nova_entry *entry)
{
	return strcasecmp(entry->section, "devices") == 0;
}

static int warn_of_header(struct pool *pool, const struct nova_entry *entry)
{
	const struct enabled *enabled = enabled_of(pool->draft, entry);
	const struct section *own;

	for (const struct nova_entry *e = pool->draft->entries; e < entry; e++)
		if (!e->key && strcasecmp(e->section, entry->section) == 0)
			return 0;
	if (!enabled)
		return warn(pool, entry, "not used, because its type is not enabled");
	own = config_draft_find(pool->draft, enabled->type, false);
	if (own)
		return warn(pool, entry, "not used; replaced by [%s] (%s:%d)", own->name, own->file, own->line);
	return 0;
}

/* What an administrator may take for valid: a key that another one in the same file replaces. */
static int warn_of_key(struct pool *pool, const struct nova_entry *entry)
{
	const struct enabled *enabled = is_devices(entry) ? NULL : enabled_of(pool->draft, entry);
	enum nova_option option = NOVA_TYPES;
	const struct nova_entry *found;

	if (is_devices(entry) != (strncmp(entry->key, "enabled_", 8) == 0))
		return 0;
	if (!is_devices(entry) && (!enabled || config_draft_find(pool->draft, enabled->type, false)))
		return 0;
	for (size_t i = NOVA_ADDRESSES; enabled && i <= NOVA_MAX; i++)
		if (strcmp(entry->key, config_nova_keys[i]) == 0)
			option = (enum nova_option)i;
	found = config_nova_find(pool->draft, enabled ? config_nova_text(enabled) : NULL, option);
	if (option > NOVA_ADDRESSES && strncasecmp(entry->section, "vgpu_", 5) == 0)
		return warn(pool, entry, "not used; Nova reads this key in [mdev_%s] only", config_nova_text(enabled));
	if (!found || found == entry || found->at.file != entry->at.file)
		return 0;
	return warn(pool, entry, "not used; replaced by [%s] %s (%s:%d)", found->section, found->key, found->at.file,
		    found->at.line);
}

static int warn_of_rest(struct pool *pool)
{
	const struct draft *draft = pool->draft;
	int r = 0;

	for (size_t i = 0; r == 0 && i < draft->nentries; i++) {
		const struct nova_entry *e = &draft->entries[i];

		if (e->key)
			r = warn_of_key(pool, e);
		else if (!is_devices(e))
			r = warn_of_header(pool, e);
	}
	return r;
}

int config_nova_apply(struct draft *draft, struct err *err)
{
	struct pool pool = { .draft = draft, .err = err };
	const struct enabled_list *list;
	int r = read_types(&pool);

	draft->unsure |= r < 0;
	r = config_mistake(draft, r, err);
	list = config_draft_enabled(draft);
	for (size_t i = 0; r == 0 && !draft->unsure && i < list->n; i++)
		r = config_mistake(draft, read_section(&pool, &list->types[i]), err);
	if (r == 0 && !draft->unsure)
		r = warn_of_rest(&pool);
	pool_free(&pool);
	return r;
}
