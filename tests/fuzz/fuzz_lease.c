/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any text as a lease: refused, or read so that it is written and read again as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "state/store.h"
#include "lib/stand_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), again[8192], third[8192];
	struct lease lease, back;
	int n;

	if (lease_parse(&lease, text) == 0) {
		n = lease_format(&lease, again, sizeof(again));
		if (n <= 0)
			abort();
		again[n - 1] = '\0';
		if (lease_parse(&back, again) < 0 || lease_format(&back, third, sizeof(third)) != n)
			abort();
		third[n - 1] = '\0';
		if (strcmp(again, third) != 0)
			abort();
	}
	free(text);
	return 0;
}
