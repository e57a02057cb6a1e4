/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Metadata of a Nova instance whose hostdevs have been given other UUIDs, as for a live migration. */
#include "domain/domxml.h"

#include <stdlib.h>

#include "lib/tap.h"

#define U1 "c6f1a2b3-0000-4000-8000-00000000000a"
#define U2 "c6f1a2b3-0000-4000-8000-00000000000b"
#define S1 "a6f1a2b3-0000-4000-8000-00000000000a"
#define S2 "a6f1a2b3-0000-4000-8000-00000000000b"

#define INSTANCE "<nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/>"
#define LEASE(rest) "<v:lease xmlns:v='urn:vgpu-lease:domain:1'>" rest "</v:lease>"
#define MDEV(uuid)                                                                                                     \
	"<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='" uuid "'/></source></hostdev>"
#define DOMAIN(metadata, devices)                                                                                      \
	"<domain><name>vm1</name><uuid>67a42c8b-1111-4000-8000-000000000001</uuid><metadata>" metadata                 \
	"</metadata><devices>" devices "</devices></domain>"

/* The name behind it in Nova. */
#define NAMED(name)                                                                                                    \
	"<nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'><nova:name>" name                     \
	"</nova:name></nova:instance>"
#define X16 "xxxxxxxxxxxxxxxx"
#define X256 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16

static struct domxml *doc;

static const struct request *request_of(const char *xml)
{
	static const struct request none;
	struct err err;

	domxml_free(doc);
	doc = NULL;
	if (domxml_parse(&doc, xml, strlen(xml), 0, &err) < 0) {
		printf("# %s\n", err.text);
		doc = NULL;
	}
	return doc ? domxml_request(doc) : &none;
}

static bool is_typed(const struct request *request, size_t vgpu, const char *type)
{
	return vgpu < request->nvgpus && strcmp(request->vgpus[vgpu].facts.type, type) == 0;
}

int main(void)
{
	const struct request *r = request_of(
		DOMAIN(INSTANCE LEASE("<v:device uuid='" S1 "' type='t1' driver='1'/>"), MDEV(U1)));
	struct domxml_change change = { .req = 0, .id = U2 };
	struct err err = { 0 };
	char *out = NULL;
	size_t len;

	is(r->instance, "", "an instance without a name has none");
	ok(r->nova && is_typed(r, 0, "t1") && strcmp(r->vgpus[0].facts.driver, "1") == 0 && r->nexcluded == 0,
	   "the facts of the only vGPU follow its hostdev");
	ok(domxml_rewrite(doc, &change, 1, &out, &len, &err) == 0 && !strstr(out, S1) && !strstr(out, U1),
	   "and are rewritten with it");
	free(out);
	is(request_of(DOMAIN(NAMED("web &lt;1&gt; \xc3\xa4"), MDEV(U1)))->instance, "web <1> \xc3\xa4",
	   "Nova's name of the instance is whatever its user wrote");
	r = request_of(DOMAIN(NAMED(X256 X256 X256 X256), MDEV(U1)));
	ok(r->nova && r->nvgpus == 1 && !*r->instance, "one that is too long is none, and refuses nothing");
	is(request_of(DOMAIN("<instance xmlns='http://example.org/'><name>x</name></instance>", MDEV(U1)))->instance,
	   "", "a name in another namespace is not Nova's");
	r = request_of(DOMAIN(INSTANCE LEASE("<v:device uuid='" S1 "' type='t1'/><v:device uuid='" S2 "' type='t2'/>"),
			      MDEV(U1) MDEV(U2)));
	ok(is_typed(r, 0, "t1") && is_typed(r, 1, "t2"), "those of several follow in their order");
	r = request_of(DOMAIN(INSTANCE LEASE("<v:device uuid='" S1 "' type='t1'/><v:device uuid='" U1 "' type='t2'/>"),
			      MDEV(U1) MDEV(U2)));
	ok(is_typed(r, 0, "t2") && is_typed(r, 1, "t1"), "a hostdev that is named keeps its own");
	r = request_of(DOMAIN(INSTANCE LEASE("<v:device uuid='" S1 "' type='t1'/><v:device uuid='" S2 "' type='t2'/>"),
			      MDEV(U1)));
	ok(is_typed(r, 0, "") && r->nexcluded == 2, "which of several is meant is not guessed");
	r = request_of(DOMAIN(INSTANCE LEASE("<v:device address='0000:41:00.4' type='t1'/>"), MDEV(U1)));
	ok(is_typed(r, 0, ""), "those of a VF are not an mdev's");
	r = request_of(DOMAIN(LEASE("<v:device uuid='" S1 "' type='t1'/>"), MDEV(U1)));
	ok(is_typed(r, 0, "") && !r->nova, "nor is anything guessed of a domain that is not Nova's");
	r = request_of(DOMAIN(
		INSTANCE LEASE("<v:device uuid='" S1
			       "' type='t1'/>") "<s:suspended xmlns:s='urn:vgpu-lease:suspended:1' hostdevs=''/>",
		MDEV(U1)));
	ok(is_typed(r, 0, ""), "nor while a suspend has taken a vGPU, which comes back");
	domxml_free(doc);
	return tap_done();
}
