/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The program's own code, on a host that is made up, with everybody at once: see processes.h, driver.h, world.h.
 *
 *     simulation [--steps N] [--seed S]     histories of fresh seeds from S on, N points in all; before them, those of
 *                                           the file `seeds`
 *     simulation --history SEED [--tell]    one, with what everybody does
 *
 * Each history is a process with a seed of its own. A seed shows the same as long as the program makes the same calls.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "lib/source.h"
#include "model/simulation/world.h"

enum { STEPS = 200000, QUICK = 50000, LENGTH = 12000, LAST_STEPS = 400000 };

static long *used; /* points of the last history, from its process */

static bool never(void)
{
	static int n;

	if (++n % 16 == 0)
		rules_always();
	return false;
}

static bool nobody_left(void)
{
	return process_first() == NULL;
}

static void run_to_the_end(void)
{
	if (!run_until(nobody_left, LAST_STEPS))
		broken("%s never ends", process_first()->what);
}

static void choose_profile(void)
{
	static const int paces[] = { 5, 50, 500, 5000 };
	int how = pick(4);

	profile = (struct profile){ .kill = how & 1 ? 100 + pick(2000) : 0,
				    .swap = 1 + pick(12),
				    .slow = 2 + pick(40),
				    .fails = how & 2,
				    .pace = paces[pick(4)],
				    .restarts = pick(2),
				    .handler = pick(2),
				    .nova = pick(3) };
}

/* Everybody's work comes to its end, and what hung goes on; then one pass has to find all that is left. */
static void end_history(void)
{
	enum { HOURS_US = 4 };

	world_now.over = true;
	profile.kill = 0;
	driver_settle();
	run_to_the_end();
	now_us += HOURS_US * 3600L * 1000000;
	process_start("the last pass", profile.handler ? pass_of_handler : gc_pass, NULL);
	run_to_the_end();
	rules_finish();
}

static void run_history(unsigned seed, int domains)
{
	world_start(seed);
	if (at_quick_exit(world_end) != 0)
		abort();
	choose_profile();
	say("seed %u: kill %d, swap %d, slow %d, pace %d%s%s%s", seed, profile.kill, profile.swap, profile.slow,
	    profile.pace, profile.fails ? ", drivers fail" : "", profile.handler ? ", a handler" : "",
	    profile.nova ? ", nova" : "");
	for (int i = 0; i < domains; i++)
		process_start(world_now.domains[i].name, guest_life, &world_now.domains[i]);
	if (profile.handler)
		process_start("systemd", handler_service, NULL);
	if (pick(2))
		process_start("operator", gc_now_and_then, NULL);
	if (profile.nova)
		process_start("nova", nova, NULL);
	if (once_in(3))
		process_start("sriov-manage", sriov_manage, NULL);
	run_until(never, LENGTH / 2 + pick(LENGTH));
	end_history();
}

/* In a process of its own: true if no rule was broken. */
static bool history(unsigned seed)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		run_history(seed, DOMAINS);
		*used = steps;
		fflush(stdout);
		quick_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("# seed %u: signal %d\n", seed, WTERMSIG(status));
	return status == 0;
}

static void kept_seeds(void)
{
	autofree char *text = source_text("tests/model/simulation/seeds");
	int n = 0, bad = 0;

	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		if (*line && *line != '#') {
			bad += !history((unsigned)strtoul(line, NULL, 10));
			n++;
		}
	ok(bad == 0, "%d seeds that were once found break no rule", n);
}

int main(int argc, char **argv)
{
	unsigned seed = (unsigned)time(NULL), only = 0;
	long n = getenv("QUICK") ? QUICK : STEPS, done = 0;
	int histories = 0;
	bool good = true;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--steps") == 0 && argv[i + 1])
			n = atol(argv[++i]);
		else if (strcmp(argv[i], "--seed") == 0 && argv[i + 1])
			seed = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--history") == 0 && argv[i + 1])
			only = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--tell") == 0)
			tell = argv[i];
		else
			return 2;
	}
	used = mmap(NULL, sizeof(*used), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (only)
		return !history(only);
	printf("# seed %u, %ld steps\n", seed, n);
	kept_seeds();
	for (; good && done < n; histories++, seed++) {
		*used = 0;
		good = history(seed);
		done += *used;
	}
	ok(good, "%ld steps in %d histories break no rule%s", done, histories, good ? "" : "; add to the file seeds:");
	if (!good)
		printf("# %u\n", seed - 1);
	return tap_done();
}
