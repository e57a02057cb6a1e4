/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The keys of [policy] and [quota]. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { QUOTAS_MAX = 4096, LIMIT_MAX = 65535, DAY = 86400 };

static int set_reuse(const struct setting *t, char *value)
{
	t->draft->reuse_given = true;
	return config_set_word(t, value);
}

/* In "project:ID = N" the ':' separates key and value, so the value is "ID = N". */
static int set_project(const struct setting *t, char *value)
{
	struct config *config = t->draft->config;
	char *limit = strchr(value, '='), id[PROJECT_SIZE], *name;
	struct quota *q = NULL;

	if (!limit)
		return config_err(&t->at, t->err, "expected project:ID = NUMBER, or unlimited");
	*limit++ = '\0';
	name = text_strip(value);
	if (!*name || strpbrk(name, " :") || !text_copy(id, sizeof(id), name))
		return config_err(&t->at, t->err,
				  "invalid project ID '%.80s': expected one word of at most %d characters", name,
				  PROJECT_SIZE - 1);
	for (size_t i = 0; i < config->nquotas && !q; i++)
		if (strcmp(config->quotas[i].project, id) == 0)
			q = &config->quotas[i];
	if (q && q->at.file == t->at.file)
		return config_err(&t->at, t->err, "duplicates project (line %d)", q->at.line);
	if (!q && config->nquotas == QUOTAS_MAX)
		return config_err(&t->at, t->err, "more than %d projects", QUOTAS_MAX);
	if (!q)
		q = mem_add(&config->quotas, &config->nquotas, sizeof(*q));
	text_copy(q->project, PROJECT_SIZE, id);
	q->at = t->at;
	return config_number(t, text_strip(limit), &q->limit);
}

#define NUMBER(field, from, to)                                                                                        \
	.set = config_set_number, .offset = offsetof(struct config, field), .min = (from), .max = (to)
#define WORDS(field, ...)                                                                                              \
	.set = config_set_word, .offset = offsetof(struct config, field), .words = (const struct word[])               \
	{                                                                                                              \
		__VA_ARGS__, { 0 }                                                                                     \
	}
#define FLAG(field, no, yes, ...) WORDS(field, WORD(no, false), WORD(yes, true), ##__VA_ARGS__), .flag = true
#define WORD(name, means) { .word = (name), .value = (means) }
#define OLD(name, now) { .word = (name), .instead = (now) }

/* The maximum values limit how long a hook waits, because libvirt has no timeout for hooks. */
const struct key config_policy_keys[] = {
	{ .name = "placement",
	  WORDS(policy.placement, WORD("pack", PLACE_PACK), WORD("spread", PLACE_SPREAD), OLD("depth_first", "pack"),
		OLD("breadth_first", "spread"), OLD("compact", "pack"), OLD("separate", "spread"),
		OLD("consolidation", "pack"), OLD("performance", "spread")) },
	{ .name = "migrate_uuid", FLAG(policy.migrate_keep, "auto", "keep", OLD("fresh", "auto or keep")) },
	{ .name = "reuse",
	  .set = set_reuse,
	  .offset = offsetof(struct config, policy.reuse_free),
	  .words = (const struct word[]){ WORD("never", false), WORD("free", true), { 0 } },
	  .flag = true },
	{ .name = "reclaim", FLAG(policy.reclaim_orphans, "never", "orphans") },
	{ .name = "reclaim_grace", NUMBER(policy.reclaim_grace_s, 0, CONFIG_GRACE_MAX_S) },
	{ .name = "reserve_ttl", NUMBER(policy.reserve_ttl_s, 1, DAY) },
	{ .name = "create_timeout", NUMBER(policy.create_timeout_s, 1, 600) },
	{ .name = "start_grace", NUMBER(policy.start_grace_s, 1, DAY) },
	{ .name = "release_wait", NUMBER(policy.release_wait_s, 0, 60) },
	{ .name = "release_timeout", NUMBER(policy.release_timeout_s, 1, 3600) },
	{ .name = "driver_cleanup", NUMBER(policy.driver_cleanup_s, 0, 600) },
	{ .name = "lock_timeout", NUMBER(policy.lock_timeout_s, 1, 600) },
	{ .name = "driver_mismatch", FLAG(policy.mismatch_warns, "refuse", "warn") },
	{ .name = "cross_framework", FLAG(policy.cross_framework, "no", "yes") },
	{ .name = "pgpu_types", FLAG(policy.several_types, "one", "several") },
	{ .name = "metrics", FLAG(policy.metrics, "no", "yes") },
	{ 0 },
};

_Static_assert(ARRAY_SIZE(config_policy_keys) <= KEYS_MAX + 1, "a section has more keys than a reader can tell apart");

const struct key config_quota_keys[] = {
	{ .name = "default", NUMBER(quota_default, 0, LIMIT_MAX), .unlimited = true },
	{ .name = "project", .set = set_project, .many = true, .min = 0, .max = LIMIT_MAX, .unlimited = true },
	{ .name = "none", NUMBER(quota_none, 0, LIMIT_MAX), .unlimited = true },
	{ 0 },
};
