/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A domain's metadata: of hostdevs with new UUIDs, as of a live migration; without effect; of a suspend. */
#include "base/text.h"
#include "unit/domain/parsed.h"

#define S1 "a6f1a2b3-0000-4000-8000-00000000000a"
#define S2 "a6f1a2b3-0000-4000-8000-00000000000b"

#define INSTANCE NOVA_XML("")
#define NAMED(name) NOVA_XML("<nova:name>" name "</nova:name>")
#define X16 "xxxxxxxxxxxxxxxx"
#define X256 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16

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
	{ STRAY(S1, "type='t1'") STRAY(S2, "type='t2'"), MDEV_XML(A) MDEV_XML(B), "t1 t2", "several follow in order" },
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
		r = request_of(xml, 0);
		is(typed(r), row->typed, row->sentence);
		for (size_t v = 0; v < r->nvgpus; v++)
			named += r->vgpus[v].has_metadata;
		for (const char *at = row->lease; (at = strstr(at, "<v:device")); at++)
			devices++;
		ok(named + r->nexcluded == devices, "and the others are no hostdev's");
	}
}

static void instances(void)
{
	const struct request *r = request_of(DOMAIN(INSTANCE LEASE(STRAY(S1, "type='t1'" AT("05"))), MDEV_AT(A, "05")),
					     0);
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
	is(request_of(DOMAIN(NAMED("web &lt;1&gt; \xc3\xa4"), MDEV_XML(A)), 0)->instance, "web <1> \xc3\xa4",
	   "Nova's name of the instance is whatever its user wrote");
	r = request_of(DOMAIN(NAMED(X256 X256 X256 X256), MDEV_XML(A)), 0);
	ok(r->nova && r->nvgpus == 1 && !*r->instance, "one that is too long is none, and refuses nothing");
	is(request_of(DOMAIN("<instance xmlns='http://example.org/'><name>x</name></instance>", MDEV_XML(A)), 0)
		   ->instance,
	   "", "a name in another namespace is not Nova's");
	r = request_of(DOMAIN(LEASE(STRAY(S1, "type='t1'")), MDEV_XML(A)), 0);
	is(typed(r), "-", "nothing is guessed of a domain that is not Nova's");
	ok(!r->nova, "which it is not");
	r = request_of(DOMAIN(INSTANCE LEASE(STRAY(S1, "type='t1'")) SUSPENDED, MDEV_XML(A)), 0);
	is(typed(r), "-", "nor while a suspend has taken a vGPU, which comes back");
}

/* The domain with an mdev that has this metadata is parsed. */
static bool with_metadata(const char *metadata)
{
	static char xml[1 << 17];

	snprintf(xml, sizeof(xml), DOMAIN("%s", MDEV_XML(A)), metadata);
	return request_of(xml, 0)->nvgpus == 1;
}

static void remarks(const char *metadata, size_t req, const char *word, const char *sentence)
{
	const struct remarks none = { 0 };
	bool parsed = with_metadata(metadata);
	const struct remarks *found = parsed ? domxml_remarks(doc) : &none;
	bool said = !req || (found->n && (strstr(found->list[0].text, word) || strstr(found->list[0].fix, word)));

	if (!ok(parsed && found->n == req && said, "%s", sentence))
		for (size_t i = 0; i < found->n; i++)
			printf("# %s: %s\n", found->list[i].text, found->list[i].fix);
}

static void without_effect(void)
{
	static char many[1 << 17] = "<v:lease xmlns:v='" DOMXML_NS "'>";
	autoremarks struct remarks all = { 0 };

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

	for (int i = 0; i < 10000; i++)
		strcat(many, "<v:x\xc3\xa4/>");
	strcat(many, "</v:lease>");
	ok(with_metadata(many) && domxml_remarks(doc)->n == 32, "thousands end at what anybody reads");
	for (EACH(const struct remark *, remark, domxml_remarks(doc)->list, domxml_remarks(doc)->n))
		remark_add(&all, remark->fix, "%s", remark->text);
	remark_add(&all, "-", "starts without a lease");
	ok(all.n == 33, "and hide no remark that is not about the metadata");
}

/* As libvirt prints them of a running domain. */
#define MDEV_PRINTED                                                                                                   \
	"<hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci' display='off'>\n"                         \
	"      <source>\n        <address uuid='" A "'/>\n      </source>\n      <alias name='hostdev0'/>\n"           \
	"      <address type='pci' domain='0x0000' bus='0x00' slot='0x05' function='0x0'/>\n    </hostdev>"
#define VF_PRINTED                                                                                                     \
	"<hostdev mode='subsystem' type='pci' managed='no'>\n      <source>\n"                                         \
	"        <address domain='0x0000' bus='0x41' slot='0x00' function='0x5'/>\n      </source>\n"                  \
	"      <alias name='ua-second'/>\n    </hostdev>"
#define META LEASE("<v:device uuid='" A "' type='mtty-2' numa='1'/>")
#define RUNNING(metadata, devices)                                                                                     \
	"<domain type='qemu' id='4'><name>vm1</name><uuid>" VM "</uuid><metadata>" metadata "</metadata><devices>"     \
	"<hostdev mode='subsystem' type='usb'><source/></hostdev>" devices "</devices></domain>"

/* `flat`: lines have become blanks, as XML has it in attributes. */
static void has(size_t req, const char *xml, bool flat, const char *alias)
{
	autofree char *got = NULL, *expect = strdup(xml);

	domxml_hostdev(doc, &domxml_request(doc)->vgpus[req], &got, &err);
	for (char *p = expect; flat && *p; p++)
		if (*p == '\n')
			*p = ' ';
	is(got, expect, "its XML is as it stands there");
	is(domxml_request(doc)->vgpus[req].alias, alias, "and libvirt's name of it is read");
}

static void kept(void)
{
	static const char running[] = RUNNING(META, MDEV_PRINTED VF_PRINTED);
	autofree char *record = NULL, *saved = NULL;
	const struct request *r = request_of(running, DOMXML_ALL_PCI);

	ok(r->nvgpus == 2, "a domain that runs with an mdev and a VF");
	has(0, MDEV_PRINTED, false, "hostdev0");
	has(1, VF_PRINTED, false, "ua-second");
	ok(domxml_suspended(doc, &record, &err) == 0, "a record is made of both");
	/* libvirt gives the element its namespace and prefix. */
	if (asprintf(&saved, RUNNING(META "<k:suspended xmlns:k='" DOMXML_SUSPENDED_NS "'%s", ""),
		     record + strlen("<suspended")) < 0)
		abort();
	ok(domxml_concerns(saved, strlen(saved)), "a domain with such a record concerns us");
	ok(request_of(saved, DOMXML_ALL_PCI)->nvgpus == 0 && doc, "though it has no vGPU now");
	r = request_of(saved, DOMXML_SUSPENDED);
	ok(r->nvgpus == 2, "what was taken is read from the record");
	has(0, MDEV_PRINTED, true, "hostdev0");
	has(1, VF_PRINTED, true, "ua-second");
	ok(strcmp(r->vgpus[0].facts.type, "mtty-2") == 0 && r->vgpus[0].numa_node == 1,
	   "with what the metadata says of it");
}

static void not_suspended(void)
{
	static const char none[] = RUNNING(META, MDEV_PRINTED),
			  empty[] = "<domain><name>a</name><uuid>" VM "</uuid></domain>";
	static const char broken[] = RUNNING("<k:suspended xmlns:k='" DOMXML_SUSPENDED_NS "' hostdevs='&lt;hostdev>'/>",
					     "");
	static const char prefixed[] = "<domain xmlns:x='u'><name>a</name><uuid>" VM
				       "</uuid><devices><hostdev mode='subsystem' type='mdev' model='vfio-pci'>"
				       "<source><address uuid='" A "'/></source></hostdev ></devices></domain>";
	char *out;

	ok(request_of(none, DOMXML_SUSPENDED)->nvgpus == 0 && doc, "a domain that was not suspended has no record");
	ok(request_of(empty, DOMXML_SUSPENDED)->nvgpus == 0 && doc, "nor has one without metadata");
	ok_err(!request_of("<domain/>", DOMXML_SUSPENDED)->nvgpus && !doc, "what is no domain is refused");
	ok_err(!request_of(broken, DOMXML_SUSPENDED)->nvgpus && !doc && strstr(err.text, "record"),
	       "so is a record that is none");
	ok_err(request_of(prefixed, 0)->nvgpus == 1 &&
		       domxml_hostdev(doc, domxml_request(doc)->vgpus, &out, &err) == -EINVAL && !out,
	       "a hostdev whose end is not found");
	ok(domxml_suspended(doc, &out, &err) == -EINVAL && !out, "is in no record either");
	parse_bytes("", 0, 0);
}

TESTS(instances, without_effect, kept, not_suspended)
