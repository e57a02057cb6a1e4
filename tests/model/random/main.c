/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random operations on a host, one after the other, held against what must always be true: no vGPU has two domains,
 * no card carries more than it may, nothing of others is removed but by the rules, nothing open is touched, and in
 * the end nothing of ours is left.
 *
 *     random [OPERATIONS [SEED [SHOWN]]]     100000 of them with MUST_WORK=1, as in CI, else (and with the sanitizers)
 *                                            20000, with QUICK=1 2000; seed 1
 *
 * The flows, the plan, the lease store, and all that reads sysfs and XML are the program's own; the kernel is
 * tests/fake. What breaks a rule is shown with the SHOWN operations before it.
 */
#include "model/random/world.h"
#include "lib/tap.h"

#ifdef __SANITIZE_ADDRESS__
enum { IN_CI = 20000 }; /* four times as slow, and the same operations as in the other build */
#else
enum { IN_CI = 100000 };
#endif
enum { HERE = 20000, QUICK = 2000, EVERY = 16, LINE_SIZE = 400 };

static char (*history)[LINE_SIZE];
static long shown;

static void show_history(long done)
{
	for (long i = done > shown ? done - shown : 0; i < done; i++)
		printf("# %ld: %s\n", i, history[i % shown]);
}

int main(int argc, char **argv)
{
	static long done;
	long operations = argc > 1 ? atol(argv[1]) : getenv("QUICK") ? QUICK : getenv("MUST_WORK") ? IN_CI : HERE;
	unsigned int seed = argc > 2 ? (unsigned int)atol(argv[2]) : 1;

	shown = argc > 3 ? atol(argv[3]) : 40;
	history = calloc((size_t)shown, LINE_SIZE);
	if (!history)
		abort();
	printf("# seed %u, %ld operations\n", seed, operations);
	fflush(stdout);
	world_start(seed);
	if (setjmp(fake_escape))
		done++;
	while (done < operations && !*fake->broken) {
		operate(history[done % shown], LINE_SIZE);
		if (++done % EVERY == 0)
			rules_always();
	}
	if (!ok(!*fake->broken, "%ld operations break no rule: %s", done, *fake->broken ? fake->broken : "none broken"))
		show_history(done);
	if (!*fake->broken) {
		operate_finish();
		rules_finish();
		ok(!*fake->broken, "in the end nothing is left: %s",
		   *fake->broken ? fake->broken : "no lease, no vGPU of ours");
	}
	operations_print();
	handler_end();
	world_end();
	free(history);
	return tap_done();
}
