/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nova's provider configuration: what is written is read back, and what else the reader takes and refuses. */
#include "cli/export.h"

#include <errno.h>

#include "base/auto.h"
#include "base/mem.h"
#include "lib/tap.h"
#include "lib/tree.h"
#include "unit/plan/world.h"

#define HEAD "meta:\\n  schema_version: '1.0'\\nproviders:\\n"
#define NAME(name) "  - identification:\\n      name: " name "\\n    traits:\\n      additional:\\n"
#define TRAIT(trait) "        - " trait "\\n"
#define ALL                                                                                                            \
	NAME("'o''neill_pci_84'")                                                                                      \
	TRAIT("'CUSTOM_S'") TRAIT("'CUSTOM_PGPU_10DE_1EB8'") TRAIT("'CUSTOM_VGPU_1024_MIB'") TRAIT("'CUSTOM_VGPU_MDEV'")

/* Compared with one provider, o'neill_pci_84, of four traits; a file's line breaks are \n. */
static const struct {
	const char *says, *text;
	int differ; /* or the line that is refused, negative */
} rows[] = {
	{ "a file with all traits is current", HEAD ALL, 0 },
	{ "comments and empty lines are passed over", "# x\\n\\n" HEAD "  # y\\n" ALL, 0 },
	{ "of an empty one each is missing", "meta:\\n  schema_version: '1.0'\\nproviders: []", 4 },
	{ "so is what it does not have", HEAD NAME("'o''neill_pci_84'") TRAIT("'CUSTOM_S'"), 3 },
	{ "a trait of an earlier type is stale", HEAD ALL TRAIT("'CUSTOM_L'"), 1 },
	{ "so are those of a provider that has gone", HEAD ALL NAME("'o''neill_pci_85'") TRAIT("'CUSTOM_S'"), 1 },
	{ "the name decides, not the order", HEAD NAME("'x'") TRAIT("'CUSTOM_L'") ALL, 1 },
	{ "a trait that stands twice counts once", HEAD ALL TRAIT("'CUSTOM_S'"), 0 },
	{ "another schema is refused", "meta:\\n  schema_version: '1.1'", -2 },
	{ "so is a key that is never written", HEAD "    inventories:", -4 },
	{ "a trait before a provider", HEAD TRAIT("'CUSTOM_S'"), -4 },
	{ "a text without quotes", HEAD NAME("x"), -5 },
	{ "one whose quotes do not end", HEAD NAME("'x"), -5 },
	{ "one that goes on behind them", HEAD NAME("'x' y"), -5 },
	{ "a quote that is not doubled", HEAD NAME("'o'neill'"), -5 },
	{ "an empty item", HEAD ALL "        - ", -12 },
};

static struct tree tree;

static int check(const struct export *export, const char *text, struct err *err)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/provider.yaml", tree.path);
	tree_file(tree.host.root, "provider.yaml", text);
	return export_check(path, export, err);
}

/* As it is written, for another host: nothing of it is current. */
static void back(const struct export *export)
{
	struct export other = *export;
	autofree char *text = NULL;
	struct err err;
	size_t len;
	FILE *to = mem_open(&text, &len);

	export_provider_config(to, export);
	mem_close(to);
	ok(check(export, text, &err) == 0, "what is written is current");
	other.host = "other";
	ok(check(&other, text, &err) == 8, "for another host all of it is stale, and all of its own missing");
}

/* Names and traits that are longer than any can be. */
static void too_long(const struct export *export)
{
	char text[PROVIDER_SIZE + 256], name[PROVIDER_SIZE + 1] = "";
	struct err err;

	memset(name, 'x', PROVIDER_SIZE - 1);
	snprintf(text, sizeof(text), HEAD NAME("'%s'"), name);
	ok(check(export, text, &err) == 4, "the longest name is read");
	name[PROVIDER_SIZE - 1] = 'x';
	snprintf(text, sizeof(text), HEAD NAME("'%s'"), name);
	ok(check(export, text, &err) == -EINVAL, "a longer one refused, not cut");
	ok(export_check("/dev/null/none", export, &err) == -ENOTDIR, "a file that cannot be read is an error");
}

int main(void)
{
	static const struct row row = { "", "84/0 s=16/16", "", "", "", "s", "", "" };
	static struct world w;
	const struct survey *survey;
	struct survey facts = { 0 };
	struct nova_inventory nova;
	struct export export = { .survey = &facts, .nova = &nova, .host = "o'neill" };

	tree_begin(&tree, "");
	make_world(&w, &row);
	w.sections[0].nova = true;
	memcpy(w.cards[0].vendor, "10de", 5);
	memcpy(w.cards[0].device, "1eb8", 5);
	facts.pool = w.pool;
	survey = &facts;
	nova_inventory_make(&nova, &survey->pool, NULL, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		int r = check(&export, rows[i].text, &err);
		char place[32];

		snprintf(place, sizeof(place), ".yaml:%d:", -rows[i].differ);
		if (rows[i].differ < 0)
			ok(r == -EINVAL && strstr(err.text, place), "%s: %s", rows[i].says, err.text);
		else
			ok(r == rows[i].differ, "%s", rows[i].says);
	}
	back(&export);
	too_long(&export);
	nova_inventory_free(&nova);
	pool_free(&w.pool);
	tree_end(&tree);
	return tap_done();
}
