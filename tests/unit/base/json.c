/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The small reader of JSON. */
#include "base/json.h"

#include "lib/tap.h"

static char type[16], start[16];

static const char *read_text(const char *text)
{
	struct json_field fields[] = { { .key = "mdev_type", .value = type, .size = sizeof(type) },
				       { .key = "start", .value = start, .size = sizeof(start) } };

	return json_read(text, strlen(text), fields, 2);
}

static void valid(void)
{
	is(read_text(" {\"mdev_type\" : \"nvidia-35\",\r\n\t\"start\":\"auto\"} \n"), NULL, "an object is read");
	is(type, "nvidia-35", "one member");
	is(start, "auto", "and the other");
	is(read_text("{}"), NULL, "the empty object has neither");
	is(type, "", "which shows");
	is(read_text(
		   "{\"attrs\":[{\"mdev_type\":\"x\"},{}],\"n\":[-0.5e+3,0,12E1,true,false,null,[],\"\\u00e9\\\\\"],\"start\":\"a\\u0062\\/\\n\"}"),
	   NULL, "what is not asked for is skipped");
	is(type, "", "also where it has the name deeper down");
	is(start, "ab/\n", "escapes are decoded");
	is(read_text(
		   "{\"\xc3\xa9\":\"\xc3\xa9\",\"a name that is longer than the longest one anybody would ever give to a member\":1}"),
	   NULL, "members with any name and value are skipped");
}

/* The items of an array, then "." for its end or "!" for an error. */
static const char *items(const char *text)
{
	static char all[128];
	char item[16];
	size_t at = 0;
	int r;

	all[0] = '\0';
	while ((r = json_next(text, &at, item, sizeof(item))) == 1)
		strcat(strcat(all, item), " ");
	return strcat(all, r == 0 ? "." : "!");
}

static void nested(void)
{
	static const char text[] =
		"{\"return\": {\"why\": [\"one\", \"t\\\"wo\", \"\xc3\xa4\"], \"n\": 1}, \"id\": \"x\"}";
	char inner[64] = "", list[64] = "", item[8] = "";
	struct json_field outer = { .key = "return", .value = inner, .size = sizeof(inner), .raw = true };
	struct json_field why = { .key = "why", .value = list, .size = sizeof(list), .raw = true };
	struct json_field small = { .key = "return", .value = item, .size = sizeof(item), .raw = true };

	is(json_read(text, strlen(text), &outer, 1), NULL, "a member that is an object is read");
	is(inner, "{\"why\": [\"one\", \"t\\\"wo\", \"\xc3\xa4\"], \"n\": 1}", "as it stands");
	is(json_read(inner, strlen(inner), &why, 1), NULL, "and one of that, an array,");
	is(list, "[\"one\", \"t\\\"wo\", \"\xc3\xa4\"]", "as it stands, too");
	is(items(" [1, {\"a\": [2]},\n\"x\"] "), "1 {\"a\": [2]} \"x\" .", "items of any kind, as they stand there");
	is(items("[]"), ".", "an empty array has none");
	is(items("[1 2]"), "1 !", "a comma that is missing is an error");
	is(items("[1,]"), "1 !", "so is one too many");
	is(items("[1"), "1 !", "an array that does not end");
	is(items("[1] x"), "1 !", "what follows it");
	is(items("{}"), "!", "what is no array");
	is(items("[1, \"12345678901234567890\"]"), "1 !", "and an item that does not fit");
	is(json_read(text, strlen(text), &small, 1), "a member is too long", "a value that does not fit is refused");
}

static void invalid(void)
{
	static const char *const bad[] = {
		"",
		" ",
		"[]",
		"\"x\"",
		"null",
		"{",
		"{\"a\"",
		"{\"a\":",
		"{\"a\":1",
		"{\"a\":1,}",
		"{\"a\":1 \"b\":2}",
		"{a:1}",
		"{\"a\":01}",
		"{\"a\":-}",
		"{\"a\":1.}",
		"{\"a\":1e}",
		"{\"a\":.5}",
		"{\"a\":+1}",
		"{\"a\":tru}",
		"{\"a\":'x'}",
		"{\"a\":\"x}",
		"{\"a\":\"\\x\"}",
		"{\"a\":\"\\u12\"}",
		"{\"a\":\"\\u12g4\"}",
		"{\"a\":\"\n\"}",
		"{\"a\":[1,]}",
		"{\"a\":[1}",
		"{\"a\":{\"b\"}}",
		"{} x",
		"{\"start\":1}",
		"{\"start\":null}",
		"{\"start\":\"a\",\"start\":\"b\"}",
		"{\"start\":\"0123456789abcdef\"}",
		"{\"start\":\"\xc3\xa9\"}",
		"{\"start\":\"\\u0000\"}",
		"{\"a\":\"\\",
	};
	char deep[256] = "{\"a\":";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *wrong = read_text(bad[i]);

		ok(wrong != NULL, "case %zu is refused: %s", i + 1, wrong ? wrong : "");
	}
	memset(deep + 5, '[', 200);
	ok(read_text(deep) && strstr(read_text(deep), "deep"), "and so is what is nested too deep");
}

static void pairs(void)
{
	static const char *const bad[] = { "",
					   "{}",
					   "[\"a\"]",
					   "{\"a\":1}",
					   "{\"a\":\"b\",\"c\":\"d\"}",
					   "{\"a\":\"b\"} x",
					   "{\"a\":\"12345678\"}",
					   "{\"12345678\":\"a\"}" };
	char key[8], value[8];

	ok(json_pair(" { \"a/b\" : \"1\" } ", key, sizeof(key), value, sizeof(value)) && strcmp(key, "a/b") == 0 &&
		   strcmp(value, "1") == 0,
	   "an object of one string is a pair");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!json_pair(bad[i], key, sizeof(key), value, sizeof(value)), "not so: %s", bad[i]);
}

TESTS(pairs, valid, nested, invalid)
