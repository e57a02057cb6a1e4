/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A unified diff of two texts with the same number of lines. */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

static const size_t CONTEXT = 3;

struct line {
	const char *text;
	size_t len; /* with the newline, which the last one may lack */
};

struct lines {
	struct line *list;
	size_t n;
};

static struct lines split(const char *text, size_t len)
{
	struct lines lines = { 0 };
	const char *end = text + len;
	size_t n = 1;

	for (const char *s = text; s < end; s++)
		n += *s == '\n';
	lines.list = calloc(n, sizeof(*lines.list));
	if (!lines.list)
		abort();
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *next = newline ? newline + 1 : end;

		lines.list[lines.n++] = (struct line){ text, (size_t)(next - text) };
		text = next;
	}
	return lines;
}

static bool same(const struct line *a, const struct line *b)
{
	return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

static void print_line(FILE *to, char sign, const struct line *line)
{
	putc(sign, to);
	fwrite(line->text, 1, line->len, to);
	if (line->len == 0 || line->text[line->len - 1] != '\n')
		fputs("\n\\ No newline at end of file\n", to);
}

/* The lines from `from` to before `until`: each run of changed ones as it was, then as it is. */
static void print_hunk(FILE *to, const struct lines *was, const struct lines *is, size_t from, size_t until)
{
	fprintf(to, "@@ -%zu,%zu +%zu,%zu @@\n", from + 1, until - from, from + 1, until - from);
	for (size_t i = from; i < until;) {
		size_t end = i;

		if (same(&was->list[i], &is->list[i])) {
			print_line(to, ' ', &was->list[i++]);
			continue;
		}
		while (end < until && !same(&was->list[end], &is->list[end]))
			end++;
		for (size_t k = i; k < end; k++)
			print_line(to, '-', &was->list[k]);
		for (size_t k = i; k < end; k++)
			print_line(to, '+', &is->list[k]);
		i = end;
	}
}

/* The next changed line from `i` on; n where there is none. */
static size_t next_change(const struct lines *was, const struct lines *is, size_t i)
{
	while (i < was->n && same(&was->list[i], &is->list[i]))
		i++;
	return i;
}

static void print_all(FILE *to, const struct lines *was, const struct lines *is, const char *was_name,
		      const char *is_name)
{
	size_t change = next_change(was, is, 0);

	if (change < was->n)
		fprintf(to, "--- %s\n+++ %s\n", was_name, is_name);
	while (change < was->n) {
		size_t from = change > CONTEXT ? change - CONTEXT : 0, last = change, next;

		/* Changes whose contexts touch are one hunk. */
		while ((next = next_change(was, is, last + 1)) < was->n && next - last <= 2 * CONTEXT)
			last = next;
		print_hunk(to, was, is, from, last + CONTEXT + 1 < was->n ? last + CONTEXT + 1 : was->n);
		change = next;
	}
}

bool diff_print(FILE *to, const char *was_name, const char *was_text, size_t was_len, const char *is_name,
		const char *is_text, size_t is_len)
{
	struct lines was = split(was_text, was_len), is = split(is_text, is_len);
	bool comparable = was.n == is.n;

	if (comparable)
		print_all(to, &was, &is, was_name, is_name);
	free(was.list);
	free(is.list);
	return comparable;
}
