/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is written into definitions where somebody changes them at the same time. libvirt is made up here, in the place
 * of virt's modules: one domain, whose definition others change after it was read.
 */
#include "daemon/internal.h"

#include <errno.h>

#include "lib/tap.h"
#include "lib/tree.h"

#define VM "dddddddd-0000-4000-8000-000000000001"
#define XML(name)                                                                                                      \
	"<domain type='kvm'><name>" name "</name><uuid>" VM "</uuid><devices><hostdev mode='subsystem' type='mdev' "   \
	"model='vfio-pci'><source><address uuid='00000000-0000-0000-0000-000000000001'/></source></hostdev></devices>" \
	"</domain>"

static struct fake {
	const char *xml, *then; /* its definition, and what it is once that was read; NULL none */
	char *defined;          /* what was defined */
} fake;

static int news;

bool virt_alive(const struct virt *virt)
{
	(void)virt;
	return true;
}

int virt_xml(struct virt *virt, const char *uuid, unsigned int side, char **xml, struct err *err)
{
	(void)virt;
	(void)uuid;
	(void)side;
	*xml = fake.xml ? strdup(fake.xml) : NULL;
	fake.xml = fake.then;
	return *xml ? 0 : err_set(err, ENOENT, "there is no such domain");
}

int virt_define(struct virt *virt, const char *xml, struct err *err)
{
	(void)virt;
	(void)err;
	fake.defined = strdup(xml);
	return 0;
}

int virt_list(struct virt *virt, bool running_only, struct virt_domain **out, size_t *n, struct err *err)
{
	(void)virt;
	(void)running_only;
	(void)err;
	*out = NULL;
	*n = 0;
	return 0;
}

void virt_list_free(struct virt_domain *list, size_t n)
{
	(void)list;
	(void)n;
}

int virt_set_metadata(struct virt *virt, const char *uuid, const struct virt_element *element, const char *xml,
		      unsigned int sides, struct err *err)
{
	(void)virt;
	(void)uuid;
	(void)element;
	(void)xml;
	(void)sides;
	return err_set(err, ENOENT, "nobody runs");
}

static void on_news(void *arg)
{
	(void)arg;
	news++;
}

/* After an event that the domain was defined; its definition becomes `then` as soon as it was read. */
static struct guests write_after(struct tree *tree, const char *then)
{
	struct guests g = { .virt = (struct virt *)&fake, .news = on_news, .ndefined = 1 };
	struct config config;

	config_default(&config);
	free(fake.defined);
	fake = (struct fake){ .xml = XML("vm1"), .then = then };
	news = 0;
	memcpy(g.defined[0], VM, UUID_SIZE);
	guests_write(&g, &tree->host, &config);
	config_free(&config);
	return g;
}

int main(void)
{
	struct tree tree;
	struct guests g;

	tree_begin(&tree, "sys/bus/mdev/devices/\nsys/bus/pci/devices/\nproc/\nvar/lib/\nrun/\netc/\n");
	g = write_after(&tree, XML("vm1"));
	ok(fake.defined && !strstr(fake.defined, "000000000001'/></source>"),
	   "a placeholder in a definition becomes a UUID");
	ok(!g.any_defined && news == 0, "and that was all");
	g = write_after(&tree, NULL);
	ok(!fake.defined, "a domain that somebody undefines meanwhile is not defined again");
	ok(!g.any_defined && news == 0, "and forgotten");
	g = write_after(&tree, XML("vm2"));
	ok(!fake.defined, "what somebody edits meanwhile is not written over");
	ok(g.any_defined && news == 1, "but looked at again");
	free(fake.defined);
	tree_end(&tree);
	return tap_done();
}
