/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints for each host directory of standard input the pool of its configuration, for tests/model/nova/compare.sh. */
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_addresses(const struct config *config)
{
	char *lines[4096] = { 0 };
	size_t n = 0;

	for (size_t k = 0; k < config->nsections; k++) {
		const struct section *s = &config->sections[k];

		for (size_t i = 0; i < s->naddresses; i++)
			if (asprintf(&lines[n++], " %s=%s/%s", s->addresses[i].text, s->type, s->class) < 0)
				abort();
	}
	qsort(lines, n, sizeof(*lines), by_text);
	for (size_t i = 0; i < n; i++) {
		fputs(lines[i], stdout);
		free(lines[i]);
	}
}

static void print_pool(const struct config *config)
{
	const struct section *rest = NULL;

	for (size_t i = config->nsections; i-- > 0;)
		if (config_takes_rest(&config->sections[i]))
			rest = &config->sections[i];
	printf("rest=%s/%s", rest ? rest->type : "", rest ? rest->class : "");
	print_addresses(config);
	for (size_t i = 0; i < config->nsections; i++) {
		const struct section *s = &config->sections[i];

		if (s->max_instances != NO_LIMIT && (s == rest || s->naddresses))
			printf(" max(%s)=%d", s->type, s->max_instances);
	}
	putchar('\n');
}

int main(void)
{
	char path[4096];

	while (fgets(path, sizeof(path), stdin)) {
		struct host host = { .root = -1 };
		struct config config;
		struct err err;

		path[strcspn(path, "\n")] = '\0';
		if (host_open(&host, path, &err) < 0) {
			err_print(stderr, "pools", &err);
			return 1;
		}
		if (config_load(&config, &host, NULL, NULL, &err) < 0) {
			err_print(stdout, "refused", &err);
		} else {
			print_pool(&config);
			config_free(&config);
		}
		host_close(&host);
	}
	return 0;
}
