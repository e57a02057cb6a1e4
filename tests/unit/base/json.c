/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The small reader of JSON. */
#include "base/json.h"

#include "lib/tap.h"

static char type[16], start[16];

static const char *read_text(const char *text)
{
	struct json_field fields[] = { { .key = "mdev_type", .value = type, .size = sizeof(type) },
				       { .key = "start", .value = start, .size = sizeof(start) } };

	return json_read(text, fields, 2);
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

static char listed[128];

static bool add(void *arg, const char *name, const char *value)
{
	strcat(strcat(strcat(strcat(listed, name), "="), value), " ");
	return strcmp(value, "wrong") != 0;
}

static const char *list(const char *text)
{
	struct json_field fields[] = { { .key = "attrs", .pair = add },
				       { .key = "start", .value = start, .size = sizeof(start) } };

	listed[0] = '\0';
	return json_read(text, fields, 2);
}

static void pairs(void)
{
	/* Separated by bars. */
	char bad[] = "{}|1|\"a\"|[\"a\"]|[{}]|[{\"a\":1}]|[{\"a\":\"b\",\"c\":\"d\"}]|"
		     "[{\"a\":\"b\"} {\"a\":\"b\"}]|[{\"a\":\"b\"},]|[{\"a\":\"b\"}|[{\"a\":\"b\"}] x|"
		     "[{\"a\":\"\xc3\xa4\"}]|[{\"a\":\"wrong\"}]|"
		     "[{\"0123456789012345678901234567890123456789012345678901234567890123\":\"a\"}]";
	char text[256];

	is(list("{\"attrs\": [ { \"a/b\" : \"1\" },\n{\"c\":\"t\\\"wo\"} ], \"start\":\"auto\"}"), NULL,
	   "a list of objects of one string is read");
	is(listed, "a/b=1 c=t\"wo ", "as pairs, in their order");
	is(start, "auto", "and what follows");
	is(list("{\"attrs\":[]}"), NULL, "an empty list");
	is(listed, "", "has none");
	for (char *rest = bad, *one; (one = strsep(&rest, "|"));) {
		snprintf(text, sizeof(text), "{\"attrs\":%s}", one);
		ok(list(text) != NULL, "not so: %s", one);
	}
}

static void invalid(void)
{
	char bad[] = "| |[]|\"x\"|null|{|{\"a\"|{\"a\":|{\"a\":1|{\"a\":1,}|{\"a\":1 \"b\":2}|{a:1}|"
		     "{\"a\":01}|{\"a\":-}|{\"a\":1.}|{\"a\":1e}|{\"a\":.5}|{\"a\":+1}|{\"a\":tru}|"
		     "{\"a\":'x'}|{\"a\":\"x}|{\"a\":\"\\x\"}|{\"a\":\"\\u12\"}|{\"a\":\"\\u12g4\"}|"
		     "{\"a\":\"\n\"}|{\"a\":[1,]}|{\"a\":[1}|{\"a\":{\"b\"}}|{} x|{\"start\":1}|"
		     "{\"start\":null}|{\"start\":\"a\",\"start\":\"b\"}|{\"start\":\"0123456789abcdef\"}|"
		     "{\"start\":\"\xc3\xa9\"}|{\"start\":\"\\u0000\"}|{\"a\":\"\\";
	char deep[256] = "{\"a\":";
	int n = 1;

	for (char *rest = bad, *one; (one = strsep(&rest, "|")); n++) {
		const char *wrong = read_text(one);

		ok(wrong != NULL, "case %d is refused: %s", n, wrong ? wrong : "");
	}
	memset(deep + 5, '[', 200);
	ok(read_text(deep) && strstr(read_text(deep), "deep"), "and so is what is nested too deep");
}

TESTS(pairs, valid, invalid)
