/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What in a domain's metadata has no effect: it is told, and stops nothing. */
#include "base/auto.h"
#include "lib/tap.h"
#include "lib/xml.h"

static struct domxml *parse(const char *metadata, unsigned int flags)
{
	static char xml[1 << 17];
	struct domxml *doc = NULL;
	struct err err;

	snprintf(xml, sizeof(xml), DOMAIN("%s", MDEV_XML(A)), metadata);
	if (domxml_parse(&doc, xml, strlen(xml), flags, &err) < 0)
		printf("# %s\n", err.text);
	return doc;
}

/* How many, and do they say these words? */
static void remarks(const char *metadata, size_t req, const char *word, const char *sentence)
{
	struct domxml *doc = parse(metadata, DOMXML_REMARKS);
	const struct remark *list = NULL;
	size_t n = doc ? domxml_remarks(doc, &list) : 99;
	bool said = !req || (n && n < 99 && (strstr(list[0].text, word) || strstr(list[0].fix, word)));

	if (!ok(n == req && said, "%s", sentence))
		for (size_t i = 0; i < n && n < 99; i++)
			printf("# %s: %s\n", list[i].text, list[i].fix);
	domxml_free(doc);
}

int main(void)
{
	static char many[1 << 17] = "<v:lease xmlns:v='" DOMXML_NS "'>";
	const struct remark *list;
	struct domxml *doc;

	remarks(LEASE("<v:device uuid='" A
		      "' type='t' placement='pack' numa='0' params='a=1' name='n' framework='mdev' "
		      "model='10de:1' driver='1' guest='0000:00:05.0'/>"),
		0, "", "all words that there are, are known");
	remarks("", 0, "", "a domain without metadata of ours is right, too");
	remarks("<x:lease xmlns:x='http://example.org/'><x:until/></x:lease>", 0, "", "so is another's <lease>");
	remarks("<s:suspended xmlns:s='urn:vgpu-lease:suspended:1' hostdevs=''/>" LEASE("<v:device uuid='" B "'/>"), 0,
		"", "and what waits for a resume");
	remarks(LEASE("<v:device uuid='" A "' tpye='t'/>"), 1, "'tpye'", "an attribute that nobody knows");
	remarks(LEASE("<v:device uuid='" A "' tpye='t' nmua='1'/>"), 2, "'tpye'", "each of them");
	remarks("<v:lease xmlns:v='" DOMXML_NS "' projects='p'/>", 1, "'projects'", "also of the <lease>");
	remarks(LEASE("<v:devices uuid='" A "'/>"), 1, "devices", "an element that nobody knows");
	remarks(LEASE("<device uuid='" A "'/>"), 1, "<device>", "one without the prefix");
	remarks(LEASE("<v:device uuid='" B "'/>"), 1, B, "a <vgpu:device> without a hostdev");
	remarks(LEASE("<v:device address='0000:41:00.4'/>"), 1, "0000:41:00.4", "likewise of a VF");
	remarks("<v:lease xmlns:v='urn:vgpu-lease:domain:2'/>", 1, DOMXML_NS, "a namespace of another version");
	remarks("<v:lease xmlns:v='urn:vgpulease:domain:1'><v:device uuid='" A "'/></v:lease>", 1, DOMXML_NS,
		"one that is spelt otherwise");
	remarks("<lease><device uuid='" A "'/></lease>", 1, DOMXML_NS, "or is missing");
	remarks("<v:laese xmlns:v='" DOMXML_NS "'/>", 1, "laese", "the namespace alone");
	remarks(LEASE("") LEASE(""), 1, "second", "a second <lease>");
	doc = parse(LEASE("<v:device uuid='" B "' tpye='t'/>"), 0);
	ok(doc && domxml_remarks(doc, &list) == 0, "who does not ask is told nothing");
	domxml_free(doc);

	for (int i = 0; i < 10000; i++)
		strcat(many, "<v:x\xc3\xa4/>");
	strcat(many, "</v:lease>");
	doc = parse(many, DOMXML_REMARKS);
	ok(doc && domxml_remarks(doc, &list) == 32, "thousands end at what anybody reads");
	domxml_free(doc);
	domxml_free(parse("", 0));
	return tap_done();
}
