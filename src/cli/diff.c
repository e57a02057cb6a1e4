/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A unified diff of two texts that differ in a few places. */
#include "cli/diff.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const size_t CONTEXT = 3, FAR_OFF = 500;

struct line {
	const char *text;
	size_t len; /* with the newline, which the last one need not have */
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
	lines.list = mem_new(n, sizeof(*lines.list));
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

/* A line of the diff: ' ' in both texts, '-' in the old one, '+' in the new one. */
struct edit {
	char sign;
	const struct line *line;
};

static void print_edit(FILE *to, const struct edit *edit)
{
	const struct line *line = edit->line;

	putc(edit->sign, to);
	fwrite(line->text, 1, line->len, to);
	if (line->len == 0 || line->text[line->len - 1] != '\n')
		fputs("\n\\ No newline at end of file\n", to);
}

/* Do the texts agree again at these lines, if only in that both end? */
static bool agree(const struct lines *was, const struct lines *is, size_t w, size_t i)
{
	if (w >= was->n || i >= is->n)
		return w == was->n && i == is->n;
	return same(&was->list[w], &is->list[i]);
}

/*
 * Where the texts agree again from *w and *i on: after few lines, if possible as many of one as of the other. Where
 * that is far off both end.
 */
static void resume(const struct lines *was, const struct lines *is, size_t *w, size_t *i)
{
	for (size_t most = 0; most <= FAR_OFF; most++) {
		for (size_t fewer = 0; fewer <= most; fewer++) {
			for (int side = 0; side < 2; side++) {
				size_t nw = side ? most - fewer : most, ni = side ? most : most - fewer;

				if (!agree(was, is, *w + nw, *i + ni))
					continue;
				*w += nw;
				*i += ni;
				return;
			}
		}
	}
	*w = was->n;
	*i = is->n;
}

/* Fills `edits`, which is large enough for the lines of both texts. */
static size_t find_edits(struct edit *edits, const struct lines *was, const struct lines *is)
{
	size_t n = 0, w = 0, i = 0;

	while (w < was->n || i < is->n) {
		size_t w_end = w, i_end = i;

		resume(was, is, &w_end, &i_end);
		while (w < w_end)
			edits[n++] = (struct edit){ '-', &was->list[w++] };
		while (i < i_end)
			edits[n++] = (struct edit){ '+', &is->list[i++] };
		for (; w < was->n && i < is->n && agree(was, is, w, i); i++)
			edits[n++] = (struct edit){ ' ', &was->list[w++] };
	}
	return n;
}

/* "-4,7 ": the lines that are not of the other text; patch(1) expects the line before where there are none. */
static void print_range(FILE *to, char sign, char other, const struct edit *edits, size_t begin, size_t end)
{
	size_t from = 0, n = 0;

	for (size_t i = 0; i < end; i++)
		*(i < begin ? &from : &n) += edits[i].sign != other;
	fprintf(to, "%c%zu,%zu ", sign, n ? from + 1 : from, n);
}

void diff_print(FILE *to, const struct diff_text *was_text, const struct diff_text *is_text)
{
	struct lines was = split(was_text), is = split(is_text);
	struct edit *edits = mem_new(was.n + is.n + 1, sizeof(*edits));
	size_t n, end = 0;

	n = find_edits(edits, &was, &is);
	for (size_t i = 0; i < n; i++) {
		size_t begin = i - end < CONTEXT ? end : i - CONTEXT, last = i;

		if (edits[i].sign == ' ')
			continue;
		if (end == 0)
			fprintf(to, "--- %s\n+++ %s\n", was_text->name, is_text->name);
		/* Changes whose contexts touch are one hunk. */
		for (; i < n && i - last <= 2 * CONTEXT; i++)
			if (edits[i].sign != ' ')
				last = i;
		end = last + 1 + CONTEXT < n ? last + 1 + CONTEXT : n;
		fputs("@@ ", to);
		print_range(to, '-', '+', edits, begin, end);
		print_range(to, '+', '-', edits, begin, end);
		fputs("@@\n", to);
		for (size_t k = begin; k < end; k++)
			print_edit(to, &edits[k]);
		i = end - 1;
	}
	free(edits);
	free(was.list);
	free(is.list);
}
