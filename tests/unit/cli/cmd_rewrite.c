/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease rewrite of a definition that others change after it was read. libvirt is made up here: one domain. */
#include "cli/cmd.h"

#include "lib/tree.h"
#include "lib/xml.h"

#define PLACEHOLDER "00000000-0000-0000-0000-000000000001"
#define XML(rest) DOMAIN(rest, MDEV_XML(PLACEHOLDER))

static struct fake {
	const char *xml, *then; /* its definition, and what it is once that was read; NULL none */
	char *defined;          /* what was defined */
} fake;

int __wrap_virt_open(struct virt **out, const char *uri, struct err *err)
{
	*out = NULL;
	return 0;
}

int __wrap_virt_find(struct virt *virt, const char *name, struct virt_domain *out, struct err *err)
{
	*out = (struct virt_domain){ .uuid = VM, .name = strdup(name), .persistent = true };
	return 0;
}

int __wrap_virt_xml(struct virt *virt, const char *uuid, unsigned int side, char **xml, struct err *err)
{
	*xml = fake.xml ? strdup(fake.xml) : NULL;
	fake.xml = fake.then;
	return *xml ? 0 : err_set(err, ENOENT, "there is no such domain");
}

int __wrap_virt_define(struct virt *virt, const char *xml, struct err *err)
{
	fake.defined = strdup(xml);
	return 0;
}

static int rewrite(struct tree *tree, const char *then)
{
	char *operands[] = { (char *)"vm1" };
	struct cmd_call call = { .args = { .root = tree->path, .operands = operands, .noperands = 1 },
				 .connect = "test" };
	struct cmd cmd = CMD_NONE(&call);
	struct err err = { 0 };
	int r;

	free(fake.defined);
	fake = (struct fake){ .xml = XML(""), .then = then };
	r = cmd_rewrite.run(&cmd, &err);
	cmd_close(&cmd);
	return r;
}

int main(void)
{
	TREE(tree, "sys/bus/mdev/devices/\nsys/bus/pci/devices/\nproc/\nvar/lib/\nrun/\netc/\n");
	ok(rewrite(&tree, XML("")) == 0 && fake.defined, "a placeholder in a definition changes");
	ok(fake.defined && !strstr(fake.defined, "000000000001'/></source>"), "and is a UUID");
	ok(rewrite(&tree, NULL) == -ENOENT && !fake.defined,
	   "a domain that somebody undefines meanwhile is not defined again");
	ok(rewrite(&tree, XML("<edited/>")) == -ESTALE && !fake.defined,
	   "what somebody edits meanwhile is not written over");
	tree_add(&tree, "sys/bus/mdev/devices/" PLACEHOLDER "/\n");
	ok(rewrite(&tree, XML("")) == 0 && !fake.defined,
	   "a UUID of that form that a device has is none, and nothing is defined");
	return tap_done();
}
