/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes untrusted text printable, and parses text. */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <search.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mem.h"

size_t text_char(const char *at, unsigned *c)
{
	static const struct {
		unsigned char mask, mark; /* of the first byte */
		unsigned least;           /* the smallest code point of this length */
	} forms[] = { [1] = { 0x80, 0, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 } };
	unsigned char first = (unsigned char)*at;
	size_t len = 1;

	while (len < ARRAY_SIZE(forms) && (first & forms[len].mask) != forms[len].mark)
		len++;
	if (len == ARRAY_SIZE(forms))
		return 0;
	*c = first & (unsigned char)~forms[len].mask;
	for (size_t i = 1; i < len; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | ((unsigned char)at[i] & 0x3f);
	}
	return *c < forms[len].least || *c > 0x10ffff || (*c >= 0xd800 && *c <= 0xdfff) ? 0 : len;
}

bool text_char_shows(unsigned c)
{
	/* Unicode's control characters, line separators, format characters, and default ignorable characters. */
	static const struct {
		unsigned first, last;
	} hidden[] = {
		{ 0x00, 0x1f },       { 0x7f, 0x9f },       { 0xad, 0xad },       { 0x34f, 0x34f },
		{ 0x600, 0x605 },     { 0x61c, 0x61c },     { 0x6dd, 0x6dd },     { 0x70f, 0x70f },
		{ 0x890, 0x891 },     { 0x8e2, 0x8e2 },     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },
		{ 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x206f },
		{ 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb },   { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1343f },
		{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return false;
	return true;
}

/* TEXT_COMMAND with --root and --config; "": neither is given. Static, so that a message needs no allocation. */
static char command[2 * PATH_MAX + 64];

static void add_option(const char *name, const char *value)
{
	const char *quote = value && strchr(value, ' ') ? "\"" : "";

	if (value && strlen(value) < PATH_MAX)
		text_add(command, sizeof(command), "%s --%s %s%s%s", *command ? "" : TEXT_COMMAND, name, quote, value,
			 quote);
}

void text_set_options(const char *root, const char *config)
{
	*command = '\0';
	add_option("root", root);
	add_option("config", config);
}

const char *text_command(const char *at)
{
	static const char plain[] = TEXT_COMMAND " ", done[] = TEXT_COMMAND " --", help[] = " --help'";
	const char *end;

	if (!*command || strncmp(at, plain, strlen(plain)) != 0 || strncmp(at, done, strlen(done)) == 0)
		return NULL;
	end = at + strlen(plain) + strcspn(at + strlen(plain), "'");
	/* Advice to run --help needs neither option. */
	return *end && strncmp(end + 1 - strlen(help), help, strlen(help)) == 0 ? NULL : command;
}

enum { AS_IT_IS = 1, ESCAPED = 2, ASCII = 4 };

/* Is the character copied unchanged? `len` 0: it is not valid UTF-8. */
static bool stays(const char *at, size_t len, unsigned c, int how)
{
	if (how & AS_IT_IS)
		return true;
	if (len == 0 || (len > 1 && how & ASCII) || (*at == '\\' && !(how & ESCAPED)))
		return false;
	return text_char_shows(c);
}

static size_t copy(char *dst, size_t size, const char *src, int how)
{
	size_t n = 0;

	if (size == 0)
		return 0;
	for (const char *s = src; *s;) {
		unsigned c = 0;
		size_t len = text_char(s, &c), bytes = len ? len : 1;
		const char *rooted = how == 0 ? text_command(s) : NULL;
		bool kept = stays(s, len, c, how);

		if (rooted) {
			size_t before = n;

			n += copy(dst + n, size - n, rooted, 0);
			if (n - before < strlen(rooted)) {
				n = before;
				break;
			}
			s += strlen(TEXT_COMMAND);
			continue;
		}
		if (n + (kept ? bytes : 4 * bytes) >= size)
			break;
		if (kept)
			n = (size_t)((char *)mempcpy(dst + n, s, bytes) - dst);
		for (size_t i = 0; !kept && i < bytes; i++)
			n += (size_t)snprintf(dst + n, size - n, "\\x%02x", (unsigned char)s[i]);
		s += bytes;
	}
	dst[n] = '\0';
	return n;
}

size_t text_safe(char *dst, size_t size, const char *src)
{
	return copy(dst, size, src, 0);
}

char *text_safe_copy(const char *src)
{
	size_t commands = *command ? strlen(src) / strlen(TEXT_COMMAND) : 0;
	size_t size = 4 * (strlen(src) + commands * strlen(command)) + 1; /* each byte can become \xNN */
	char *dst = mem_alloc(size);

	text_safe(dst, size, src);
	return dst;
}

size_t text_safe_again(char *dst, size_t size, const char *src, bool ascii)
{
	return copy(dst, size, src, ESCAPED | (ascii ? ASCII : 0));
}

void text_cut(char *dst, size_t size, const char *src)
{
	copy(dst, size, src, AS_IT_IS);
}

void text_line(FILE *to, const char *fmt, ...)
{
	autofree char *raw = NULL, *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	raw = mem_vformat(fmt, ap);
	va_end(ap);
	line = text_safe_copy(raw);
	fprintf(to, "%s\n", line);
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

const char *text_operand(const char *name, const char *uuid)
{
	enum { SHORT = 36 };
	size_t len = 0;

	while (isalnum((unsigned char)name[len]) || (name[len] && strchr("_.:+@%,=-", name[len])))
		len++;
	return name[len] || len == 0 || len > SHORT || *name == '-' ? uuid : name;
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

int text_order(const void *a, const void *b)
{
	return strcmp(a, b);
}

int text_order_at(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void *text_find(const void *list, size_t n, size_t size, const char *text)
{
	return lfind(text, list, &n, size, text_order);
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

/* The restricted Damerau-Levenshtein distance of two words of at most GUESS_MAX bytes. */
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

			cost[i][j] = MIN(MIN(cost[i - 1][j], cost[i][j - 1]) + 1, cost[i - 1][j - 1] + same);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost[i][j] = MIN(cost[i][j], cost[i - 2][j - 2] + 1);
		}
	return cost[alen][blen];
}

/* A word that looks like an address counts as one number. */
static bool same_numbers(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	if (strpbrk(a, digits) && a[strspn(a, "0123456789abcdefABCDEF:.-")] == '\0')
		return strcmp(a, b) == 0;
	for (;;) {
		size_t n;

		a += strcspn(a, digits);
		b += strcspn(b, digits);
		n = strspn(a, digits);
		if (n != strspn(b, digits) || strncmp(a, b, n) != 0)
			return false;
		if (n == 0)
			return true;
		a += n;
		b += n;
	}
}

void text_guess(struct text_guess *guess, const char *candidate)
{
	size_t len = strlen(guess->word), other = strlen(candidate);
	int n;

	if (len > GUESS_MAX || other > GUESS_MAX || !same_numbers(guess->word, candidate))
		return;
	n = distance(guess->word, len, candidate, other);
	/* Two mistakes turn a short word into another word. */
	if (n > MIN(2, (int)(len + 1) / 3) || (guess->best && n >= guess->distance))
		return;
	guess->best = candidate;
	guess->distance = n;
}

/* Reads one item, "5", "0-3" or "^2", and applies it to the set. */
static bool read_item(char *item, uint64_t *bits, size_t nbits)
{
	bool without = *item == '^';
	char *dash = without ? NULL : strchr(item, '-');
	long first, last;

	if (dash)
		*dash++ = '\0';
	if (!text_number(without ? item + 1 : text_strip(item), 0, LONG_MAX, &first))
		return false;
	last = first;
	if (dash && (!text_number(text_strip(dash), 0, LONG_MAX, &last) || last < first))
		return false;
	for (long n = first; n <= last && n < (long)nbits; n++) {
		if (without)
			bits[n / 64] &= ~(UINT64_C(1) << (n % 64));
		else
			bits[n / 64] |= UINT64_C(1) << (n % 64);
	}
	return true;
}

bool text_cpuset(const char *list, uint64_t *bits, size_t nbits)
{
	/* "^5" removes only a number that this list added. */
	autofree uint64_t *own = mem_new(nbits / 64, sizeof(*own));
	autofree char *copy = mem_strdup(list);
	char *rest = copy, *item;

	while ((item = strsep(&rest, ","))) {
		item = text_strip(item);
		/* A trailing comma is allowed. */
		if (!*item && !rest)
			break;
		if (!read_item(item, own, nbits))
			return false;
	}
	for (size_t i = 0; i < nbits / 64; i++)
		bits[i] |= own[i];
	return true;
}
