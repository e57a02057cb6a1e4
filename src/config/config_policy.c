/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The values of [policy] and [quota]. */
#include <errno.h>
#include <string.h>

#include "internal.h"
#include "base/text.h"

enum { QUOTAS_MAX = 4096, LIMIT_MAX = 65535, DAY = 86400, YEAR = 365 * DAY };

static int set_placement(const struct setting *t, char *value)
{
	static const struct word words[] = {
		{ "pack", PLACE_PACK },
		{ "spread", PLACE_SPREAD },
		{ "depth_first", PLACE_PACK },
		{ "breadth_first", PLACE_SPREAD },
		{ "compact", PLACE_PACK },
		{ "separate", PLACE_SPREAD },
		{ "consolidation", PLACE_PACK },
		{ "performance", PLACE_SPREAD },
		{ 0 },
	};
	int n, r = setting_word(t, value, words, &n);

	if (r == 0)
		t->draft->config->policy.placement = (enum placement)n;
	return r;
}

static int set_migrate_uuid(const struct setting *t, char *value)
{
	static const struct word words[] = {
		{ "auto", MIGRATE_AUTO }, { "keep", MIGRATE_KEEP }, { "fresh", MIGRATE_FRESH }, { 0 }
	};
	int n, r = setting_word(t, value, words, &n);

	if (r == 0)
		t->draft->config->policy.migrate_uuid = (enum migrate_uuid)n;
	return r;
}

/* A key with two words: the first is false, the second true. */
static int set_bool(const struct setting *t, char *value, const char *no, const char *yes, bool *to)
{
	const struct word words[] = { { no, 0 }, { yes, 1 }, { 0 } };
	int n, r = setting_word(t, value, words, &n);

	if (r == 0)
		*to = n;
	return r;
}

static int set_reuse(const struct setting *t, char *value)
{
	t->draft->reuse_given = true;
	return set_bool(t, value, "never", "free", &t->draft->config->policy.reuse_free);
}

static int set_reclaim(const struct setting *t, char *value)
{
	return set_bool(t, value, "never", "orphans", &t->draft->config->policy.reclaim_orphans);
}

static int set_mismatch(const struct setting *t, char *value)
{
	return set_bool(t, value, "refuse", "warn", &t->draft->config->policy.mismatch_warns);
}

static int set_cross(const struct setting *t, char *value)
{
	return set_bool(t, value, "no", "yes", &t->draft->config->policy.cross_framework);
}

static int set_pgpu_types(const struct setting *t, char *value)
{
	return set_bool(t, value, "one", "several", &t->draft->config->policy.several_types);
}

static int set_seconds(const struct setting *t, char *value)
{
	return setting_number(t, value, t->key->min, t->key->max,
			      (int *)((char *)&t->draft->config->policy + t->key->offset));
}

static int set_limit(const struct setting *t, char *value, int *to)
{
	long n;

	if (strcmp(value, "unlimited") == 0)
		*to = NO_LIMIT;
	else if (text_number(value, 0, LIMIT_MAX, &n))
		*to = (int)n;
	else
		return spot_err(t->at, t->err, "'%.80s' is neither a whole number from 0 to %d nor unlimited", value,
				LIMIT_MAX);
	return 0;
}

static int set_quota_default(const struct setting *t, char *value)
{
	return set_limit(t, value, &t->draft->config->quota_default);
}

static int set_quota_none(const struct setting *t, char *value)
{
	return set_limit(t, value, &t->draft->config->quota_none);
}

/* "project:ID = N": the : separates, as it does everywhere in such files; so the value is "ID = N". */
static int set_quota_project(const struct setting *t, char *value)
{
	struct config *config = t->draft->config;
	char *limit = strchr(value, '='), id[PROJECT_SIZE], *name;
	struct quota *q = NULL;

	if (!limit)
		return spot_err(t->at, t->err, "a project's line is project:ID = NUMBER, or unlimited");
	*limit++ = '\0';
	name = text_strip(value);
	if (!*name || strpbrk(name, " :") || !text_copy(id, sizeof(id), name))
		return spot_err(t->at, t->err, "'%.80s' is no project's id: one word of at most %d characters", name,
				PROJECT_SIZE - 1);
	for (size_t i = 0; i < config->nquotas && !q; i++)
		if (strcmp(config->quotas[i].project, id) == 0)
			q = &config->quotas[i];
	if (!q && config->nquotas == QUOTAS_MAX)
		return spot_err(t->at, t->err, "more than %d projects", QUOTAS_MAX);
	if (!q) {
		q = list_add(&config->quotas, &config->nquotas, sizeof(*q));
		if (!q)
			return err_sys(t->err, ENOMEM, "%s", t->at->file);
		text_copy(q->project, PROJECT_SIZE, id);
	}
	return set_limit(t, text_strip(limit), &q->limit);
}

#define SECONDS(field, from, to)                                                                                       \
	.set = set_seconds, .offset = offsetof(struct policy, field), .min = (from), .max = (to)

/* Bounds on what a hook may wait: libvirt has no time-out for it. */
const struct key config_policy_keys[] = {
	{ .name = "placement", .set = set_placement },
	{ .name = "migrate_uuid", .set = set_migrate_uuid },
	{ .name = "reuse", .set = set_reuse },
	{ .name = "reclaim", .set = set_reclaim },
	{ .name = "reclaim_grace", SECONDS(reclaim_grace_s, 0, YEAR) },
	{ .name = "reserve_ttl", SECONDS(reserve_ttl_s, 1, DAY) },
	{ .name = "create_timeout", SECONDS(create_timeout_s, 1, 600) },
	{ .name = "start_grace", SECONDS(start_grace_s, 1, DAY) },
	{ .name = "release_wait", SECONDS(release_wait_s, 0, 60) },
	{ .name = "release_timeout", SECONDS(release_timeout_s, 1, 3600) },
	{ .name = "driver_cleanup", SECONDS(driver_cleanup_s, 0, 600) },
	{ .name = "lock_timeout", SECONDS(lock_timeout_s, 1, 600) },
	{ .name = "driver_mismatch", .set = set_mismatch },
	{ .name = "cross_framework", .set = set_cross },
	{ .name = "pgpu_types", .set = set_pgpu_types },
	{ 0 },
};

const struct key config_quota_keys[] = {
	{ .name = "default", .set = set_quota_default },
	{ .name = "project", .set = set_quota_project, .many = true },
	{ .name = "none", .set = set_quota_none },
	{ 0 },
};
