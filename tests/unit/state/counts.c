/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counts of the hook: no call is lost between processes that count at once; what cannot be counted is not. */
#include <sys/wait.h>

#include "lib/tree.h"
#include "state/history.h"

enum { PROCESSES = 8, CALLS = 500 };

static struct tree tree;

static uint64_t sum(const struct count *count)
{
	uint64_t n = 0;

	for (size_t i = 0; i <= COUNT_BUCKETS; i++)
		n += count->buckets[i];
	return n;
}

static void test_buckets(void)
{
	struct counts counts;

	counts_add(&tree.host, COUNT_PREPARE, 5, REFUSAL_NONE);
	counts_add(&tree.host, COUNT_PREPARE, 6, REFUSAL_CAPACITY);
	counts_add(&tree.host, COUNT_RELEASE, 30001, REFUSAL_NONE);
	ok(counts_read(&tree.host, &counts), "what is counted can be read");
	ok(counts.ops[COUNT_PREPARE].buckets[0] == 1, "a call is in the bucket whose bound it reaches");
	ok(counts.ops[COUNT_PREPARE].buckets[1] == 1, "a longer one in the next");
	ok(counts.ops[COUNT_PREPARE].sum_ms == 11, "their time is summed up");
	ok(counts.ops[COUNT_RELEASE].buckets[COUNT_BUCKETS] == 1, "the longest are behind all bounds");
	ok(counts.refusals[REFUSAL_CAPACITY] == 1, "a refusal is counted by its reason");
	ok(counts.refusals[REFUSAL_ERROR] == 0, "and by no other");
	ok(sum(&counts.ops[COUNT_MIGRATE]) == 0, "what was not called is zero");
}

static void test_parallel(void)
{
	struct counts counts;

	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0) {
			for (int n = 0; n < CALLS; n++)
				counts_add(&tree.host, COUNT_MIGRATE, 7, REFUSAL_TIMEOUT);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	ok(counts_read(&tree.host, &counts), "processes count at once");
	ok(sum(&counts.ops[COUNT_MIGRATE]) == PROCESSES * CALLS, "no call is lost");
	ok(counts.ops[COUNT_MIGRATE].sum_ms == (uint64_t)7 * PROCESSES * CALLS, "nor its time");
	ok(counts.refusals[REFUSAL_TIMEOUT] == PROCESSES * CALLS, "nor its refusal");
}

static void test_reasons(void)
{
	static const struct {
		enum err_about about;
		int code;
		const char *word, *sentence;
	} rows[] = {
		{ ERR_ANY, ENOSPC, "capacity", "no capacity is a reason" },
		{ ERR_ANY, EDQUOT, "quota", "so is a quota" },
		{ ERR_ANY, EPERM, "request", "what cannot be had here is the request's" },
		{ ERR_ANY, EINVAL, "request", "so is a malformed one" },
		{ ERR_ANY, E2BIG, "request", "and one that is too large" },
		{ ERR_ANY, ETIMEDOUT, "timeout", "what takes too long is a timeout" },
		{ ERR_ANY, EBUSY, "timeout", "and what is held for too long" },
		{ ERR_ANY, ECANCELED, "timeout", "and that for which no time is left" },
		{ ERR_ANY, ESTALE, "canceled", "a domain that was released meanwhile waited for nothing" },
		{ ERR_STATE, ENOSPC, "state", "a full /run is not a full card" },
		{ ERR_STATE, EDQUOT, "state", "nor a project's quota" },
		{ ERR_STATE, EPERM, "state", "a state that is not trusted is not the request's" },
		{ ERR_CONFIG, ENOENT, "config", "nor is a missing configuration" },
		{ ERR_CONFIG, EINVAL, "config", "a wrong one is a reason" },
		{ ERR_ANY, EIO, "error", "all else is an error" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct err err = { .about = rows[i].about, .code = rows[i].code };

		is(refusal_words[refusal_of(&err)], rows[i].word, rows[i].sentence);
	}
}

int main(void)
{
	struct counts counts;

	tree_begin(&tree, "etc/\n");
	counts_add(&tree.host, COUNT_PREPARE, 5, REFUSAL_NONE);
	ok(!counts_read(&tree.host, &counts) && sum(&counts.ops[COUNT_PREPARE]) == 0,
	   "without a store nothing is counted");
	tree_add(&tree, "run/vgpu-lease/\n");
	ok(!counts_read(&tree.host, &counts), "nor is there anything to read at first");
	test_buckets();
	test_parallel();
	test_reasons();
	tree_add(&tree, "run/vgpu-lease/counts-3 = short");
	ok(!counts_read(&tree.host, &counts) && counts.refusals[REFUSAL_CAPACITY] == 0,
	   "a file that is too short is not read");
	tree_remove(&tree, "run/vgpu-lease/counts-3");
	tree_add(&tree, "run/vgpu-lease/counts-3 -> /dev/null\n");
	counts_add(&tree.host, COUNT_PREPARE, 5, REFUSAL_NONE);
	ok(!counts_read(&tree.host, &counts), "a link is not followed");
	tree_end(&tree);
	return tap_done();
}
