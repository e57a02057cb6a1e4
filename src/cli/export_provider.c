/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A provider configuration file of Nova (its schema 1.0): YAML, a key or an item on each line, every value quoted. */
#include "cli/export.h"

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

	nova_traits(traits, provider);
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
