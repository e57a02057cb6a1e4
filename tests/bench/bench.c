/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Times commands beside each other: bench ROUNDS <CASES. A case is a line of fields between tabs:
 *
 *     label  file for standard input  shell command to run before, untimed ("" none)  program  argument...
 *
 * In each round every case runs three times and its best counts, so that what else the machine does falls on all of
 * them; printed are the medians of the rounds, their ratio to the first case, and the largest resident set. Nothing
 * fails on a time: machines are noisy.
 *
 * bench --driver PIPE LINK TARGET is the driver of a host of plain files, where one pipe stands for a type's `create`
 * and for the device's `remove`: the device's link appears when a UUID is written to it, and goes when a number is.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 3, CASES_MAX = 16, ARGS_MAX = 24, LINE_MAX_LEN = 4096 };

struct command {
	char line[LINE_MAX_LEN];
	char *label, *input, *before;
	char *argv[ARGS_MAX + 1];
	double *ms;
	long peak_kib;
};

extern char **environ;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int read_case(struct command *c)
{
	char *rest = c->line;
	int n = 0;

	if (!fgets(c->line, sizeof(c->line), stdin))
		return 0;
	c->line[strcspn(c->line, "\n")] = '\0';
	c->label = strsep(&rest, "\t");
	c->input = strsep(&rest, "\t");
	c->before = strsep(&rest, "\t");
	while (rest && n < ARGS_MAX)
		c->argv[n++] = strsep(&rest, "\t");
	if (n == 0) {
		fprintf(stderr, "bench: %s: no program\n", c->label);
		exit(2);
	}
	return 1;
}

static double run(struct command *c)
{
	posix_spawn_file_actions_t actions;
	struct rusage usage;
	double start, took;
	pid_t pid;
	int r, status;

	if (*c->before && system(c->before) != 0) {
		fprintf(stderr, "bench: %s: '%s' failed\n", c->label, c->before);
		exit(1);
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, c->input, O_RDONLY, 0);
	start = now_ms();
	r = posix_spawn(&pid, c->argv[0], &actions, NULL, c->argv, environ);
	if (r != 0 || wait4(pid, &status, 0, &usage) < 0 || status != 0) {
		fprintf(stderr, "bench: %s: %s\n", c->label, r ? strerror(r) : "it did not end with 0");
		exit(1);
	}
	took = now_ms() - start;
	if (usage.ru_maxrss > c->peak_kib)
		c->peak_kib = usage.ru_maxrss;
	posix_spawn_file_actions_destroy(&actions);
	return took;
}

static double best(struct command *c)
{
	double took = run(c);

	for (int i = 1; i < TRIES; i++) {
		double again = run(c);

		if (again < took)
			took = again;
	}
	return took;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int driver(const char *pipe, const char *link, const char *target)
{
	/* Opened to be written, too: nobody who writes has to wait for us, and we see no end. */
	int fd = open(pipe, O_RDWR);
	char line[64];
	ssize_t n;

	while (fd >= 0 && (n = read(fd, line, sizeof(line))) > 0)
		if ((n > 2 ? symlink(target, link) : unlink(link)) < 0)
			perror(link);
	perror(pipe);
	return 1;
}

int main(int argc, char **argv)
{
	static struct command cases[CASES_MAX];
	int rounds = argc > 1 ? atoi(argv[1]) : 0, n = 0;

	if (argc == 5 && strcmp(argv[1], "--driver") == 0)
		return driver(argv[2], argv[3], argv[4]);
	if (rounds < 1) {
		fprintf(stderr, "usage: bench ROUNDS <CASES\n");
		return 2;
	}
	while (n < CASES_MAX && read_case(&cases[n]))
		cases[n++].ms = calloc((size_t)rounds, sizeof(double));
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < n; i++)
			cases[i].ms[round] = best(&cases[i]);
	printf("%-52s %9s %7s %10s\n", "", "median ms", "ratio", "peak KiB");
	for (int i = 0; i < n; i++) {
		qsort(cases[i].ms, (size_t)rounds, sizeof(double), by_value);
		printf("%-52s %9.3f %7.2f %10ld\n", cases[i].label, cases[i].ms[rounds / 2],
		       cases[i].ms[rounds / 2] / cases[0].ms[rounds / 2], cases[i].peak_kib);
	}
	return 0;
}
