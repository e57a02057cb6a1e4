/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses sets of small numbers in the notation "0-3,8,^2". */
#include "base/cpuset.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/mem.h"

static const char *skip_space(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

static bool read_number(const char **s, unsigned long *out)
{
	char *end;

	if (!isdigit((unsigned char)**s))
		return false;
	errno = 0;
	*out = strtoul(*s, &end, 10);
	*s = end;
	return errno == 0;
}

/* Reads one item, "5", "0-3" or "^2", and applies it to the set. */
static bool read_item(const char **s, uint64_t *bits, size_t nbits)
{
	bool without = **s == '^';
	unsigned long first, last;

	if (without)
		++*s;
	if (!read_number(s, &first))
		return false;
	last = first;
	*s = skip_space(*s);
	if (**s == '-' && !without) {
		*s = skip_space(*s + 1);
		if (!read_number(s, &last) || last < first)
			return false;
		*s = skip_space(*s);
	}
	for (unsigned long n = first; n <= last && n < nbits; n++) {
		if (without)
			bits[n / 64] &= ~(UINT64_C(1) << (n % 64));
		else
			bits[n / 64] |= UINT64_C(1) << (n % 64);
	}
	return true;
}

bool cpuset_parse(const char *list, uint64_t *bits, size_t nbits)
{
	/* A set for this list alone, so that "^5" removes only what the list added. */
	autofree uint64_t *own = mem_new(nbits / 64, sizeof(*own));
	const char *s = skip_space(list);

	while (*s) {
		if (!read_item(&s, own, nbits))
			return false;
		if (*s == ',')
			s = skip_space(s + 1);
		else if (*s)
			return false;
	}
	for (size_t i = 0; i < nbits / 64; i++)
		bits[i] |= own[i];
	return true;
}
