/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration from a text in memory. No nova.conf is read. */
#pragma once

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "config/internal.h"

/* config_load() of the text; messages call it `name`. */
static inline int config_of_text(struct config *config, const char *name, const char *text, size_t len, struct err *err)
{
	struct draft draft = { .config = config };
	autofree char *copy = memcpy(mem_new(len + 1, 1), text, len);
	int r;

	config_default(config);
	config_ini_read(&draft, name, false, copy, len);
	r = config_draft_finish(&draft, err);
	config_draft_free(&draft);
	if (r < 0) {
		config_free(config);
		config_default(config);
	}
	return r;
}

/* A good one in the words of tests/lib/configure.sh: "TYPE vf_NAME@ADDRESS,ADDRESS TYPE@MATCH". */
static inline void config_of_words(struct config *config, const char *words)
{
	char copy[512], types[512] = "", sections[1024] = "", text[2048];
	struct err err = { 0 };

	snprintf(copy, sizeof(copy), "%s", words);
	for (char *rest = copy, *word; (word = text_next(&rest, " "));) {
		bool vf = strncmp(word, "vf_", 3) == 0;
		char *where = word;

		word = strsep(&where, "@");
		if (!vf)
			text_add(types, sizeof(types), "%s%s", *types ? ", " : "", word);
		if (where)
			text_add(sections, sizeof(sections), "[%s%s]\n%s = %s\n", vf ? "" : "mdev_", word,
				 strchr(where, ':') && !strchr(where, '.') ? "device_match" : "device_addresses",
				 where);
	}
	snprintf(text, sizeof(text), "%s%s\n%s", *types ? "[devices]\nenabled_mdev_types = " : "", types, sections);
	if (config_of_text(config, "test.conf", text, strlen(text), &err) == 0)
		return;
	printf("Bail out! %s\n", err.text);
	exit(1);
}

/* Are two policies the same? By member: padding has no value. */
static inline bool same_policy(const struct policy *a, const struct policy *b)
{
#define SAME(member) (a->member == b->member)
	return SAME(placement) && SAME(migrate_keep) && SAME(reuse_free) && SAME(reclaim_orphans) && SAME(nova) &&
	       SAME(mismatch_warns) && SAME(cross_framework) && SAME(metrics) && SAME(several_types) &&
	       SAME(reclaim_grace_s) && SAME(reserve_ttl_s) && SAME(create_timeout_s) && SAME(start_grace_s) &&
	       SAME(release_wait_s) && SAME(release_timeout_s) && SAME(driver_cleanup_s) && SAME(lock_timeout_s);
#undef SAME
}
