/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Metrics: what is counted, and what is left out where it is not known. The check of the pool alone, for which the
 * device handler asks; all else that check finds is in tests/system/cli/check.sh.
 */
#include "ops/metrics.h"

#include "base/mem.h"
#include "lib/cards.h"
#include "lib/small_host.h"
#include "ops/check.h"
#include "survey/survey.h"

#define T4 "0000:84:00.0"
#define ABSENT "0000:99:00.0"

/* A T4 with one vGPU, and mtty, whose driver says nothing of framebuffer, with another. */
static const char host_text[] = "proc/\nrun/\n" CARD_OF(T4, "1eb8") OFFERS(T4, "nvidia-222", "GRID T4-1B", "15")
	FRAMEBUFFER(T4, "nvidia-222", "1024", "16") PARENT("mtty") OFFERS("mtty", "mtty-1", "Single port serial", "23")
		MDEV_ON(T4, "nvidia-222", A) MDEV_ON("mtty", "mtty-1", B);

static struct item t4[] = { { T4, { .line = 1 } }, { ABSENT, { .line = 2 } } },
		   again[] = { { ABSENT, { .line = 1 } }, { "mtty", { .line = 2 } } };
static struct section sections[] = {
	{ .type = "nvidia-222", .addresses = t4, .naddresses = 2, .max_instances = NO_LIMIT },
	{ .type = "mtty-1", .addresses = again, .naddresses = 2, .max_instances = NO_LIMIT },
};
static struct config config = { .sections = sections, .nsections = 2 };

/* The whole text; the caller frees it. */
static char *print(const struct gc *pass)
{
	autosurvey struct world world = { .host = store.host, .store = &store, .config = &config };
	char *text = NULL;
	size_t len;
	FILE *to = mem_open(&text, &len);

	if (survey_see(&world, &err) < 0 || metrics_print(to, &world, pass, true, &err) < 0)
		tree_fail(err.text);
	mem_close(to);
	return text;
}

/* How many lines of the text begin so. */
static int lines(const char *text, const char *start)
{
	int n = 0;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		n += strncmp(line, start, strlen(start)) == 0;
	}
	return n;
}

static void put(const char *id, enum lease_state state, const char *name)
{
	struct lease lease = lease_of(id, "nvidia-222", T4, state, VM);

	text_copy(lease.name, sizeof(lease.name), name);
	put_lease(lease);
}

static void printed(void)
{
	struct gc_item items[] = { { .exists = true, .outcome = GC_GOES },
				   { .exists = true, .outcome = GC_STAYS },
				   { .novas = true, .outcome = GC_GOES },
				   { .leased = true, .exists = true, .outcome = GC_GOES } };
	const struct gc nothing = { .n = 0 }, pass = { .items = items, .n = ARRAY_SIZE(items) };
	autofree char *text = NULL, *leased = NULL;

	text = print(&nothing);
	ok(lines(text, "vgpu_lease_capacity{pgpu=\"" T4 "\",type=\"nvidia-222\"} 16\n") == 1 &&
		   lines(text, "vgpu_lease_in_use{pgpu=\"" T4 "\",type=\"nvidia-222\"} 1\n") == 1 &&
		   lines(text, "vgpu_lease_available{pgpu=\"" T4 "\",type=\"nvidia-222\"} 15\n") == 1,
	   "a pGPU has the capacity of the type that it serves");
	ok(lines(text, "vgpu_lease_framebuffer_used_bytes{pgpu=\"" T4 "\"} 1073741824\n") == 1,
	   "its framebuffer is that of its vGPUs");
	ok(lines(text, "vgpu_lease_framebuffer_used_bytes{pgpu=\"mtty\"}") == 0,
	   "of one whose driver does not say, none is printed");
	ok(lines(text, "vgpu_lease_pgpu_ready{pgpu=\"" T4 "\"} 1\n") == 1, "a card of the pool is ready");
	ok(lines(text, "vgpu_lease_pgpu_ready{pgpu=\"" ABSENT "\"} 0\n") == 1,
	   "one that two sections name and the host does not have is not, and printed once");
	ok(lines(text, "vgpu_lease_oldest_releasing_timestamp_seconds") == 0 &&
		   lines(text, "vgpu_lease_handler_last_pass_timestamp_seconds") == 0,
	   "what has not happened has no time");
	ok(lines(text, "vgpu_lease_orphans 0\n") == 1, "a host without orphans has none");

	put(A, LEASE_RELEASING, "a\"b\\c\nd");
	put(B, LEASE_ACTIVE, "vm");
	leased = print(&pass);
	ok(lines(leased, "vgpu_lease_leases{state=\"releasing\"} 1\n") == 1 &&
		   lines(leased, "vgpu_lease_leases{state=\"active\"} 1\n") == 1 &&
		   lines(leased, "vgpu_lease_leases{state=\"creating\"} 0\n") == 1,
	   "leases are counted by state");
	ok(lines(leased, "vgpu_lease_oldest_releasing_timestamp_seconds") == 1, "one that is releasing has a time");
	ok(lines(leased, "vgpu_lease_orphans 1\n") == 1,
	   "an orphan is a device that goes, no lease and no definition alone");
	ok(strstr(leased, "domain=\"a\\\"b\\\\c") && !strstr(leased, "c\nd"), "a name is one line, and escaped");
}

static void check_of_the_pool(void)
{
	struct check check = { .host = &tree.host, .config = &config, .only_pool = true };
	size_t others = 0;

	check_run(&check);
	for (size_t i = 0; i < check.n; i++)
		others += strcmp(check.findings[i].what, "pgpu") != 0 && strcmp(check.findings[i].what, "type") != 0;
	ok(check.n == 6 && others == 0 && check.npool == 2 && check.ncards == 2,
	   "the handler's check finds pGPUs and types, and nothing else");
	check_free(&check);
}

HOST_TESTS(host_text, check_of_the_pool, printed)
