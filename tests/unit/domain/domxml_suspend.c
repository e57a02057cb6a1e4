/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A device's XML as it stands in the domain's, and the record of what a suspend detached. */
#include "base/auto.h"
#include "lib/tap.h"
#include "lib/xml.h"

/* As libvirt prints them of a running domain. */
#define MDEV                                                                                                           \
	"<hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci' display='off'>\n"                         \
	"      <source>\n        <address uuid='" A "'/>\n      </source>\n      <alias name='hostdev0'/>\n"           \
	"      <address type='pci' domain='0x0000' bus='0x00' slot='0x05' function='0x0'/>\n    </hostdev>"
#define VF                                                                                                             \
	"<hostdev mode='subsystem' type='pci' managed='no'>\n      <source>\n"                                         \
	"        <address domain='0x0000' bus='0x41' slot='0x00' function='0x5'/>\n      </source>\n"                  \
	"      <alias name='ua-second'/>\n    </hostdev>"
#define META LEASE("<v:device uuid='" A "' type='mtty-2' numa='1'/>")
#define RUNNING(metadata, devices)                                                                                     \
	"<domain type='qemu' id='4'><name>vm1</name><uuid>" VM "</uuid><metadata>" metadata "</metadata><devices>"     \
	"<hostdev mode='subsystem' type='usb'><source/></hostdev>" devices "</devices></domain>"

static struct err err;

static struct domxml *parse(const char *xml, unsigned int flags)
{
	struct domxml *doc = NULL;

	domxml_parse(&doc, xml, strlen(xml), flags, &err);
	return doc;
}

/* `flat`: lines have become blanks, as XML has it in attributes. */
static void has(const struct domxml *doc, size_t req, const char *xml, bool flat, const char *alias)
{
	autofree char *got = NULL, *expect = strdup(xml);

	domxml_hostdev(doc, req, &got, &err);
	for (char *p = expect; flat && *p; p++)
		if (*p == '\n')
			*p = ' ';
	is(got, expect, "its XML is as it stands there");
	is(domxml_request(doc)->vgpus[req].alias, alias, "and libvirt's name of it is read");
}

static void kept(void)
{
	static const char running[] = RUNNING(META, MDEV VF);
	struct domxml *doc = parse(running, DOMXML_ALL_PCI), *later;
	autofree char *record = NULL, *saved = NULL;

	ok(doc && domxml_request(doc)->nvgpus == 2, "a domain that runs with an mdev and a VF");
	has(doc, 0, MDEV, false, "hostdev0");
	has(doc, 1, VF, false, "ua-second");
	ok(domxml_suspended(doc, &record, &err) == 0, "a record is made of both");
	domxml_free(doc);
	/* libvirt gives the element its namespace and prefix. */
	if (asprintf(&saved, RUNNING(META "<k:suspended xmlns:k='" DOMXML_SUSPENDED_NS "'%s", ""),
		     record + strlen("<suspended")) < 0)
		abort();
	ok(domxml_concerns(saved, strlen(saved)), "a domain with such a record concerns us");
	doc = parse(saved, DOMXML_ALL_PCI);
	ok(doc && domxml_request(doc)->nvgpus == 0, "though it has no vGPU now");
	later = parse(saved, DOMXML_SUSPENDED);
	ok(later && domxml_request(later)->nvgpus == 2, "what was taken is read from the record");
	has(later, 0, MDEV, true, "hostdev0");
	has(later, 1, VF, true, "ua-second");
	ok(strcmp(domxml_request(later)->vgpus[0].facts.type, "mtty-2") == 0 &&
		   domxml_request(later)->vgpus[0].numa_node == 1,
	   "with what the metadata says of it");
	domxml_free(doc);
	domxml_free(later);
}

static void others(void)
{
	static const char none[] = RUNNING(META, MDEV), empty[] = "<domain><name>a</name><uuid>" VM "</uuid></domain>";
	static const char cut[] = "<domain/>";
	static const char broken[] = RUNNING("<k:suspended xmlns:k='" DOMXML_SUSPENDED_NS "' hostdevs='&lt;hostdev>'/>",
					     "");
	static const char prefixed[] = "<domain xmlns:x='u'><name>a</name><uuid>" VM
				       "</uuid><devices><hostdev mode='subsystem' type='mdev' model='vfio-pci'>"
				       "<source><address uuid='" A "'/></source></hostdev ></devices></domain>";
	struct domxml *doc = parse(none, DOMXML_SUSPENDED);
	char *out;

	ok(doc && domxml_request(doc)->nvgpus == 0, "a domain that was not suspended has no record");
	domxml_free(doc);
	doc = parse(empty, DOMXML_SUSPENDED);
	ok(doc && domxml_request(doc)->nvgpus == 0, "nor has one without metadata");
	domxml_free(doc);
	ok(!parse(cut, DOMXML_SUSPENDED), "what is no domain is refused: %s", err.text);
	ok(!parse(broken, DOMXML_SUSPENDED) && strstr(err.text, "record"), "so is a record that is none: %s", err.text);
	doc = parse(prefixed, 0);
	ok(doc && domxml_hostdev(doc, 0, &out, &err) == -EINVAL && !out, "a hostdev whose end is not found: %s",
	   err.text);
	ok(domxml_suspended(doc, &out, &err) == -EINVAL && !out, "is in no record either");
	domxml_free(doc);
}

TESTS(kept, others)
