/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * passes ROOT URI N: N passes of the device handler, one after the other; prints what they took:
 *
 *     look MS pass MS   medians: asking libvirt; bringing together, and writing to libvirt
 *     rss KIB KIB                  after a tenth of the passes, and after all of them
 *     peak KIB
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/guests.h"
#include "daemon/device_handler.h"
#include "virt/virt.h"

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

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), by_value);
	return values[n / 2];
}

static void no_news(void *arg)
{
	(void)arg;
}

static void no_more(void *arg)
{
	*(bool *)arg = true;
}

/* The events of what was written. */
static void settle(void)
{
	static bool done;
	static int timer = -1;
	struct err err;

	if (timer < 0)
		timer = virt_loop_timer(-1, no_more, &done, &err);
	done = false;
	virt_loop_set_timer(timer, 0);
	while (!done && virt_loop_step(&err) == 0)
		;
	virt_loop_set_timer(timer, -1);
}

static void run(struct handler *handler, struct guests *guests, int n)
{
	double *look = calloc((size_t)n, sizeof(double)), *pass = calloc((size_t)n, sizeof(double));
	long early = 0;

	for (int i = 0; look && pass && i < n; i++) {
		struct running running = {
			.libvirt = "", .looked_ms = sys_now_ms(), .told = guests_tell, .arg = guests
		};
		double start = now_ms();

		guests_connect(guests);
		guests_look(guests, &running.domains, &running.n);
		look[i] = now_ms() - start;
		start = now_ms();
		handler_pass(handler, &running);
		pass[i] = now_ms() - start;
		settle();
		if (i == n / 10)
			early = status_kib("VmRSS:");
	}
	printf("look %.1f pass %.1f\n", median(look, n), median(pass, n));
	printf("rss %ld %ld\npeak %ld\n", early, status_kib("VmRSS:"), status_kib("VmHWM:"));
	free(look);
	free(pass);
}

int main(int argc, char **argv)
{
	struct handler handler;
	struct guests *guests;
	struct err err;

	if (argc != 4 || virt_loop_init(&err) < 0 || handler_open(&handler, argv[1], NULL, &err) < 0) {
		fprintf(stderr, "passes: %s\n", argc == 4 ? err.text : "ROOT URI N");
		return 1;
	}
	guests = guests_new(argv[2], no_news, NULL);
	run(&handler, guests, atoi(argv[3]));
	guests_free(guests);
	handler_close(&handler);
	return 0;
}
