/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any text as a configuration: understood or refused, never half. First byte N: as nova.conf; A: with all mistakes. */
#include "fuzz/fuzz.h"

#include "lib/config_text.h"

/* What a good configuration promises to those who use it. */
static void check(const struct config *config)
{
	for (size_t i = 0; i < config->nsections; i++) {
		const struct section *s = &config->sections[i];
		char type[TYPE_SIZE], parent[PARENT_SIZE];

		MUST(!s->vf || s->naddresses || s->nmatches);
		MUST(type_parse(type, s->type) && config_section(config, s->type) == s && class_is_valid(s->class));
		MUST(s->max_instances >= 1 || s->max_instances == NO_LIMIT);
		for (size_t k = 0; k < s->naddresses; k++)
			MUST(parent_parse(parent, s->addresses[k].text) && strcmp(parent, s->addresses[k].text) == 0);
		for (size_t k = 0; k < s->nmatches; k++)
			MUST(s->matches[k].vendor[0] || s->matches[k].device[0] || s->matches[k].numa >= 0);
	}
}

/* As a nova.conf; or as ours, with each mistake in place of the first. */
static void read_file(bool nova, const char *data, size_t len)
{
	autofree char *text = memcpy(mem_new(len + 1, 1), data, len);
	struct config config;
	struct draft draft = { .config = &config };
	struct err err = { 0 };

	config_default(&config);
	config_ini_read(&draft, "fuzz", nova, text, len);
	if (config_draft_finish(&draft, &err) == 0)
		check(&config);
	for (size_t i = 0; i < draft.mistakes.n; i++)
		MUST(draft.mistakes.list[i].where < strlen(draft.mistakes.list[i].text));
	config_draft_free(&draft);
	config_free(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct config config;
	struct err err = { 0 };

	if (size && (*text == 'N' || *text == 'A')) {
		read_file(*text == 'N', text + 1, size - 1);
	} else if (config_of_text(&config, "fuzz", text, size, &err) == 0) {
		check(&config);
		config_free(&config);
	} else {
		MUST(err.code && err.text[0] && !config.nsections && !config.nfiles);
	}
	return 0;
}
