/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A domain's XML: what it asks for, and that an edit changes nothing else. */
#include "domxml.h"

#include <errno.h>
#include <stdlib.h>

#include "auto.h"
#include "tap.h"

#define MDEV(uuid)                                                                                                     \
	"<domain><name>a</name><uuid>67a42c8b-0000-4000-8000-000000000001</uuid><devices>"                             \
	"<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='" uuid "'/></source></hostdev>" \
	"</devices></domain>"

int main(void)
{
	static const char xml[] = MDEV("c6f1a2b3-0000-4000-8000-00000000000a");
	struct domxml_change change = { .id = "d6f1a2b3-0000-4000-8000-00000000000b" };
	struct domxml *doc = NULL;
	struct err err = { 0 };
	autofree char *out = NULL;
	size_t len;

	ok(domxml_parse(&doc, xml, strlen(xml), 0, &err) == 0, "a domain is parsed: %s", err.text);
	ok(domxml_request(doc)->nwants == 1, "its mdev is a want");
	ok(domxml_rewrite(doc, &change, 1, &out, &len, &err) == 0, "it can be rewritten: %s", err.text);
	is(out, MDEV("d6f1a2b3-0000-4000-8000-00000000000b"), "its UUID alone is another one then");
	domxml_free(doc);
	return tap_done();
}
