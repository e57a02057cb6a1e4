/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Metadata of a Nova instance whose hostdevs have been given other UUIDs, as for a live migration. */
#include "base/text.h"
#include "lib/tap.h"
#include "lib/xml.h"

#define S1 "a6f1a2b3-0000-4000-8000-00000000000a"
#define S2 "a6f1a2b3-0000-4000-8000-00000000000b"

#define INSTANCE NOVA_XML("")
/* The name behind it in Nova. */
#define NAMED(name) NOVA_XML("<nova:name>" name "</nova:name>")
#define X16 "xxxxxxxxxxxxxxxx"
#define X256 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16

static struct domxml *doc;

static struct err err;

static const struct request *request_of(const char *xml)
{
	static const struct request none;

	domxml_free(doc);
	doc = NULL;
	if (domxml_parse(&doc, xml, strlen(xml), 0, &err) < 0) {
		printf("# %s\n", err.text);
		doc = NULL;
	}
	return doc ? domxml_request(doc) : &none;
}

#define STRAY(uuid, rest) "<v:device uuid='" uuid "' " rest "/>"
/* A hostdev at 0000:00:SLOT.0 of the guest. */
#define MDEV_AT(uuid, slot)                                                                                            \
	"<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='" uuid                          \
	"'/></source><address type='pci' domain='0x0000' bus='0x00' slot='0x" slot "' function='0x0'/></hostdev>"
#define AT(slot) " guest='0000:00:" slot ".0'"
#define SUSPENDED "<s:suspended xmlns:s='" DOMXML_SUSPENDED_NS "' hostdevs=''/>"

/* Of each hostdev the type and the driver's version that its facts have; "-" it has none. */
static const char *typed(const struct request *request)
{
	static char text[256];

	text[0] = '\0';
	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct migration_facts *facts = &request->vgpus[i].facts;

		text_add(text, sizeof(text), "%s%s%s", i ? " " : "", *facts->type ? facts->type : "-", facts->driver);
	}
	return text;
}

static const struct {
	const char *lease, *hostdevs, *typed, *sentence;
} rows[] = {
	{ STRAY(S1, "type='t' driver='1'"), MDEV_XML(A), "t1", "the facts of the only vGPU follow its hostdev" },
	{ STRAY(S1, "type='t1'") STRAY(S2, "type='t2'"), MDEV_XML(A) MDEV_XML(B), "t1 t2",
	  "those of several follow in their order" },
	{ STRAY(S1, "type='t1'") STRAY(A, "type='t2'"), MDEV_XML(A) MDEV_XML(B), "t2 t1",
	  "a hostdev that is named keeps its own" },
	{ STRAY(S1, "type='t1'" AT("06")) STRAY(S2, "type='t2'" AT("05")), MDEV_AT(A, "05") MDEV_AT(B, "06"), "t2 t1",
	  "the guest's address decides, and not the order" },
	{ STRAY(S1, "type='t1'" AT("05")) STRAY(S2, "type='t2'" AT("06")), MDEV_AT(A, "06"), "t2",
	  "it does where there is a <vgpu:device> too many" },
	{ STRAY(S1, "type='t1'" AT("06")), MDEV_AT(A, "05") MDEV_AT(B, "06"), "- t1", "or one too few" },
	{ STRAY(S1, "type='t1'" AT("06")) STRAY(S2, "type='t2'"), MDEV_AT(A, "05") MDEV_AT(B, "06"), "t2 t1",
	  "the order is that of those without an address" },
	{ STRAY(S1, "type='t1'" AT("07")), MDEV_AT(A, "05"), "-", "at another address there is another vGPU" },
	{ STRAY(S1, "type='t1'" AT("05")) STRAY(S2, "type='t2'" AT("05")), MDEV_AT(A, "05"), "-",
	  "nor is guessed which of two at one address is meant" },
	{ STRAY(S1, "type='t1'" AT("05")), MDEV_AT(A, "05") MDEV_AT(B, "05"), "- -", "or which of two hostdevs" },
	{ STRAY(S1, "type='t1' guest='05'"), MDEV_AT(A, "05"), "t1", "an address that is none counts as missing" },
	{ STRAY(S1, "type='t' driver='1'") STRAY(S2, "type='t' driver='1'"), MDEV_XML(A), "t1",
	  "where each of too many says the same, that is what the hostdev has" },
	{ STRAY(S1, "type='t' driver='1'") STRAY(S2, "type='t' driver='2'"), MDEV_XML(A), "-",
	  "which of several is meant is not guessed: of one type with two drivers" },
	{ STRAY(S1, "type='t1'") STRAY(S2, "type='t2'"), MDEV_XML(A), "-", "nor of two types" },
	{ STRAY(S1, "type='t1'") STRAY(S2, "type='t1' numa='1'"), MDEV_XML(A), "-", "nor with two preferences" },
	{ STRAY(S1, "type='t1'"), MDEV_XML(A) MDEV_XML(B), "- -", "nor which of two hostdevs" },
	{ "<v:device address='0000:41:00.4' type='t1'/>", MDEV_XML(A), "-", "those of a VF are not an mdev's" },
};

/* Each vGPU has at most one <vgpu:device>; what is left belongs to a vGPU that the domain does not have. */
static void facts_follow(void)
{
	for (ROWS(row, rows)) {
		char xml[4096];
		const struct request *r;
		size_t named = 0, devices = 0;

		snprintf(xml, sizeof(xml), DOMAIN(INSTANCE LEASE("%s"), "%s"), row->lease, row->hostdevs);
		r = request_of(xml);
		is(typed(r), row->typed, row->sentence);
		for (size_t v = 0; v < r->nvgpus; v++)
			named += r->vgpus[v].has_metadata;
		for (const char *at = row->lease; (at = strstr(at, "<v:device")); at++)
			devices++;
		ok(named + r->nexcluded == devices, "and the others are no hostdev's");
	}
}

int main(void)
{
	const struct request *r = request_of(DOMAIN(INSTANCE LEASE(STRAY(S1, "type='t1'" AT("05"))), MDEV_AT(A, "05")));
	struct domxml_change change = { .req = 0, .id = B };
	char *out = NULL;
	size_t len;

	ok(r->nova, "an instance is Nova's");
	is(r->instance, "", "without a name it has none");
	ok(domxml_rewrite(doc, &change, 1, &out, &len, &err) == 0 && !strstr(out, S1) && !strstr(out, A) &&
		   strstr(out, AT("05")),
	   "the UUID in facts that followed is rewritten with that of the hostdev");
	free(out);
	facts_follow();
	is(request_of(DOMAIN(NAMED("web &lt;1&gt; \xc3\xa4"), MDEV_XML(A)))->instance, "web <1> \xc3\xa4",
	   "Nova's name of the instance is whatever its user wrote");
	r = request_of(DOMAIN(NAMED(X256 X256 X256 X256), MDEV_XML(A)));
	ok(r->nova && r->nvgpus == 1 && !*r->instance, "one that is too long is none, and refuses nothing");
	is(request_of(DOMAIN("<instance xmlns='http://example.org/'><name>x</name></instance>", MDEV_XML(A)))->instance,
	   "", "a name in another namespace is not Nova's");
	r = request_of(DOMAIN(LEASE(STRAY(S1, "type='t1'")), MDEV_XML(A)));
	is(typed(r), "-", "nothing is guessed of a domain that is not Nova's");
	ok(!r->nova, "which it is not");
	r = request_of(DOMAIN(INSTANCE LEASE(STRAY(S1, "type='t1'")) SUSPENDED, MDEV_XML(A)));
	is(typed(r), "-", "nor while a suspend has taken a vGPU, which comes back");
	domxml_free(doc);
	return tap_done();
}
