/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The values of Nova's options (nova/conf/devices.py) by the rules of oslo.config: which of several files, sections,
 * names and lines decides, what a $name stands for, what a list, a number and a class are.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { DEPTH_MAX = 50 };

const char *const config_nova_keys[] = {
	[NOVA_ADDRESSES] = "device_addresses", [NOVA_CLASS] = "mdev_class", [NOVA_MAX] = "max_instances"
};

const char *config_nova_text(const struct enabled *enabled)
{
	return enabled->text ? enabled->text : enabled->type;
}

bool config_nova_is_of(const struct nova_entry *entry, const char *type, bool old)
{
	return strncasecmp(entry->section, old ? "vgpu_" : "mdev_", 5) == 0 &&
	       strcasecmp(entry->section + 5, type) == 0;
}

/* How good a name the entry has for the option: 0 the best, 1 the deprecated one, 2 none. */
static int rank(const struct nova_entry *entry, const char *type, enum nova_option option)
{
	if (!entry->key)
		return 2;
	if (option == NOVA_TYPES && strcasecmp(entry->section, "devices") == 0)
		return strcmp(entry->key, "enabled_mdev_types") == 0   ? 0
		       : strcmp(entry->key, "enabled_vgpu_types") == 0 ? 1
								       : 2;
	if (option == NOVA_TYPES || strcmp(entry->key, config_nova_keys[option]) != 0)
		return 2;
	if (config_nova_is_of(entry, type, false))
		return 0;
	return option == NOVA_ADDRESSES && config_nova_is_of(entry, type, true) ? 1 : 2;
}

const struct nova_entry *config_nova_find(const struct draft *draft, const char *type, enum nova_option option)
{
	const struct nova_entry *best = NULL;
	int best_rank = 2;

	for (size_t i = draft->nentries; i-- > 0;) {
		const struct nova_entry *entry = &draft->entries[i];
		int r;

		if (best && best->at.file != entry->at.file)
			break;
		r = rank(entry, type, option);
		if (r >= best_rank)
			continue;
		best = entry;
		best_rank = r;
	}
	return best;
}

struct spot config_nova_spot(const struct nova_entry *entry)
{
	return (struct spot){
		.file = entry->at.file, .line = entry->at.line, .section = entry->section, .key = entry->key
	};
}

/* Whose option is evaluated, and how many names deep. */
struct scope {
	const struct draft *draft;
	const char *type; /* NULL: [devices] */
	int depth;
};

static int substitute(const struct scope *scope, const struct nova_entry *entry, char **value, struct err *err);

/*
 * int() of Python, but of ASCII digits alone: white space around, a sign, single _ between digits. What is larger than
 * a pGPU can hold counts as INSTANCES_MAX.
 */
static bool python_int(char *text, int *out)
{
	char *s = config_nova_strip(text);
	bool negative = *s == '-';
	int n = 0;

	s += *s == '-' || *s == '+';
	if (!isdigit((unsigned char)*s))
		return false;
	for (; *s; s++) {
		if (*s == '_' && isdigit((unsigned char)s[-1]) && isdigit((unsigned char)s[1]))
			continue;
		if (!isdigit((unsigned char)*s))
			return false;
		n = n * 10 + *s - '0';
		if (n > INSTANCES_MAX)
			n = INSTANCES_MAX;
	}
	*out = negative ? -n : n;
	return true;
}

/* max_instances, NO_LIMIT where it is not set. */
static int max_of(const struct scope *scope, int *max, struct err *err)
{
	const struct nova_entry *entry = config_nova_find(scope->draft, scope->type, NOVA_MAX);
	autofree char *value = NULL;
	struct spot at;
	int r;

	*max = NO_LIMIT;
	if (!entry)
		return 0;
	r = substitute(scope, entry, &value, err);
	if (r < 0)
		return r;
	if (!*config_nova_strip(value))
		return 0;
	at = config_nova_spot(entry);
	if (!python_int(value, max) || *max < 1)
		return spot_err(&at, err, "invalid value '%.80s': Nova expects a number, at least 1", entry->value);
	return 0;
}

static int class_of(const struct scope *scope, char **class, struct err *err)
{
	const struct nova_entry *entry = config_nova_find(scope->draft, scope->type, NOVA_CLASS);
	struct spot at;
	int r;

	if (!entry) {
		*class = mem_strdup("VGPU");
		return 0;
	}
	r = substitute(scope, entry, class, err);
	if (r < 0 || (class_is_valid(*class) && strlen(*class) < CLASS_SIZE))
		return r;
	at = config_nova_spot(entry);
	return spot_err(
		&at, err,
		"invalid class '%.80s': expected VGPU, or CUSTOM_ followed by capital letters, digits and _, at most %d characters",
		*class, CLASS_SIZE - 1);
}

/* The enabled type whose group is the first `n` bytes of a name: "mdev_TYPE"; NULL: none. */
static const char *type_of_group(const struct draft *draft, const char *name, size_t n)
{
	const struct enabled_list *list = config_draft_enabled(draft);

	for (size_t i = 0; i < list->n; i++) {
		const char *type = config_nova_text(&list->types[i]);

		if (n == strlen(type) + 5 && strncmp(name, "mdev_", 5) == 0 && strncmp(name + 5, type, n - 5) == 0)
			return type;
	}
	return NULL;
}

/*
 * What $NAME or $GROUP.NAME stands for. A list never makes a value that Nova accepts, and Nova's other options are
 * hundreds with defaults of their own, unknown here.
 */
static int resolve(const struct scope *scope, const struct nova_entry *entry, const char *name, char **value,
		   struct err *err)
{
	struct scope inner = { scope->draft, scope->type, scope->depth + 1 };
	struct spot at = config_nova_spot(entry);
	const char *dot = strchr(name, '.');
	const char *key = dot ? dot + 1 : name;
	int max, r;

	if (dot)
		inner.type = type_of_group(scope->draft, name, (size_t)(dot - name));
	if (inner.type && inner.depth < DEPTH_MAX && strcmp(key, "mdev_class") == 0)
		return class_of(&inner, value, err);
	if (!inner.type || inner.depth == DEPTH_MAX || strcmp(key, "max_instances") != 0)
		return spot_err(&at, err, "uses $%.80s, whose value is not known here; write the value itself", name);
	r = max_of(&inner, &max, err);
	if (r < 0)
		return r;
	*value = max == NO_LIMIT ? mem_strdup("") : mem_format("%d", max);
	return 0;
}

/* The bytes of an option's name, or GROUP.NAME, as string.Template finds it. */
static size_t name_len(const char *s)
{
	size_t n = *s == '_' || isalpha((unsigned char)*s);

	while (n && (s[n] == '_' || s[n] == '.' || isalnum((unsigned char)s[n])))
		n++;
	return n;
}

/* The $ at *s, moved behind what it begins; what that stands for goes to `out`. */
static int replace_one(const struct scope *scope, const struct nova_entry *entry, const char **s, FILE *out,
		       struct err *err)
{
	bool braced = (*s)[1] == '{';
	const char *start = *s + 1 + braced;
	size_t n = name_len(start);
	autofree char *name = NULL, *value = NULL;
	int r;

	if ((*s)[1] == '$' || !n || (braced && start[n] != '}')) {
		*s += 1 + ((*s)[1] == '$');
		fputc('$', out);
		return 0;
	}
	name = mem_strndup(start, n);
	*s = start + n + braced;
	r = resolve(scope, entry, name, &value, err);
	if (r == 0 && value)
		fputs(value, out);
	return r;
}

static int substitute(const struct scope *scope, const struct nova_entry *entry, char **value, struct err *err)
{
	autofree char *text = mem_strdup(entry->value);
	size_t len;
	FILE *out = mem_open(value, &len);
	int r = 0;

	for (char *s = text; *s; s++) /* \$ is another way to write $$ */
		if (s[0] == '\\' && s[1] == '$')
			*s = '$';
	for (const char *s = text; r == 0 && *s;)
		if (*s == '$')
			r = replace_one(scope, entry, &s, out, err);
		else
			fputc(*s++, out);
	mem_close(out);
	return r;
}

int config_nova_value(const struct draft *draft, const char *type, enum nova_option option, char **value,
		      struct err *err)
{
	const struct nova_entry *entry = config_nova_find(draft, type, option);

	*value = NULL;
	return entry ? substitute(&(struct scope){ draft, type, 0 }, entry, value, err) : 0;
}

int config_nova_class(const struct draft *draft, const char *type, char class[CLASS_SIZE], struct err *err)
{
	autofree char *value = NULL;
	int r = class_of(&(struct scope){ draft, type, 0 }, &value, err);

	if (r == 0)
		text_copy(class, CLASS_SIZE, value);
	return r;
}

int config_nova_max(const struct draft *draft, const char *type, int *max, struct err *err)
{
	return max_of(&(struct scope){ draft, type, 0 }, max, err);
}
