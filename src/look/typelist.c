/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses and records the types of NVIDIA's variant driver. */
#include "look/typelist.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define MEMORY_HEAD "vgpu-lease types 1 "
#define PREFIX "nvidia-"

const char *typelist_number(const char *type)
{
	long n;

	if (strncmp(type, PREFIX, strlen(PREFIX)) != 0 || !text_number(type + strlen(PREFIX), 1, INT_MAX, &n))
		return NULL;
	return type + strlen(PREFIX);
}

const struct typelist_item *typelist_find(const struct typelist *list, const char *type)
{
	return text_find(list->items, list->n, sizeof(*list->items), type);
}

void typelist_add(struct typelist *list, const char *type, const char *name)
{
	struct typelist_item *item = text_find(list->items, list->n, sizeof(*item), type);

	if (!item && list->n == TYPELIST_MAX)
		return;
	item = item ? item : mem_add(&list->items, &list->n, sizeof(*item));
	text_copy(item->type, sizeof(item->type), type);
	text_cut(item->name, sizeof(item->name), name);
	/* A cut name may end with a blank, which a later read would strip. */
	text_strip(item->name);
}

void typelist_parse(struct typelist *list, char *text)
{
	char *line, type[TYPE_SIZE];

	while ((line = text_next(&text, "\n"))) {
		char *name = strchr(line, ':');
		long number;

		if (!name)
			continue;
		*name++ = '\0';
		name = text_strip(name);
		if (!*name || !text_number(text_strip(line), 1, INT_MAX, &number))
			continue;
		snprintf(type, sizeof(type), PREFIX "%ld", number);
		typelist_add(list, type, name);
	}
}

int typelist_framebuffer(const char *name, int *slices)
{
	const char *dash = strrchr(name, '-'), *before = dash;
	char series, end;
	int gb;

	*slices = 0;
	/* The series after the size begins with a capital letter, and can have a digit ("2B4"). */
	if (!dash || !isdigit((unsigned char)dash[1]) || sscanf(dash + 1, "%5d%c", &gb, &series) != 2 ||
	    !isupper((unsigned char)series))
		return -1;
	while (before > name && isdigit((unsigned char)before[-1]))
		before--;
	if (before > name && before[-1] == '-' && sscanf(before, "%5d%c", slices, &end) == 2 && end != '-')
		*slices = 0;
	return gb ? gb * 1024 : 512;
}

void typelist_key(char key[TYPELIST_KEY_SIZE], const char *vendor, const char *device, const char *subsystem,
		  const char *driver)
{
	snprintf(key, TYPELIST_KEY_SIZE, "%s:%s:%s@%s", vendor, device, subsystem, driver);
	for (char *c = key; *(c += strspn(c, "0123456789abcdef:@.")); c++)
		*c = '_';
}

void typelist_recall(struct typelist *list, const struct host *host, const char *key)
{
	char text[TYPELIST_TEXT_MAX];
	char path[64 + TYPELIST_KEY_SIZE];

	snprintf(path, sizeof(path), "var/lib/vgpu-lease/types/%s", key);
	if (sys_read(host->root, path, text, TYPELIST_TEXT_MAX) <= 0 ||
	    strncmp(text, MEMORY_HEAD, strlen(MEMORY_HEAD)) != 0)
		return;
	list->whole |= strncmp(text + strlen(MEMORY_HEAD), "all\n", 4) == 0;
	typelist_parse(list, text);
}

const struct typelist_item *typelist_other_driver(char other[64], const struct host *host, const char *key,
						  const char *type)
{
	autoclosedir DIR *dir = sys_list(host->root, "var/lib/vgpu-lease/types");
	size_t model = strcspn(key, "@") + 1;
	const struct typelist_item *found = NULL;
	const struct dirent *e;

	while (!found && (e = sys_next(dir))) {
		struct typelist list = { 0 };

		if (strncmp(e->d_name, key, model) != 0 || strcmp(e->d_name, key) == 0 ||
		    !text_copy(other, 64, e->d_name + model))
			continue;
		typelist_recall(&list, host, e->d_name);
		found = typelist_find(&list, type);
	}
	return found;
}

int typelist_order(const void *a, const void *b)
{
	return strverscmp(a, b);
}

char *typelist_format(struct typelist *list)
{
	char *text = NULL;
	size_t size;
	FILE *to = mem_open(&text, &size);

	mem_sort(list->items, list->n, sizeof(*list->items), typelist_order);
	fprintf(to, MEMORY_HEAD "%s\n", list->whole ? "all" : "some");
	for (size_t i = 0; i < list->n; i++)
		fprintf(to, "%s : %s\n", typelist_number(list->items[i].type), list->items[i].name);
	mem_close(to);
	return text;
}
