/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The keys of each section, how each is set to its value, and the defaults. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { MATCHES_MAX = 256, PATHS_MAX = 64, NUMA_MAX = 1023, QUOTAS_MAX = 4096, LIMIT_MAX = 65535, DAY = 86400 };

const struct key *config_key(const struct key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

/* Strips white space at both ends, and replaces each run of white space inside with one blank. */
static void squeeze(char *s)
{
	char *to = s;

	s = text_strip(s);
	for (; *s; s++)
		if (!isspace((unsigned char)*s))
			*to++ = *s;
		else if (to[-1] != ' ')
			*to++ = ' ';
	*to = '\0';
}

static void *destination(const struct setting *t)
{
	return (t->section ? (char *)t->section : (char *)t->draft->config) + t->key->offset;
}

/* Calls `add` for each item of a list, with the line on which the item begins. */
static int each_item(const struct setting *t, char *list, int (*add)(const struct setting *t, char *item))
{
	struct setting own = *t;
	char *item;
	int r = 0;

	while ((item = strsep(&list, ","))) {
		int lines = 0;

		for (; isspace((unsigned char)*item); item++)
			own.at.line += *item == '\n';
		for (const char *s = item; *s; s++)
			lines += *s == '\n';
		squeeze(item);
		/* Nova ignores an empty item only at the end of a list. */
		if ((*item || (list && t->at.nova)) && add(&own, item) < 0)
			r = -EINVAL;
		own.at.line += lines;
	}
	return r;
}

int config_key_set(const struct setting *t, char *value)
{
	bool lines = *text_strip(value) && strchr(value, '\n');
	size_t before = t->draft->mistakes.n;
	int r;

	if (lines && !t->key->list)
		return config_mistake(t->draft, &t->at,
				      "takes a single line, but an indented line follows and continues it");
	if (value[strspn(value, " ,\t\n")] == '\0')
		return config_mistake(t->draft, &t->at, "missing value; remove the line to use the default");
	if (!t->key->list)
		squeeze(value);
	if (t->key->add)
		*(size_t *)destination(t) = 0;
	r = t->key->add ? each_item(t, value, t->key->add) : t->key->set(t, value);
	/* Perhaps the indented line was meant as another key. */
	for (size_t i = before; lines && i < t->draft->mistakes.n; i++)
		text_add(t->draft->mistakes.list[i].text, sizeof(t->draft->mistakes.list[i].text),
			 " (an indented line continues the line above)");
	return r;
}

/* Adds an item. A duplicate, or more than `max` items, is a mistake. `things` names the items in the message. */
static int add_item(const struct setting *t, struct item **list, size_t *n, size_t max, const char *things,
		    const char *text)
{
	struct config *config = t->draft->config;
	struct item *slot;

	if (config_item(*list, *n, text))
		return config_mistake(t->draft, &t->at, "%s is listed twice", text);
	if (*n == max)
		return config_mistake(t->draft, &t->at, "more than %zu %s", max, things);
	slot = mem_add(list, n, sizeof(*slot));
	*slot = (struct item){ config_keep(&config->names, &config->nnames, text), t->at };
	return 0;
}

static int number(const struct setting *t, const char *value, int *to)
{
	const struct key *key = t->key;
	long n = NO_LIMIT;

	if (!(key->unlimited && strcmp(value, "unlimited") == 0) && !text_number(value, key->min, key->max, &n))
		return config_mistake(t->draft, &t->at, "invalid value '%.80s': expected a number, %ld to %ld%s", value,
				      key->min, key->max, key->unlimited ? ", or unlimited" : "");
	*to = (int)n;
	return 0;
}

static int set_number(const struct setting *t, char *value)
{
	return number(t, value, destination(t));
}

static int set_word(const struct setting *t, char *value)
{
	char all[256] = "";

	for (const struct word *w = t->key->words; w->word; w++) {
		if (strcmp(w->word, value) == 0) {
			if (w->instead)
				return config_mistake(t->draft, &t->at, "'%s' is no longer a value; write %s", value,
						      w->instead);
			if (t->key->flag)
				*(bool *)destination(t) = w->value;
			else
				*(int *)destination(t) = w->value;
			return 0;
		}
		if (!w->instead)
			text_add(all, sizeof(all), "%s%s", *all ? ", " : "", w->word);
	}
	return config_mistake(t->draft, &t->at, "invalid value '%.80s': expected one of %s", value, all);
}

static int add_enabled(const struct setting *t, char *item)
{
	struct draft *draft = t->draft;
	const struct item *before;
	char type[TYPE_SIZE];

	/* NVIDIA lists the types of VFs by their numbers. */
	if (*item && !item[strspn(item, "0123456789")])
		return config_mistake(t->draft, &t->at, "'%.80s' is not a type ID; write nvidia-%.80s", item, item);
	if (!type_parse(type, item)) {
		config_mistake(t->draft, &t->at,
			       "'%.80s' is not a type ID such as nvidia-35; separate types with commas", item);
		return config_mistake_word(t->draft, item);
	}
	before = t->at.nova ? config_item(draft->enabled.types, draft->enabled.n, type) : NULL;
	if (before) {
		draft->twice = (struct item){ before->text, t->at };
		return 0;
	}
	return add_item(t, &draft->enabled.types, &draft->enabled.n, TYPES_MAX, "types", type);
}

static int set_enabled(const struct setting *t, char *value)
{
	const struct location *before = &t->draft->enabled.at;

	if (before->file == t->at.file)
		return config_mistake(t->draft, &t->at, "duplicates %s (line %d)", before->key, before->line);
	t->draft->enabled.at = t->at;
	t->draft->enabled.n = 0;
	return each_item(t, value, add_enabled);
}

static int add_nova_conf(const struct setting *t, char *item)
{
	if (item[0] != '/' || strlen(item) >= PATH_MAX)
		return config_mistake(t->draft, &t->at, "'%.80s' is not an absolute path", item);
	return add_item(t, &t->draft->paths, &t->draft->npaths, PATHS_MAX, "files", item);
}

static int set_nova_conf(const struct setting *t, char *value)
{
	t->draft->npaths = 0;
	return each_item(t, value, add_nova_conf);
}

/* Nova compares addresses as text with those in sysfs, and uses libvirt's names for virtual parents. */
static int check_spelling(const struct setting *t, const char *item, const char *address)
{
	char nova[2 * PARENT_SIZE];

	snprintf(nova, sizeof(nova), strchr(address, ':') ? "%s" : "%s_%s", address, address);
	if (strcmp(nova, item) == 0)
		return 0;
	return config_mistake(t->draft, &t->at,
			      "'%.80s' names no device, because Nova compares addresses as text; write %s", item, nova);
}

static int add_address(const struct setting *t, char *item)
{
	struct section *s = t->section;
	char address[PARENT_SIZE], near[PCI_SIZE];

	if (!pci_parse(address, item)) {
		if (pci_guess(near, item))
			return config_mistake(t->draft, &t->at, "'%.80s' is not a PCI address; similar: %s", item,
					      near);
		if (strncmp(item, "pci_", 4) == 0 || !isalpha((unsigned char)item[0]) || !parent_given(address, item))
			return config_mistake(
				t->draft, &t->at,
				"'%.80s' is neither a PCI address with domain, such as 0000:84:00.0, nor a virtual parent, such as "
				"mtty; separate addresses with commas",
				item);
	}
	if ((t->at.nova && check_spelling(t, item, address) < 0) ||
	    add_item(t, &s->addresses, &s->naddresses, SECTION_ADDRESSES_MAX, "addresses", address) < 0)
		return -EINVAL;
	/* check_addresses() gives other advice than the usual one for nova.conf. */
	s->addresses[s->naddresses - 1].at.nova = false;
	return 0;
}

/* Parses VENDOR:DEVICE or VENDOR:DEVICE:SUBDEVICE into lower case. "*" means any ID, and leaves it empty. */
static bool parse_ids(struct match *m, const char *term)
{
	char *const ids[] = { m->vendor, m->device, m->subdevice };
	char copy[sizeof("vvvv:dddd:ssss") + 1], *rest = copy, *id;
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", term);
	for (; (id = strsep(&rest, ":")); n++) {
		if (n == ARRAY_SIZE(ids) ||
		    (strcmp(id, "*") != 0 && (strlen(id) != 4 || id[strspn(id, "0123456789abcdefABCDEF")])))
			return false;
		for (size_t i = 0; i < 4 && *id != '*'; i++)
			ids[n][i] = (char)tolower((unsigned char)id[i]);
	}
	return n >= 2 && (*m->vendor || *m->device);
}

static int add_match(const struct setting *t, char *terms)
{
	struct section *s = t->section;
	struct match m = { .numa = -1, .at = t->at };
	char *term;
	long node;

	while ((term = text_next(&terms, " "))) {
		if (strncmp(term, "numa=", 5) == 0 && m.numa == -1 && text_number(term + 5, 0, NUMA_MAX, &node))
			m.numa = (int)node;
		else if (*m.vendor || *m.device || !parse_ids(&m, term))
			return config_mistake(
				t->draft, &t->at,
				"invalid term '%.80s': expected VENDOR:DEVICE or VENDOR:DEVICE:SUBDEVICE (four hex digits each, * for any), "
				"numa=NODE, or both; separate alternatives with commas",
				term);
	}
	if (s->nmatches == MATCHES_MAX)
		return config_mistake(t->draft, &t->at, "more than %d alternatives", MATCHES_MAX);
	*(struct match *)mem_add(&s->matches, &s->nmatches, sizeof(m)) = m;
	return 0;
}

static int set_class(const struct setting *t, char *value)
{
	if (!class_is_valid(value) || !text_copy(t->section->class, CLASS_SIZE, value))
		return config_mistake(
			t->draft, &t->at,
			"invalid class '%.80s': expected VGPU, or CUSTOM_ followed by capital letters, digits and _, at most %d "
			"characters",
			value, CLASS_SIZE - 1);
	return 0;
}

static int set_params(const struct setting *t, char *value)
{
	for (const char *s = value; *s; s++)
		if (!isprint((unsigned char)*s))
			return config_mistake(t->draft, &t->at, "only printable ASCII characters are allowed");
	if (!text_copy(t->section->params, PARAMS_SIZE, value))
		return config_mistake(t->draft, &t->at, "longer than %d characters", PARAMS_SIZE - 1);
	return 0;
}

const struct key config_devices_keys[] = {
	{ .name = "enabled_mdev_types", .set = set_enabled, .list = true, .nova = true },
	{ .name = "enabled_vgpu_types", .set = set_enabled, .list = true, .nova = true },
	{ .name = "nova_conf", .set = set_nova_conf, .list = true },
	{ 0 },
};

#define IN_SECTION(field) .offset = offsetof(struct section, field)

/* vgpu_params must stay first: config_vf_keys is this table without it. */
const struct key config_mdev_keys[] = {
	{ .name = "vgpu_params", .set = set_params },
	{ .name = "device_addresses", .add = add_address, IN_SECTION(naddresses), .list = true, .nova = true },
	{ .name = "device_match", .add = add_match, IN_SECTION(nmatches), .list = true },
	{ .name = "max_instances",
	  .set = set_number,
	  IN_SECTION(max_instances),
	  .min = 1,
	  .max = INSTANCES_MAX,
	  .nova = true },
	{ .name = "mdev_class", .set = set_class, .nova = true },
	{ 0 },
};

/* The parser splits "project:ID = N" at its first separator, so the value is "ID = N", or "ID : N". */
static int set_project(const struct setting *t, char *value)
{
	struct config *config = t->draft->config;
	char *limit = strchr(value, '='), id[PROJECT_SIZE], *name;
	struct quota *q;

	if (!limit)
		limit = strrchr(value, ':');
	if (!limit)
		return config_mistake(t->draft, &t->at, "expected project:ID = NUMBER, or unlimited");
	*limit++ = '\0';
	name = text_strip(value);
	if (!*name || strpbrk(name, " :") || !text_copy(id, sizeof(id), name))
		return config_mistake(t->draft, &t->at,
				      "invalid project ID '%.80s': expected one word of at most %d characters", name,
				      PROJECT_SIZE - 1);
	q = text_find(config->quotas, config->nquotas, sizeof(*q), id);
	if (q && q->at.file == t->at.file)
		return config_mistake(t->draft, &t->at, "duplicates project:%s (line %d)", id, q->at.line);
	if (!q && config->nquotas == QUOTAS_MAX)
		return config_mistake(t->draft, &t->at, "more than %d projects", QUOTAS_MAX);
	if (!q)
		q = mem_add(&config->quotas, &config->nquotas, sizeof(*q));
	text_copy(q->project, PROJECT_SIZE, id);
	q->at = t->at;
	return number(t, text_strip(limit), &q->limit);
}

#define NUMBER(field, unset, from, to)                                                                                 \
	.set = set_number, .offset = offsetof(struct config, field), .usual = (unset), .min = (from), .max = (to)
#define WORDS(field, ...)                                                                                              \
	.set = set_word, .offset = offsetof(struct config, field), .words = (const struct word[])                      \
	{                                                                                                              \
		__VA_ARGS__, { 0 }                                                                                     \
	}
#define FLAG(field, no, yes, ...) WORDS(field, WORD(no, false), WORD(yes, true), ##__VA_ARGS__), .flag = true
#define WORD(name, means) { .word = (name), .value = (means) }
#define OLD(name, now) { .word = (name), .instead = (now) }

/* The maximum values limit how long a hook waits, because libvirt waits for a hook without limit. */
const struct key config_policy_keys[] = {
	{ .name = "placement",
	  WORDS(policy.placement, WORD("pack", PLACE_PACK), WORD("spread", PLACE_SPREAD), OLD("depth_first", "pack"),
		OLD("breadth_first", "spread"), OLD("compact", "pack"), OLD("separate", "spread"),
		OLD("consolidation", "pack"), OLD("performance", "spread")) },
	{ .name = "migrate_uuid", FLAG(policy.migrate_keep, "auto", "keep", OLD("fresh", "auto or keep")) },
	{ .name = "reuse", WORDS(policy.reuse_free, WORD("never", false), WORD("free", true)) },
	{ .name = "reclaim", FLAG(policy.reclaim_orphans, "never", "orphans") },
	{ .name = "reclaim_grace", NUMBER(policy.reclaim_grace_s, 600, 0, CONFIG_GRACE_MAX_S) },
	{ .name = "reserve_ttl", NUMBER(policy.reserve_ttl_s, 60, 1, DAY) },
	{ .name = "create_timeout", NUMBER(policy.create_timeout_s, 10, 1, 600) },
	{ .name = "start_grace", NUMBER(policy.start_grace_s, 120, 1, DAY) },
	{ .name = "release_wait", NUMBER(policy.release_wait_s, 1, 0, 60) },
	{ .name = "release_timeout", NUMBER(policy.release_timeout_s, 10, 1, 3600) },
	{ .name = "driver_cleanup", NUMBER(policy.driver_cleanup_s, 10, 0, 600) },
	{ .name = "lock_timeout", NUMBER(policy.lock_timeout_s, 30, 1, 600) },
	{ .name = "driver_mismatch", FLAG(policy.mismatch_warns, "refuse", "warn") },
	{ .name = "cross_framework", FLAG(policy.cross_framework, "no", "yes") },
	{ .name = "pgpu_types", FLAG(policy.several_types, "one", "several") },
	{ .name = "metrics", FLAG(policy.metrics, "no", "yes") },
	{ 0 },
};

_Static_assert(ARRAY_SIZE(config_policy_keys) <= KEYS_MAX + 1, "a section has more keys than a reader can tell apart");

const struct key config_quota_keys[] = {
	{ .name = "default", NUMBER(quota_default, NO_LIMIT, 0, LIMIT_MAX), .unlimited = true },
	{ .name = "project", .set = set_project, .many = true, .min = 0, .max = LIMIT_MAX, .unlimited = true },
	{ .name = "none", NUMBER(quota_none, NO_LIMIT, 0, LIMIT_MAX), .unlimited = true },
	{ 0 },
};

void config_default(struct config *config)
{
	static const struct key *const tables[] = { config_policy_keys, config_quota_keys };

	*config = (struct config){ .policy = { .placement = PLACE_PACK, .reuse_free = true, .reclaim_orphans = true } };
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct key *key = tables[i]; key->name; key++)
			if (key->set == set_number)
				*(int *)((char *)config + key->offset) = key->usual;
}
