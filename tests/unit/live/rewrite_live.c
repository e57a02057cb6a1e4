/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A definition is rewritten where somebody changes it at the same time. libvirt is made up here, in the place
 * of virt's modules: one domain, whose definition others change after it was read.
 */
#include "live/rewrite_live.h"

#include "lib/tree.h"
#include "lib/xml.h"

#define PLACEHOLDER "00000000-0000-0000-0000-000000000001"
#define XML(rest) DOMAIN(rest, MDEV_XML(PLACEHOLDER))

static struct fake {
	const char *xml, *then; /* its definition, and what it is once that was read; NULL none */
	char *defined;          /* what was defined */
} fake;

int virt_xml(struct virt *virt, const char *uuid, unsigned int side, char **xml, struct err *err)
{
	(void)virt, (void)uuid, (void)side;
	*xml = fake.xml ? strdup(fake.xml) : NULL;
	fake.xml = fake.then;
	return *xml ? 0 : err_set(err, ENOENT, "there is no such domain");
}

int virt_define(struct virt *virt, const char *xml, struct err *err)
{
	(void)virt, (void)err;
	fake.defined = strdup(xml);
	return 0;
}

static int rewrite(struct tree *tree, const char *then, size_t *nchanges)
{
	const struct virt_domain domain = { .uuid = VM, .name = (char *)"vm1", .persistent = true };
	struct rewrite r = { .host = &tree->host };
	char *xml = NULL;
	struct err err;
	int n;

	free(fake.defined);
	fake = (struct fake){ .xml = XML(""), .then = then };
	n = rewrite_live(&r, &xml, NULL, &domain, NULL, &err);
	*nchanges = r.nchanges;
	rewrite_end(&r);
	free(xml);
	return n;
}

int main(void)
{
	size_t n;

	TREE(tree, "sys/bus/mdev/devices/\nsys/bus/pci/devices/\nproc/\nvar/lib/\nrun/\netc/\n");
	ok(rewrite(&tree, XML(""), &n) == 0 && n == 1, "a placeholder in a definition changes");
	ok(fake.defined && !strstr(fake.defined, "000000000001'/></source>"), "and is a UUID");
	ok(rewrite(&tree, NULL, &n) == -ENOENT && !fake.defined,
	   "a domain that somebody undefines meanwhile is not defined again");
	ok(rewrite(&tree, XML("<edited/>"), &n) == -ESTALE && !fake.defined,
	   "what somebody edits meanwhile is not written over");
	tree_add(&tree, "sys/bus/mdev/devices/" PLACEHOLDER "/\n");
	ok(rewrite(&tree, XML(""), &n) == 0 && n == 0 && !fake.defined,
	   "a UUID of that form that a device has is none, and nothing is defined");
	return tap_done();
}
