/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of the source tree. */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The text of a file, which the caller frees. Ends the test where there is none. */
__attribute__((format(printf, 1, 2))) static inline char *source_text(const char *fmt, ...)
{
	char name[256], path[4096], *text = NULL;
	size_t size = 0;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/%s", getenv("srcdir"), name);
	f = fopen(path, "r");
	if (!f || getdelim(&text, &size, '\0', f) < 0) {
		printf("Bail out! %s cannot be read\n", path);
		exit(1);
	}
	fclose(f);
	return text;
}
