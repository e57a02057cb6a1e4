/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any text as a lease: refused, or read so that it is written and read again as the same. */
#include "fuzz/fuzz.h"

#include "state/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autofree char *text = mem_strndup((const char *)data, size);
	char again[8192], third[8192];
	struct lease lease, back;
	int n;

	if (lease_parse(&lease, text) == 0) {
		n = lease_format(&lease, again, sizeof(again));
		MUST(n > 0);
		again[n - 1] = '\0';
		MUST(lease_parse(&back, again) == 0 && lease_format(&back, third, sizeof(third)) == n);
		third[n - 1] = '\0';
		MUST(strcmp(again, third) == 0);
	}
	return 0;
}
