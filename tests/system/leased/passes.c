/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * passes ROOT URI N: N passes of the device handler, one after the other; prints what they took:
 *
 *     pass MS        for each
 *     rss KIB KIB    after a tenth of the passes, and after all of them
 *     peak KIB
 */
#include <string.h>
#include <time.h>

#include "handler/handler.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long status_kib(const char *key)
{
	char line[256];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			kib = strtol(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

static void run(struct handler *handler, int n)
{
	long early = 0;

	for (int i = 0; i < n; i++) {
		double start = now_ms();

		handler_pass(handler);
		printf("pass %.1f\n", now_ms() - start);
		if (i == n / 10)
			early = status_kib("VmRSS:");
	}
	printf("rss %ld %ld\npeak %ld\n", early, status_kib("VmRSS:"), status_kib("VmHWM:"));
}

int main(int argc, char **argv)
{
	struct handler handler;
	struct err err;

	if (argc != 4 || handler_open(&handler, argv[1], NULL, &err) < 0) {
		fprintf(stderr, "passes: %s\n", argc == 4 ? err.text : "ROOT URI N");
		return 1;
	}
	handler.last.guests.asks = true;
	handler.last.guests.uri = argv[2];
	run(&handler, atoi(argv[3]));
	handler_close(&handler);
	return 0;
}
