/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libvirt in our words, on libvirt's own made-up host (its test driver): what has devices and QEMU is in tests/vm. */
#include "libvirt/virt.h"

#include "lib/messages.h"
#include "lib/tree.h"

#define VM "67a42c8b-0000-4000-8000-000000000001"
#define NS "urn:test:1"

static const char node[] = "node.xml = <node><domain type='test'><name>vm1</name><uuid>" VM
			   "</uuid><memory>8192</memory>"
			   "<os><type>hvm</type></os></domain></node>";

static struct err err;

static void connections(const char *uri)
{
	struct virt *virt;

	ok_err(virt_open(&virt, "test:///nowhere/node.xml", &err) < 0 && !virt,
	       "a connection that cannot be made is an error");
	ok_err(virt_open(&virt, "qemu+unix:///system?socket=/nowhere/sock", &err) == -ENOTCONN &&
		       says(err.text, "M_VIRTQEMUD"),
	       "so is a libvirtd that does not run");
	ok(virt_open(&virt, uri, &err) == 0, "one that can is made");
	virt_close(virt);
	virt_close(NULL);
}

static void domains(struct virt *virt)
{
	struct virt_domain one;
	char *xml;

	ok(virt_all_xml(virt, &xml, &err) == 0 && strstr(xml, "<domain type='test' id='1'>") &&
		   strstr(xml, "<domain type='test'>"),
	   "the XML of all domains has both sides of a running one");
	free(xml);
	ok(virt_find(virt, "vm1", &one, &err) == 0, "a domain is found by its name");
	is(one.uuid, VM, "with its UUID");
	is(one.name, "vm1", "and name");
	ok(one.running && one.persistent && strstr(one.xml, "<name>vm1</name>"), "state and XML");
	virt_domain_free(&one);
	ok(virt_find(virt, VM, &one, &err) == 0, "and by its UUID");
	virt_domain_free(&one);
	ok(virt_define(virt,
		       "<domain type='test'><name>" VM "</name><uuid>99999999-0000-4000-8000-00000000000d</uuid>"
		       "<memory>8192</memory><os><type>hvm</type></os></domain>",
		       &err) == 0 &&
		   virt_find(virt, VM, &one, &err) == 0 && strcmp(one.name, "vm1") == 0,
	   "also where another domain is named so");
	virt_domain_free(&one);
	ok_err(virt_find(virt, "vm2", &one, &err) == -ENOENT && strstr(err.text, "vm2"), "one that is not there");
	ok(virt_xml(virt, VM, VIRT_CONFIG, &xml, &err) == 0 && !strstr(xml, "id='1'"), "a definition has no id");
	ok(virt_define(virt, xml, &err) == 0, "and can be defined again");
	free(xml);
	ok(virt_xml(virt, VM, VIRT_LIVE, &xml, &err) == 0 && strstr(xml, "id='1'"), "a running domain's XML has one");
	free(xml);
	ok_err(virt_define(virt, "<domain/>", &err) < 0, "what is no domain is not defined");
}

static bool has_element(struct virt *virt, unsigned int side)
{
	char *xml = NULL;
	bool has = virt_xml(virt, VM, side, &xml, &err) == 0 && strstr(xml, "<t:lease xmlns:t=\"" NS "\" a=\"1\"/>");

	free(xml);
	return has;
}

static void metadata(struct virt *virt)
{
	ok(virt_set_metadata(virt, VM, NS, "t", "<lease a='1'/>", VIRT_LIVE, &err) == 0, "metadata is set, live");
	ok(has_element(virt, VIRT_LIVE), "and there");
	ok(!has_element(virt, VIRT_CONFIG), "the definition has none of it");
	ok(virt_set_metadata(virt, VM, NS, "t", NULL, VIRT_LIVE, &err) == 0 && !has_element(virt, VIRT_LIVE),
	   "it can be removed");
	ok_err(virt_set_metadata(virt, VM, NS, "t", "<lease", VIRT_LIVE, &err) < 0, "what is no XML is an error");
}

static void saved(struct virt *virt)
{
	char *xml;

	ok_err(virt_start(virt, VM, &err) < 0, "one that runs is not started");
	ok(virt_saved_xml(virt, VM, &xml, &err) == 0 && !xml, "nothing is saved");
	ok(virt_managed_save(virt, VM, &err) == 0, "a domain is saved");
	ok_err(virt_saved_xml(virt, VM, &xml, &err) != 0, "and says so (the test driver has no XML of an image)");
	free(xml);
	ok(virt_start(virt, VM, &err) == 0 && virt_saved_xml(virt, VM, &xml, &err) == 0, "its start takes that away");
}

static void unsupported(struct virt *virt)
{
	ok_err(virt_change_device(virt, VM, true, "<hostdev/>", VIRT_LIVE, &err) < 0, "an error names the domain");
	ok(says(err.text, "M_LIBVIRT_SAID", "vm1"), "and what libvirt says");
}

/* The test driver cannot detach. This succeeds as libvirt does before the guest has released the device. */
static int detach_begun(void *domain, const char *xml, unsigned int flags)
{
	return 0;
}

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name)
{
	return strcmp(name, "virDomainDetachDeviceFlags") == 0 ? (void *)detach_begun : __real_dlsym(handle, name);
}

static void detached(struct virt *virt)
{
	ok_err(virt_detach_wait(virt, NS, "<hostdev/>", "ua-x", 100, &err) < 0, "nothing is waited for after an error");
	ok(virt_detach_wait(virt, VM, "<hostdev/>", "ua-x", 100, &err) == 0, "a device that is not listed is detached");
	ok_err(virt_detach_wait(virt, VM, "<hostdev/>", "", 100, &err) == -ETIMEDOUT,
	       "without an alias, nothing shows that it is detached");
	ok(virt_managed_save(virt, VM, &err) == 0, "a domain stops");
	ok_err(virt_detach_wait(virt, VM, "<hostdev/>", "ua-x", 100, &err) == -ESHUTDOWN, "which ends the wait");
	ok(virt_start(virt, VM, &err) == 0, "and starts");
}

int main(void)
{
	struct virt *virt;
	char uri[PATH_MAX + 32];

	TREE(tree, node);
	snprintf(uri, sizeof(uri), "test://%s/node.xml", tree.path);
	connections(uri);
	err = (struct err){ 0 };
	ok_err(virt_open(&virt, uri, &err) == 0, "a made-up host");
	domains(virt);
	metadata(virt);
	saved(virt);
	unsupported(virt);
	detached(virt);
	virt_close(virt);
	return tap_done();
}
