/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The properties of the terminal on standard output or standard error. */
#include "cli/term.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/mem.h"
#include "base/text.h"

/* the columns of a UUID and a few other characters */
enum { TEXT_COLUMNS = 40 };

static struct term read_term(FILE *to)
{
	const char *no_color = getenv("NO_COLOR"), *kind = getenv("TERM");
	struct winsize size;
	bool utf8;

	setlocale(LC_CTYPE, "");
	utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	/* libsmartcols can loop forever over text that is invalid in the locale. Our output is UTF-8. */
	if (!utf8 && !setlocale(LC_CTYPE, "C.UTF-8"))
		setlocale(LC_CTYPE, "C");
	if (!isatty(fileno(to)))
		return (struct term){ .to = to };
	if (ioctl(fileno(to), TIOCGWINSZ, &size) < 0)
		size = (struct winsize){ 0 };
	return (struct term){
		.to = to,
		.width = size.ws_col ? size.ws_col : 80,
		.colour = kind && *kind && strcmp(kind, "dumb") != 0 && !(no_color && *no_color),
		.utf8 = utf8,
	};
}

static struct term out, err; /* .to NULL: not read yet */

static const struct term *term_of(struct term *term, FILE *to)
{
	if (!term->to)
		*term = read_term(to);
	return term;
}

const struct term *term_stdout(void)
{
	return term_of(&out, stdout);
}

const struct term *term_stderr(void)
{
	return term_of(&err, stderr);
}

const char *term_colour(const char *sequence)
{
	return term_stdout()->colour ? sequence : "";
}

/* Replaces characters that the terminal cannot show. The caller frees the text. */
static char *shown_on(const struct term *term, const char *text)
{
	size_t size = 4 * strlen(text) + 1; /* each byte may become \xNN */
	char *shown = mem_alloc(size);

	text_safe_again(shown, size, text, term->width && !term->utf8);
	return shown;
}

char *term_safe(const char *text)
{
	size_t size = text_safe_size(text);
	autofree char *safe = mem_alloc(size);

	text_safe(safe, size, text);
	return shown_on(term_stdout(), safe);
}

int term_columns(const char *text, size_t len)
{
	autofree char *part = mem_strndup(text, len);
	autofree wchar_t *wide = mem_new(len + 1, sizeof(*wide));
	int columns = 0;

	/* Without a UTF-8 locale, a byte takes one column. */
	if (mbstowcs(wide, part, len + 1) == (size_t)-1)
		return (int)len;
	for (const wchar_t *c = wide; *c; c++)
		columns += wcwidth(*c) > 0 ? wcwidth(*c) : 0;
	return columns;
}

/* Replaces a margin of blanks that leaves too few columns for a UUID. A margin with a tree's lines stays. */
static const char *narrowed(const struct term *term, const char *margin)
{
	size_t len = strlen(margin);

	if (term->width - (int)len >= TEXT_COLUMNS || len < 2 * strlen(TERM_INDENT) || margin[strspn(margin, " ")])
		return margin;
	return TERM_INDENT;
}

static void wrap(const struct term *term, int at, const char *margin, const char *safe)
{
	int left, column = at;

	margin = narrowed(term, margin);
	left = term_columns(margin, strlen(margin));
	for (const char *word = safe; *word;) {
		size_t blanks = strspn(word, " "), len = strcspn(word + blanks, " ");
		int columns = term_columns(word + blanks, len);

		if (term->width && !len)
			break;
		if (term->width && column + (int)blanks > left && column + (int)blanks + columns > term->width &&
		    (word > safe || at > left)) {
			fprintf(term->to, "\n%s", margin);
			column = left;
		} else {
			fprintf(term->to, "%*s", (int)blanks, "");
			column += (int)blanks;
		}
		fwrite(word + blanks, 1, len, term->to);
		column += columns;
		word += blanks + len;
	}
	putc('\n', term->to);
}

void term_wrap(int at, const char *margin, const char *text)
{
	autofree char *safe = term_safe(text);

	wrap(term_stdout(), at, margin, safe);
}

void term_wrap_printable(const struct term *term, int at, const char *margin, const char *text)
{
	autofree char *shown = shown_on(term, text);

	wrap(term, at, margin, shown);
}

void term_wrap_behind(int at, int from, const char *text)
{
	int gap = from - at > 2 ? from - at : 2;
	autofree char *margin = mem_format("%*s", from, ""), *apart = mem_format("%*s%s", gap, "", text);

	/* The gap is part of the text, so that the gap never ends a line. */
	term_wrap(at, margin, apart);
}
