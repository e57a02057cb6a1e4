/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the command prints with: JSON, tables; and the times of --since. */
#include <locale.h>

#include "cli/out.h"
#include "lib/tap.h"

/* What a stream in memory has got; the next memory_begin() frees it. */
static char *printed;
static size_t printed_len;
static FILE *memory;

static void memory_begin(void)
{
	free(printed);
	printed = NULL;
	memory = open_memstream(&printed, &printed_len);
}

static const char *memory_end(void)
{
	fclose(memory);
	return printed;
}

static void json(void)
{
	struct json_out json;

	setlocale(LC_CTYPE, "C.UTF-8");
	memory_begin();
	json_out_begin(&json, memory);
	json_out_end(&json);
	is(memory_end(), "{}\n", "an empty document is an object");

	memory_begin();
	json_out_begin(&json, memory);
	json_out_number(&json, "version", 1);
	json_out_number(&json, "numa_node", -1);
	json_out_number(&json, "vfs", 0);
	json_out_array(&json, "none");
	json_out_close(&json);
	json_out_array(&json, "list");
	json_out_object(&json, NULL);
	json_out_bool(&json, "ready", true);
	json_out_string(&json, "reason", "");
	json_out_close(&json);
	json_out_string(&json, NULL, "x");
	json_out_string(&json, NULL, NULL);
	json_out_close(&json);
	json_out_bool(&json, "last", false);
	json_out_end(&json);
	is(memory_end(),
	   "{\n  \"version\": 1,\n  \"numa_node\": null,\n  \"vfs\": 0,\n  \"none\": [],\n  \"list\": [\n    {\n"
	   "      \"ready\": true,\n      \"reason\": null\n    },\n    \"x\",\n    null\n  ],\n  \"last\": false\n}\n",
	   "members stand one a line, and what is not known is null");

	memory_begin();
	json_out_begin(&json, memory);
	json_out_string(&json, "k\"ey", "q\" b\\ n\n t\t e\033 \177 \xc3\xa4 \xff \xed\xa0\x80 \xc3");
	json_out_end(&json);
	is(memory_end(),
	   "{\n  \"k\\\"ey\": \"q\\\" b\\\\ n\\n t\\t e\\u001b \\u007f \xc3\xa4 \xef\xbf\xbd "
	   "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\"\n}\n",
	   "every string is valid JSON and UTF-8");
}

static const struct term no_terminal;

static const struct table_layout layout = {
	.columns = { COL_ID, COL_NUMA, COL_NAME, COL_NOTE },
	.more = { COL_AGE },
	.narrow = { COL_NAME },
};

static const char *table_on(struct table *table, const struct term *term)
{
	struct term to_memory = *term;

	to_memory.to = memory;
	table_end(table, &to_memory);
	return memory_end();
}

/* Three rows on this terminal; the next call ends what it returns. */
static const char *draw(const char *output, const char *sort, const struct term *term)
{
	struct table_options options = { .output = output, .sort = sort };
	struct table table;
	struct err err;

	memory_begin();
	table_check(&layout, &options, &err);
	table_start(&table, &layout, &options);
	table_line(&table);
	table_text(&table, COL_AGE, "3m");
	table_text(&table, COL_ID, "b");
	table_number(&table, COL_NUMA, 12345);
	table_text(&table, COL_NAME, "\xc3\xa4");
	table_text(&table, COL_TYPE, "of no column");
	table_line(&table);
	table_text(&table, COL_ID, "a");
	table_number(&table, COL_NUMA, 9);
	table_coloured(&table, COL_NAME, "long name", TERM_RED);
	table_text(&table, COL_NOTE, "a note that has many words");
	table_text(&table, COL_AGE, "119s");
	table_line(&table);
	table_text(&table, COL_ID, "c");
	table_number(&table, COL_NUMA, -1);
	table_text(&table, COL_NAME, "e\033[1m\n");
	table_text(&table, COL_AGE, "1h");
	return table_on(&table, term);
}

/* A row with this cell of a column that is left out where it is empty. */
static const char *draw_any(const char *instance, const char *output, const struct term *term)
{
	static const struct table_layout any = { .columns = { COL_ID, COL_INSTANCE, COL_NAME, COL_NOTE },
						 .narrow = { COL_INSTANCE, COL_NAME } };
	struct table_options options = { .output = output };
	struct table table;
	struct err err;

	memory_begin();
	table_check(&any, &options, &err);
	table_start(&table, &any, &options);
	table_line(&table);
	table_text(&table, COL_ID, "a long one");
	table_line(&table);
	table_text(&table, COL_ID, "b");
	table_text(&table, COL_INSTANCE, instance);
	return table_on(&table, term);
}

static void columns_if_any(void)
{
	const struct term narrow = { .width = 12 }, narrowest = { .width = 4 };

	is(draw_any("", NULL, &no_terminal), "ID          NAME  NOTE\na long one  -     -\nb           -     -\n",
	   "a column that is empty in each row is left out, if that is its rule");
	is(draw_any("web", NULL, &no_terminal),
	   "ID          INSTANCE  NAME  NOTE\na long one  -         -     -\nb           web       -     -\n",
	   "it is there if any row has it");
	is(draw_any("", "instance", &no_terminal), "INSTANCE\n-\n-\n", "or if it is asked for");
	is(draw_any("web", NULL, &narrow), "ID\na long one\nb\n", "a narrow terminal leaves it out");
	is(draw_any("", NULL, &narrowest), "ID\na long\n    one\nb\n",
	   "and the ones behind an empty one, which it does not bring back");
}

static void table(void)
{
	const struct table_options none = { 0 }, no_headings = { .no_headings = true };
	const struct term wide = { .width = 80 }, narrow = { .width = 24 }, narrowest = { .width = 10 },
			  colour = { .colour = true };
	struct table table;

	memory_begin();
	table_start(&table, &layout, &none);
	is(table_on(&table, &no_terminal), "ID  NUMA  NAME  NOTE\n", "a table without rows is its heading");
	memory_begin();
	table_start(&table, &layout, &no_headings);
	is(table_on(&table, &no_terminal), "", "or nothing without it");

	is(draw(NULL, NULL, &no_terminal),
	   "ID   NUMA  NAME          NOTE\n"
	   "b   12345  \xc3\xa4             -\n"
	   "a       9  long name     a note that has many words\n"
	   "c       -  e\\x1b[1m\\x0a  -\n",
	   "columns are aligned by characters, and nothing drives the terminal");
	ok(strstr(draw(NULL, NULL, &wide), "long name     a note that has many words\n") != NULL,
	   "so they are on a terminal where all fits");
	is(draw(NULL, NULL, &narrow),
	   "ID   NUMA  NAME\n"
	   "b   12345  \xc3\xa4\n"
	   "a       9  long name\n"
	   "    a note that has many\n"
	   "    words\n"
	   "c       -  e\\x1b[1m\\x0a\n",
	   "on a narrow one the text is below its line, whole words on each");
	is(draw(NULL, NULL, &narrowest),
	   "ID   NUMA\n"
	   "b   12345\n"
	   "a       9\n"
	   "    a note\n"
	   "    that\n"
	   "    has\n"
	   "    many\n"
	   "    words\n"
	   "c       -\n",
	   "on a narrower one columns are left out");
	is(draw("name,ID", NULL, &narrowest),
	   "NAME\n    ID\n"
	   "\\xc3\\xa4\n    b\n"
	   "long name\n    a\n"
	   "e\\x1b[1m\\x0a\n    c\n",
	   "but none that was asked for: what is too wide goes on below");
	is(draw("ID", "ID", &no_terminal), "ID\na\nb\nc\n", "sorted by a word");
	is(draw("ID", "numa", &no_terminal), "ID\nc\na\nb\n", "by a number");
	is(draw(NULL, "numa", &narrow),
	   "ID   NUMA  NAME\n"
	   "c       -  e\\x1b[1m\\x0a\n"
	   "a       9  long name\n"
	   "    a note that has many\n"
	   "    words\n"
	   "b   12345  \xc3\xa4\n",
	   "and the text goes with its line");
	is(draw("note", NULL, &narrowest), "NOTE\n-\na note\n    that\n    has\n    many\n    words\n-\n",
	   "text that stands alone goes on below");
	is(draw("ID,AGE", "AGE", &no_terminal), "ID   AGE\na   119s\nb     3m\nc     1h\n", "by an age");
	columns_if_any();
	ok(strstr(draw(NULL, NULL, &colour), TERM_RED "long name") != NULL, "colours where they are");
	is(strstr(draw(NULL, NULL, &no_terminal), "\033") ? "a colour" : "", "", "and none where they are not");
}

static const char *wrapped(int width, const char *text)
{
	memory_begin();
	fputs(">> ", memory);
	term_wrap_printable(&(struct term){ .to = memory, .width = width }, 3, "   ", text);
	return memory_end();
}

static void wrap(void)
{
	is(wrapped(0, "one two three"), ">> one two three\n", "without a terminal a text is one line");
	is(wrapped(10, "one two three"), ">> one two\n   three\n", "what fits to the last column stays");
	is(wrapped(9, "one two three"), ">> one\n   two\n   three\n", "a word that does not goes on below");
	is(wrapped(8, "incomprehensible a"), ">> incomprehensible\n   a\n", "none is broken");
	is(wrapped(9, "a\033b\n"), ">> a\\x1bb\\x0a\n", "and all is printable");
}

/* 2026-03-29 12:00:00 in Berlin, where the clock went from 02:00 to 03:00 that day. */
enum { NOW = 1774778400, HOUR = 3600, DAY = 86400 };

static const struct {
	const char *text;
	int64_t at;
} times[] = {
	{ "-1h", NOW - HOUR },
	{ "-90s", NOW - 90 },
	{ "-2m", NOW - 120 },
	{ "-2d", NOW - 2 * DAY },
	{ "today", NOW - 11 * HOUR },
	{ "2026-03-29", NOW - 11 * HOUR },
	{ "2026-03-29 12:00", NOW },
	{ "2026-03-29 11:59:30", NOW - 30 },
	{ "2026-03-28 12:00", NOW - 23 * HOUR },
	{ "2026-03-29T10:00:00Z", NOW },
	{ "-999999999d", 0 },
};

static char not_times[] =
	"|+1h|+999999999w|someday|never|99h99|../x|-|-1|-h|- 2d|1h|-1h ago|-1month|-1hx|-1h30min|--1h|"
	"-9999999999s|2 hours ago|-5min|-2 d|-1w|yesterday|@1774778400|2 hours later|2026-02-30|2026-13-01|2026-01-01 25:00|"
	"2026-01-01 12:00:00 x|2026-01-01 12:00:00Z| 2026-01-01|12:00|@|@-1|@1x|"
	"@9223372036854775807|todays";

static void since(void)
{
	int64_t us;

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	for (ROWS(row, times)) {
		int64_t at = row->at ? row->at * 1000000 : 1; /* 0 would be no limit */

		ok(events_since(&us, row->text, NOW) && us == at, "%s", row->text);
	}
	for (char *rest = not_times, *text; (text = strsep(&rest, "|"));)
		ok(!events_since(&us, text, NOW), "not a time: %s", text);
}

TESTS(json, table, wrap, since)
