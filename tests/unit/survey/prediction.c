/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is known of a vGPU when its domain is defined: what all cards that it can be made on have in common. */
#include "survey/migration_facts.h"

#include "lib/cards.h"
#include "lib/config_text.h"
#include "lib/small_host.h"
#include "survey/survey.h"

/* Two models that name the type nvidia-222 differently; the second alone has nvidia-300. */
static const char two_models[] = "proc/\nrun/\n" CARD_OF("0000:84:00.0", "1eb8")
	OFFERS("0000:84:00.0", "nvidia-222", "GRID T4-1B", "8") CARD_OF("0000:85:00.0", "1db6")
		OFFERS("0000:85:00.0", "nvidia-222", "GRID V100-1B", "8")
			OFFERS("0000:85:00.0", "nvidia-300", "GRID V100-2Q", "8");

#define T4 "nvidia-222@0000:84:00.0"
#define V100 "nvidia-300@0000:85:00.0"

static const struct row {
	const char *says, *type; /* as the metadata have it */
	enum vgpu_request_kind kind;
	const char *config, *facts; /* type|name|framework|model; NULL: nothing is known */
} rows[] = {
	{ "on one card all is known", "nvidia-222", REQUEST_MDEV, T4, "nvidia-222|GRID T4-1B|mdev|10de:1eb8" },
	{ "on cards of two models what they share", "nvidia-222", REQUEST_MDEV, "nvidia-222", "nvidia-222||mdev|" },
	{ "the type stays as the metadata word it", "GRID T4-1B", REQUEST_MDEV, T4,
	  "GRID T4-1B|GRID T4-1B|mdev|10de:1eb8" },
	{ "without metadata it is the only one that is enabled", "", REQUEST_MDEV, V100,
	  "nvidia-300|GRID V100-2Q|mdev|10de:1db6" },
	{ "of two that are enabled it is neither", "", REQUEST_MDEV, T4 " " V100, NULL },
	{ "a type that no card of the pool serves is not known", "nvidia-300", REQUEST_MDEV, T4, NULL },
	{ "nor is a VF where the cards have mdevs", "", REQUEST_PCI, "nvidia-222", NULL },
};

static void run(const struct row *row)
{
	struct config config;
	struct vgpu_request req = { .kind = row->kind, .id = B };
	const struct request nothing = { .nvgpus = 0 };
	autosurvey struct world survey = { .host = &tree.host, .store = &store, .config = &config, .asked = &nothing };
	struct migration_facts facts;
	char got[512] = "";

	config_of_words(&config, row->config);
	text_copy(req.facts.type, sizeof(req.facts.type), row->type);
	if (survey_start(&survey, &err) < 0 || survey_read(&survey, &err) < 0)
		tree_fail(err.text);
	ok(migration_facts_predict(&facts, &survey, &req) == (row->facts != NULL), "%s", row->says);
	snprintf(got, sizeof(got), "%s|%s|%s|%s", facts.type, facts.name, facts.framework, facts.model);
	is(got, row->facts ? row->facts : "|||", row->says);
	config_free(&config);
}

static void predictions(void)
{
	for (ROWS(row, rows))
		run(row);
}

HOST_TESTS(two_models, predictions)
