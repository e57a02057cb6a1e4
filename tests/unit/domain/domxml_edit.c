/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The edit of a domain's XML: what it replaces, and that every other byte stays as it was. */
#include "lib/messages.h"
#include "unit/domain/parsed.h"

#define NEW_A "11111111-2222-4333-8444-55555555555a"
#define NEW_B "11111111-2222-4333-8444-55555555555b"
#define FAKE MDEV_XML(A)

/* All that can mislead who edits bytes. Between two '\1' is the number of a place that an edit replaces, alone. */
static const char awkward[] =
	"\xef\xbb\xbf<?xml version='1.0' encoding='UTF-8'?>\r\n"
	"<!-- " FAKE "-> - >\" ' -->\r\n"
	"<?php <domain> " FAKE " \" ?>\r\n"
	"<domain type=\"qemu\" xmlns:q='urn:vgpu-lease:domain:1' xmlns:uuid=\"urn:x\" id='3' title='a>b \"/> &lt;!-- -->'>\r\n"
	"  <name>G\xc3\xa4st &amp; &#x1F600; <![CDATA[" FAKE " ]] ]>]]></name>\r\n"
	"  <uuid>" VM "</uuid>\r"
	"\t<description>'\" <address uuid=\"" B "\"/> > ]] > &lt;hostdev/></description>\n"
	"  <metadata>\r\n"
	"    <other xmlns='http://example.org/x?a=1&amp;b=\"2\"'>" FAKE "<device uuid='" A "'/></other>\r\n"
	"    <q:lease\r\n>\r\n"
	"      <q:device placement='pack' \r\n uuid\t=\n\"\1"
	"1\1\"\1"
	"9\1\ttype=\"\1"
	"7\1\"><!--/--></q:device\n>\r\n"
	"      <device xmlns='urn:vgpu-lease:domain:1' x='/>' address='\1"
	"6\1'/>\n"
	"      <q:device uuid='99999999-0000-4000-8000-000000000000' type='a'/>\n"
	"    </q:lease>\r\n"
	"  </metadata>\r\n"
	"  <devices><!----><!-->" FAKE "-->"
	"<!-- - -->\n"
	"    <hostdev mode=\"subsystem\" type='&#109;dev' managed='no' model='vfio&#x2d;pci' a='>'>\r\n"
	"      <source ><?x?><address xmlns='' xmlns:y='u' y:uid='" A "' z:uuid='" A "' uuidx='" A "' uuid = '\1"
	"1\1' ></address ></source>\r\n"
	"      <address type='pci' domain='0x0000' bus='0x41' slot='0x00' function='0x5' uuid='" A "'/>\r\n"
	"    </hostdev>\r\n"
	"    <hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid:uuid='\1"
	"2\1' uuid='" A "'/></source></hostdev>\n"
	"    <hostdev mode='subsystem' type='pci' managed='no'>\r\n"
	"      <driver name='vfio'/><source><address function='\1"
	"3\1' slot = \"\1"
	"4\1\"\n bus='\1"
	"5\1' domain='\1"
	"8\1'/></source>\r\n"
	"      <address type='pci' domain='0x0000' bus='0x41' slot='0x00' function='0x5'/>\r\n"
	"    </hostdev>\r\n"
	"  </devices>\r\n"
	"  <q:commandline xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'><q:arg value='-device,vfio-pci,uuid=" A
	"'/></q:commandline>\r\n"
	"</domain>";

/* What stands at the places 1 to 9. */
struct places {
	const char *at[10];
};

static const struct places before = {
	{ NULL, "C6F1A2B300004000 8000-0000000&#48;000A\n", B, "5", "0", "&#48;x41", "0000:41:00.5", "a &lt; b", "0x0",
	  "\tname='old &amp;&quot; uuid=\"" A "\"'" },
};

/* Places that are left out are as they were. */
static char *fill(const struct places *places)
{
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	for (const char *p = awkward; *p; p++) {
		if (*p != '\1') {
			putc(*p, f);
			continue;
		}
		fputs(places->at[p[1] - '0'] ? places->at[p[1] - '0'] : before.at[p[1] - '0'], f);
		p += 2;
	}
	fclose(f);
	return out;
}

static int rewrite(const char *xml, const struct domxml_change *changes, size_t n, char **out)
{
	size_t len;
	int r = parse_bytes(xml, strlen(xml), DOMXML_ALL_PCI);

	*out = NULL;
	if (r == 0)
		r = domxml_rewrite(doc, changes, n, out, &len, &err);
	if (r == 0)
		ok(len == strlen(*out), "the length is that of the text");
	if (r < 0)
		printf("# %s\n", err.text);
	return r;
}

#define TO(request, name, ...) { .req = request, .id = name, ##__VA_ARGS__ }

static void bytes(void)
{
	static const struct {
		const char *sentence;
		size_t n;
		struct domxml_change changes[2];
		struct places after;
	} rows[] = {
		{ "without changes it is a copy", 0, { { .req = 0 } }, { { NULL } } },
		{ "UUIDs are replaced in the hostdev and in its metadata, and nothing else is",
		  2,
		  { TO(1, NEW_B), TO(0, NEW_A) },
		  { { [1] = NEW_A, [2] = NEW_B } } },
		{ "an address is replaced number by number",
		  1,
		  { TO(2, "10000:3b:1f.7") },
		  { { [3] = "0x7", [4] = "0x1f", [5] = "0x3b", [6] = "10000:3b:1f.7", [8] = "0x10000" } } },
		{ "two vGPUs can change places", 2, { TO(1, A), TO(0, B) }, { { [1] = B, [2] = A } } },
		{ "a fact that is there is replaced, one that is not is added, an unknown one taken out",
		  1,
		  { TO(0, "", .has_facts = true,
		       .facts = { .type = "<'\"&>", .framework = "vf", .model = "10de:1eb8", .driver = "1" }) },
		  { { [7] = "&lt;&apos;&quot;&amp;>", [9] = " framework='vf' model='10de:1eb8' driver='1'" } } },
		{ "a vGPU without metadata gets none",
		  1,
		  { TO(1, "", .has_facts = true, .facts.type = "x") },
		  { { NULL } } },
		{ "a record that knows nothing adds nothing",
		  1,
		  { TO(2, "0000:41:00.5", .has_facts = true) },
		  { { [3] = "0x5", [4] = "0x00", [5] = "0x41", [8] = "0x0000" } } },
	};
	autofree char *xml = fill(&before);
	const struct request *request = request_of(xml, 0);

	if (ok(request->nvgpus == 3, "the document has three vGPUs")) {
		is(request->vgpus[0].id, A, "the first of them by its UUID");
		is(request->vgpus[0].facts.type, "a < b", "with its type");
		is(request->vgpus[2].id, "0000:41:00.5", "the third by its address");
	}
	for (ROWS(row, rows)) {
		autofree char *after = fill(&row->after), *got = NULL;

		rewrite(xml, row->changes, row->n, &got);
		is(got, after, row->sentence);
	}
}

#define LEASED(devices, hostdevs) DOMAIN(LEASE(devices), hostdevs)

static void framework_changes(void)
{
	static const struct {
		struct domxml_change change;
		const char *before, *after, *sentence;
	} rows[] = {
		{ TO(0, "0000:3b:00.4", .changes_framework = true),
		  LEASED("<v:device numa='1' uuid='" A "' type='t'/>",
			 "<hostdev mode='subsystem' type='mdev' managed='yes' model=\"vfio-pci\" display='off' ramfb='on'>"
			 "<source><address uuid='" A "'/></source><address type='pci' bus='1'/></hostdev>"),
		  LEASED("<v:device numa='1' address='0000:3b:00.4' type='t'/>",
			 "<hostdev mode='subsystem' type='pci' managed='no' display='off' ramfb='on'>"
			 "<source><address domain='0x0000' bus='0x3b' slot='0x00' function='0x4'/></source>"
			 "<address type='pci' bus='1'/></hostdev>"),
		  "an mdev becomes a VF, and loses what only an mdev has, but not its display" },
		{ TO(0, A, .changes_framework = true, .has_facts = true, .facts = { .type = "t", .driver = "1" }),
		  LEASED("<v:device address='0000:3b:00.4' model='x'/>",
			 "<hostdev type='pci' ramfb='on' display=\"on\"><driver name='vfio'/><source>"
			 "<address domain='0' slot='0' bus='0x3b' function='4'/></source></hostdev>"),
		  LEASED("<v:device uuid='" A "' type='t' driver='1'/>",
			 "<hostdev type='mdev' managed='no' model='vfio-pci' ramfb='on' display=\"on\"><driver name='vfio'/><source>"
			 "<address uuid='" A "'/></source></hostdev>"),
		  "a VF becomes an mdev, likewise" },
		{ TO(0, "0000:3b:00.4", .changes_framework = true),
		  LEASED("", "<hostdev mode='subsystem' model='vfio-pci'\n\ttype='mdev' >"
			     "<source><address domain='9' x='y'\tuuid='" A "'  bus='2' /></source></hostdev>"),
		  LEASED("",
			 "<hostdev mode='subsystem'\n\ttype='pci' managed='no' >"
			 "<source><address domain='0x0000' x='y' slot='0x00' function='0x4'  bus='0x3b' /></source></hostdev>"),
		  "nothing is in the address twice" },
		{ TO(0, A, .changes_framework = true),
		  LEASED("", "<hostdev type='pci'><source><address uuid='7' slot='1'/></source></hostdev>"),
		  LEASED("", "<hostdev type='mdev' managed='no' model='vfio-pci'><source><address uuid='" A
			     "'/></source></hostdev>"),
		  "so does a UUID where none belongs" },
	};
	static const struct domxml_change to_vf = TO(0, "0000:3b:00.4", .changes_framework = true);
	static const struct domxml_change to_mdev = TO(0, A, .changes_framework = true);
	autofree char *got = NULL;

	for (ROWS(row, rows)) {
		autofree char *one = NULL;

		rewrite(row->before, &row->change, 1, &one);
		is(one, row->after, row->sentence);
	}
	rewrite(LEASED("<v:device xmlns:x='u' x:uuid='" A "' uuid='" B "'/>",
		       "<hostdev type='mdev' model='vfio-pci'><source><address uuid='" A "'/></source></hostdev>"),
		&to_vf, 1, &got);
	ok(err.code == EINVAL && says(err.text, "M_NOT_OTHER_KIND"), "a document that would break is refused");
	rewrite(LEASED("", "<hostdev type='pci'><source><address/></source></hostdev>"), &to_mdev, 1, &got);
	ok(err.code == EINVAL && says(err.text, "M_ADDRESS_EMPTY"), "so is an address of nothing");
}

static void impossible(void)
{
	static const struct {
		const char *sentence, *because;
		size_t n;
		struct domxml_change changes[2];
	} bad[] = {
		{ "two vGPUs never get one id", "M_EDIT_TWO_SAME", 1, { TO(0, B) } },
		{ "nor by two changes", "M_EDIT_TWO_SAME", 2, { TO(0, NEW_A), TO(1, NEW_A) } },
		{ "an mdev does not get an address", "M_META_NOT_A_UUID", 1, { TO(0, "0000:41:00.0") } },
		{ "a PCI device does not get a UUID", "M_META_NOT_PCI", 1, { TO(2, NEW_A) } },
		{ "unless it stays what it is", "M_META_NOT_PCI", 1, { TO(0, NEW_A, .changes_framework = true) } },
		{ "nor does anything get what is no id", "M_META_NOT_A_UUID", 1, { TO(0, "x' y='") } },
		{ "nothing gets an id that stale metadata is waiting for",
		  "M_EDIT_NAMED",
		  1,
		  { TO(0, "99999999-0000-4000-8000-000000000000") } },
	};
	static const char *const incomplete[] = { "slot='0' function='0'", "domain='0' bus='1' slot='0'",
						  "domain='0' bus='1' function='0'" };
	static const struct domxml_change pci = TO(0, "0000:41:00.0");
	autofree char *xml = fill(&before);
	autofree char *got = NULL;

	for (ROWS(row, bad))
		ok(rewrite(xml, row->changes, row->n, &got) == -EINVAL && says(err.text, row->because), "%s",
		   row->sentence);
	for (ROWS(address, incomplete)) {
		char text[512];

		snprintf(text, sizeof(text), DOMAIN("", "<hostdev type='pci'><source><address %s/></source></hostdev>"),
			 *address);
		ok(rewrite(text, &pci, 1, &got) == -EINVAL && says(err.text, "M_ADDRESS_INCOMPLETE"),
		   "an address of %s is not rewritten", *address);
	}
}

/* Whatever is cut off, and wherever a byte is another one: an error, or the same vGPUs, never others. */
static void damaged(void)
{
	autofree char *xml = fill(&before);
	size_t len = strlen(xml), passed = 0, strange = 0;

	for (size_t cut = 0; cut < len; cut++)
		passed += parse_bytes(xml, cut, 0) == 0;
	ok(passed == 0, "cut short at any of %zu bytes it is refused", len);
	for (size_t at = 0; at < len; at++) {
		static const char other[] = "<>'\"&!/-]? =";
		char was = xml[at];

		xml[at] = other[at % (sizeof(other) - 1)];
		if (parse_bytes(xml, len, 0) == 0) {
			const struct request *request = domxml_request(doc);

			for (size_t i = 0; i < request->nvgpus; i++)
				strange += strcmp(request->vgpus[i].id, A) != 0 &&
					   strcmp(request->vgpus[i].id, B) != 0 &&
					   strcmp(request->vgpus[i].id, "0000:41:00.5") != 0;
		} else {
			strange += strchr(err.text, '\n') != NULL;
		}
		xml[at] = was;
	}
	ok(strange == 0, "with any byte damaged it is refused, or means what it meant");
	parse_bytes("", 0, 0);
}

TESTS(bytes, framework_changes, impossible, damaged)
