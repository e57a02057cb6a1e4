/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A provider configuration file of Nova (its schema 1.0), and a look at one that was written earlier.
 *
 * The file is YAML of one form, which the look back accepts as well: a key or an item on each line, every value quoted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "sys/sys.h"
#include "cli/export.h"

enum { FILE_MAX = 4 << 20 };

const char *export_provider(char buf[PROVIDER_SIZE], const struct export *export, const struct nova_provider *provider)
{
	snprintf(buf, PROVIDER_SIZE, "%s_%s", export->host, provider->device);
	return buf;
}

/* Within single quotes a quote is doubled, and all else stands for itself. */
static void quote(FILE *to, const char *text)
{
	putc('\'', to);
	for (const char *c = text; *c; c++) {
		if (*c == '\'')
			putc('\'', to);
		putc(*c, to);
	}
	fputs("'\n", to);
}

static void print_provider(FILE *to, const struct export *export, const struct nova_provider *provider)
{
	char traits[NOVA_TRAITS][TRAIT_SIZE], name[PROVIDER_SIZE];

	nova_traits(traits, &export->survey->pool, provider);
	fputs("  - identification:\n      name: ", to);
	quote(to, export_provider(name, export, provider));
	fputs("    traits:\n      additional:\n", to);
	for (int i = 0; i < NOVA_TRAITS; i++) {
		if (!*traits[i])
			continue;
		fputs("        - ", to);
		quote(to, traits[i]);
	}
}

void export_provider_config(FILE *to, const struct export *export)
{
	const struct nova_inventory *nova = export->nova;
	size_t n = 0;

	fputs("# Written by 'vgpu-lease export nova-provider-config', for /etc/nova/provider_config.\n"
	      "meta:\n"
	      "  schema_version: '1.0'\n"
	      "providers:",
	      to);
	for (size_t i = 0; i < nova->n; i++) {
		if (nova->providers[i].limited)
			continue;
		if (n++ == 0)
			putc('\n', to);
		print_provider(to, export, &nova->providers[i]);
	}
	fputs(n ? "" : " []\n", to);
}

/* A trait that the file gives a provider, or that it ought to. */
struct pair {
	char provider[PROVIDER_SIZE], trait[TRAIT_SIZE];
};

struct pairs {
	struct pair *list;
	size_t n;
};

static void add(struct pairs *pairs, const char *provider, const char *trait)
{
	struct pair *pair = mem_add(&pairs->list, &pairs->n, sizeof(*pair));

	text_copy(pair->provider, PROVIDER_SIZE, provider);
	text_copy(pair->trait, TRAIT_SIZE, trait);
}

static bool has(const struct pairs *pairs, const struct pair *pair)
{
	for (size_t i = 0; i < pairs->n; i++)
		if (strcmp(pairs->list[i].provider, pair->provider) == 0 &&
		    strcmp(pairs->list[i].trait, pair->trait) == 0)
			return true;
	return false;
}

/* 'a''b' is a'b; false: it is no text in single quotes, or too long. */
static bool unquote(char *out, size_t size, const char *text)
{
	size_t n = 0;

	if (*text++ != '\'')
		return false;
	for (; *text; text++) {
		if (*text == '\'' && *++text != '\'') {
			out[n] = '\0';
			return !*text;
		}
		if (n + 1 == size)
			return false;
		out[n++] = *text;
	}
	return false;
}

/* Takes one line; `provider` is the one that the lines before it are about. */
static bool take_line(struct pairs *pairs, char provider[PROVIDER_SIZE], const char *line)
{
	static const char *const fixed[] = {
		"",        "meta:",       "schema_version: '1.0'", "providers:", "providers: []",
		"traits:", "additional:", "- identification:"
	};
	const char *text = line + strspn(line, " ");
	char trait[TRAIT_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (*text == '#' || strcmp(text, fixed[i]) == 0)
			return true;
	if (strncmp(text, "name: ", 6) == 0)
		return unquote(provider, PROVIDER_SIZE, text + 6);
	if (strncmp(text, "- ", 2) != 0 || !*provider || !unquote(trait, sizeof(trait), text + 2))
		return false;
	add(pairs, provider, trait);
	return true;
}

static int read_file(struct pairs *pairs, const char *path, char *text, size_t len, struct err *err)
{
	char provider[PROVIDER_SIZE] = "";
	int number = 1;

	if (memchr(text, '\0', len))
		return err_set(err, EINVAL, "%s: not a text file", path);
	for (char *line = text, *end; *line; line = end, number++) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		if (!take_line(pairs, provider, line))
			return err_set(err, EINVAL, "%s:%d: not as 'vgpu-lease export nova-provider-config' writes it",
				       path, number);
	}
	return 0;
}

static void expect(struct pairs *pairs, const struct export *export)
{
	for (size_t i = 0; i < export->nova->n; i++) {
		const struct nova_provider *provider = &export->nova->providers[i];
		char traits[NOVA_TRAITS][TRAIT_SIZE], name[PROVIDER_SIZE];

		nova_traits(traits, &export->survey->pool, provider);
		for (int t = 0; !provider->limited && t < NOVA_TRAITS; t++)
			if (*traits[t])
				add(pairs, export_provider(name, export, provider), traits[t]);
	}
}

static int print_difference(const char *path, const struct pairs *is, const struct pairs *expected)
{
	int n = 0;

	for (const struct pair *pair = is->list; pair < is->list + is->n; pair++) {
		if (has(expected, pair))
			continue;
		out_say("%s: stale trait %s; write %s again, and remove the trait from Placement: 'openstack "
			"resource provider trait set' with all others",
			pair->provider, pair->trait, path);
		n++;
	}
	for (const struct pair *pair = expected->list; pair < expected->list + expected->n; pair++) {
		if (has(is, pair))
			continue;
		out_say("%s: missing trait %s; write %s again", pair->provider, pair->trait, path);
		n++;
	}
	return n;
}

int export_check(const char *path, const struct export *export, struct err *err)
{
	struct pairs is = { 0 }, expected = { 0 };
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	autofree char *text = NULL;
	size_t len = 0;
	int r = fd < 0 ? -errno : sys_slurp(fd, FILE_MAX, &text, &len);

	if (r < 0 || !text)
		return err_sys(err, r < 0 ? -r : EIO, "%s", path);
	r = read_file(&is, path, text, len, err);
	if (r == 0) {
		expect(&expected, export);
		r = print_difference(path, &is, &expected);
	}
	free(is.list);
	free(expected.list);
	return r;
}
