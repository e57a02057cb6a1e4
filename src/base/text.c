/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text that came from outside, made fit to be shown, and text taken apart. */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t text_char_len(const char *at)
{
	const unsigned char *s = (const unsigned char *)at;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		return (s[1] & 0xc0) == 0x80 && !(s[0] == 0xc2 && s[1] < 0xa0) ? 2 : 0;
	if ((s[0] & 0xf0) == 0xe0) {
		if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80)
			return 0;
		return (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ? 0 : 3;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80 || (s[3] & 0xc0) != 0x80)
			return 0;
		return (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f) ? 0 : 4;
	}
	return 0;
}

static size_t make_safe(char *dst, size_t size, const char *src, bool ascii)
{
	size_t n = 0;

	if (size == 0)
		return 0;
	for (const char *s = src; *s;) {
		size_t len = text_char_len(s);
		char hex[5];

		if (len == 0 || (ascii && len > 1) || (len == 1 && iscntrl((unsigned char)*s))) {
			snprintf(hex, sizeof(hex), "\\x%02x", (unsigned char)*s);
			if (n + 4 >= size)
				break;
			memcpy(dst + n, hex, 4);
			n += 4;
			s++;
			continue;
		}
		if (n + len >= size)
			break;
		memcpy(dst + n, s, len);
		n += len;
		s += len;
	}
	dst[n] = '\0';
	return n;
}

size_t text_safe(char *dst, size_t size, const char *src)
{
	return make_safe(dst, size, src, false);
}

size_t text_safe_ascii(char *dst, size_t size, const char *src)
{
	return make_safe(dst, size, src, true);
}

bool text_copy(char *dst, size_t size, const char *src)
{
	size_t len = strlen(src);

	if (len >= size) {
		dst[0] = '\0';
		return false;
	}
	memcpy(dst, src, len + 1);
	return true;
}

void text_add(char *buf, size_t size, const char *fmt, ...)
{
	size_t n = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + n, size - n, fmt, ap);
	va_end(ap);
}

char *text_strip(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	n = strlen(s);
	while (n > 0 && isspace((unsigned char)s[n - 1]))
		n--;
	s[n] = '\0';
	return s;
}

char *text_next(char **list, const char *seps)
{
	char *item;

	while ((item = strsep(list, seps))) {
		item = text_strip(item);
		if (*item)
			return item;
	}
	return NULL;
}

bool text_number(const char *s, long min, long max, long *out)
{
	char *end;
	long n;

	if (!isdigit((unsigned char)(s[0] == '-' ? s[1] : s[0])))
		return false;
	errno = 0;
	n = strtol(s, &end, 10);
	if (errno || *end || n < min || n > max)
		return false;
	*out = n;
	return true;
}

enum { GUESS_MAX = 32 };

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

/* The distance of Damerau and Levenshtein, in its restricted form; both have at most GUESS_MAX bytes. */
static int distance(const char *a, size_t alen, const char *b, size_t blen)
{
	int cost[GUESS_MAX + 1][GUESS_MAX + 1];

	for (size_t i = 0; i <= alen; i++)
		cost[i][0] = (int)i;
	for (size_t j = 0; j <= blen; j++)
		cost[0][j] = (int)j;
	for (size_t i = 1; i <= alen; i++)
		for (size_t j = 1; j <= blen; j++) {
			int same = a[i - 1] == b[j - 1] ? 0 : 1;

			cost[i][j] = smaller(smaller(cost[i - 1][j], cost[i][j - 1]) + 1, cost[i - 1][j - 1] + same);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost[i][j] = smaller(cost[i][j], cost[i - 2][j - 2] + 1);
		}
	return cost[alen][blen];
}

void text_guess(struct text_guess *guess, const char *candidate)
{
	size_t len = strlen(guess->word), other = strlen(candidate);
	int n;

	if (len > GUESS_MAX || other > GUESS_MAX)
		return;
	n = distance(guess->word, len, candidate, other);
	/* What is further away is another word. */
	if (n > (guess->most ? guess->most : (int)(len + 1) / 3) || (guess->best && n >= guess->distance))
		return;
	guess->best = candidate;
	guess->distance = n;
}
