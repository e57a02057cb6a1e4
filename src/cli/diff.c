/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A unified diff of two texts that differ in a few places. */
#include "cli/diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const size_t CONTEXT = 3, FAR_OFF = 500;

struct line {
	const char *text;
	size_t len; /* with the newline, which the last one may lack */
};

struct lines {
	struct line *list;
	size_t n;
};

static struct lines split(const struct diff_text *from)
{
	struct lines lines = { 0 };
	const char *text = from->text, *end = text + from->len;
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

/* Lines of the old text in whose place others stand in the new one; either can be none. */
struct change {
	size_t was, nwas, is, nis;
};

static void print_lines(FILE *to, char sign, const struct lines *lines, size_t from, size_t until)
{
	for (size_t i = from; i < until; i++)
		print_line(to, sign, &lines->list[i]);
}

/* "@@ -4,7 +4,5 @@"; patch(1) wants the line before where there are none. */
static void print_range(FILE *to, char sign, size_t from, size_t until)
{
	fprintf(to, "%c%zu,%zu ", sign, until > from ? from + 1 : from, until - from);
}

/* Changes whose contexts touch, with their context. */
static void print_hunk(FILE *to, const struct lines *was, const struct lines *is, const struct change *changes,
		       size_t n)
{
	const struct change *first = changes, *last = &changes[n - 1];
	size_t before = first->was < CONTEXT ? first->was : CONTEXT, end = last->was + last->nwas;
	size_t after = was->n - end < CONTEXT ? was->n - end : CONTEXT, at = first->was - before;

	fputs("@@ ", to);
	print_range(to, '-', at, end + after);
	print_range(to, '+', first->is - before, last->is + last->nis + after);
	fputs("@@\n", to);
	for (size_t i = 0; i < n; i++) {
		const struct change *c = &changes[i];

		print_lines(to, ' ', was, at, c->was);
		at = c->was + c->nwas;
		print_lines(to, '-', was, c->was, at);
		print_lines(to, '+', is, c->is, c->is + c->nis);
	}
	print_lines(to, ' ', was, at, end + after);
}

/* Do the texts agree again behind the change, if only in that both end? */
static bool agree(const struct lines *was, const struct lines *is, const struct change *c)
{
	size_t w = c->was + c->nwas, i = c->is + c->nis;

	if (w >= was->n || i >= is->n)
		return w == was->n && i == is->n;
	return same(&was->list[w], &is->list[i]);
}

/*
 * How many lines the change takes from each: few that make the texts agree again, if possible as many of one as of the
 * other. Where that is far off it takes all that is left.
 */
static void measure(const struct lines *was, const struct lines *is, struct change *c)
{
	for (size_t most = 1; most <= FAR_OFF; most++) {
		for (size_t fewer = 0; fewer <= most; fewer++) {
			c->nwas = most;
			c->nis = most - fewer;
			if (agree(was, is, c))
				return;
			c->nwas = most - fewer;
			c->nis = most;
			if (agree(was, is, c))
				return;
		}
	}
	c->nwas = was->n - c->was;
	c->nis = is->n - c->is;
}

/* The next change from there on; false where there is none. */
static bool next_change(const struct lines *was, const struct lines *is, size_t w, size_t i, struct change *c)
{
	while (w < was->n && i < is->n && same(&was->list[w], &is->list[i])) {
		w++;
		i++;
	}
	*c = (struct change){ .was = w, .is = i };
	if (w == was->n && i == is->n)
		return false;
	measure(was, is, c);
	return true;
}

static struct change *find_changes(const struct lines *was, const struct lines *is, size_t *n)
{
	struct change *list = NULL, c;

	*n = 0;
	for (size_t w = 0, i = 0; next_change(was, is, w, i, &c); w = c.was + c.nwas, i = c.is + c.nis) {
		list = reallocarray(list, *n + 1, sizeof(*list));
		if (!list)
			abort();
		list[(*n)++] = c;
	}
	return list;
}

void diff_print(FILE *to, const struct diff_text *was_text, const struct diff_text *is_text)
{
	struct lines was = split(was_text), is = split(is_text);
	size_t n, end;
	struct change *changes = find_changes(&was, &is, &n);

	if (n)
		fprintf(to, "--- %s\n+++ %s\n", was_text->name, is_text->name);
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n; end++)
			if (changes[end].was - changes[end - 1].was - changes[end - 1].nwas >= 2 * CONTEXT)
				break;
		print_hunk(to, &was, &is, &changes[i], end - i);
	}
	free(changes);
	free(was.list);
	free(is.list);
}
