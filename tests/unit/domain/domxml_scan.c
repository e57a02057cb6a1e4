/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Start tags and attributes are found in the bytes, and what only looks like them is not. */
#include "domain/internal.h"

#include "base/auto.h"
#include "lib/tap.h"

/* The tags that are found, one behind the other; '!' where the document is none. */
static const struct {
	const char *xml, *tags, *sentence;
} documents[] = {
	{ "", "", "an empty document has none" },
	{ "<a><b x='1'/>text</a>", "<a><b x='1'/>", "start tags and empty elements, no end tags" },
	{ "<a><!-- <b> --><c/></a>", "<a><c/>", "none in a comment" },
	{ "<a><!--><b>--><c/></a>", "<a><c/>", "the dashes that open a comment do not close it" },
	{ "<a><![CDATA[<b>]]]]><c/></a>", "<a><c/>", "none in CDATA" },
	{ "<?xml version='1.0'?><a/><?p <b> ?>", "<a/>", "none in a processing instruction" },
	{ "<a x='>'><b y=\"'>\"/></a>", "<a x='>'><b y=\"'>\"/>", "a quoted '>' ends no tag" },
	{ "<!DOCTYPE a><a/>", "!", "a document type is refused" },
	{ "<a><!-- <b/></a>", "<a>!", "so is a comment without an end" },
	{ "<a x='1><b/></a>", "!", "a quote without an end" },
	{ "<a", "!", "a tag without an end" },
};

static void tags(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		struct scan scan = { .xml = documents[i].xml, .len = strlen(documents[i].xml) };
		char got[256] = "";
		struct span tag;
		int r;

		while ((r = scan_tag(&scan, &tag)) > 0)
			strncat(got, scan.xml + tag.at, tag.len);
		if (r < 0)
			strcat(got, "!");
		is(got, documents[i].tags, documents[i].sentence);
	}
}

static const struct {
	const char *tag, *prefix, *name;
	const char *whole, *value; /* NULL: there is none */
	const char *sentence;
} attributes[] = {
	{ "<a x='1' y='2'>", "", "y", " y='2'", "2", "an attribute, with the white space before it" },
	{ "<a \t x = \"it's\"/>", "", "x", " \t x = \"it's\"", "it's", "white space around '=', and the other quote" },
	{ "<a x=''/>", "", "x", " x=''", "", "an empty value" },
	{ "<a p:x='1' x='2'>", "", "x", " x='2'", "2", "without a prefix the one that has none" },
	{ "<a x='1' p:x='2'>", "p", "x", " p:x='2'", "2", "with a prefix the one that has it" },
	{ "<a px='1' q:x='2'>", "p", "x", NULL, NULL, "not one of another prefix" },
	{ "<a y=' x=\"1\"'>", "", "x", NULL, NULL, "not what stands in another's value" },
	{ "<a xx='1'>", "", "x", NULL, NULL, "not one whose name begins so" },
	{ "<x>", "", "x", NULL, NULL, "not the element's own name" },
	{ "<a/>", "", "x", NULL, NULL, "none in a tag without attributes" },
};

static void attrs(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		const char *xml = attributes[i].tag;
		struct attr attr;
		char whole[64], value[64];
		bool there = scan_attr(xml, (struct span){ 0, strlen(xml) }, attributes[i].prefix, attributes[i].name,
				       &attr);

		if (!ok(there == !!attributes[i].whole, "%s: found or not", attributes[i].sentence) || !there)
			continue;
		snprintf(whole, sizeof(whole), "%.*s", (int)attr.whole.len, xml + attr.whole.at);
		snprintf(value, sizeof(value), "%.*s", (int)attr.value.len, xml + attr.value.at);
		is(whole, attributes[i].whole, attributes[i].sentence);
		is(value, attributes[i].value, attributes[i].sentence);
	}
}

static void names(void)
{
	static const char xml[] = "<p:hostdev x='1'>";
	const struct span tag = { 0, sizeof(xml) - 1 };

	ok(scan_tag_is(xml, tag, "hostdev"), "an element is known by its name without the prefix");
	ok(!scan_tag_is(xml, tag, "p") && !scan_tag_is(xml, tag, "host") && !scan_tag_is(xml, tag, "hostdevs"),
	   "by all of it");
}

TESTS(tags, attrs, names)
