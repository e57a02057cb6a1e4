/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libvirt in our words, on libvirt's own made-up host (its test driver): what has devices and QEMU is in tests/vm. */
#include "virt/virt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "lib/messages.h"
#include "lib/tap.h"
#include "lib/tree.h"

#define VM "67a42c8b-0000-4000-8000-000000000001"
#define NS "urn:test:1"

static const struct virt_element element = { NS, "t" };

static const char node[] = "node.xml = <node><domain type='test'><name>vm1</name><uuid>" VM
			   "</uuid><memory>8192</memory>"
			   "<os><type>hvm</type></os></domain></node>";

/* What was told, a word each. */
struct heard {
	char words[1024];
	int timer;
	bool late;
};

static void hear(void *arg, const struct virt_event *event)
{
	static const char *const words[] = {
		[VIRT_EVENT_CHANGED] = "changed",           [VIRT_EVENT_STOPPED] = "stopped",
		[VIRT_EVENT_DEVICE_REMOVED] = "removed",    [VIRT_EVENT_REMOVAL_FAILED] = "failed",
		[VIRT_EVENT_DISCONNECTED] = "disconnected",
	};
	struct heard *heard = arg;
	size_t n = strlen(heard->words);

	snprintf(heard->words + n, sizeof(heard->words) - n, "%s%s(%s)", n ? " " : "", words[event->kind],
		 event->uuid ? event->uuid : "");
}

static void give_up(void *arg)
{
	((struct heard *)arg)->late = true;
}

static struct err err;

/* Turns the loop until so many words were heard. */
static void listen_for(struct heard *heard, const char *words)
{
	heard->late = false;
	virt_loop_set_timer(heard->timer, 10000);
	while (!heard->late && strlen(heard->words) < strlen(words))
		virt_loop_step(&err);
	virt_loop_set_timer(heard->timer, -1);
}

static void connections(const char *uri)
{
	struct virt *virt;

	ok(virt_open(&virt, "test:///nowhere/node.xml", &err) < 0 && !virt,
	   "a connection that cannot be made is an error: %s", err.text);
	ok(virt_open(&virt, "qemu+unix:///system?socket=/nowhere/sock", &err) == -ENOTCONN &&
		   says(err.text, "M_VIRTQEMUD"),
	   "so is a libvirtd that does not run: %s", err.text);
	ok(virt_open(&virt, uri, &err) == 0 && virt_alive(virt), "one that can is made");
	virt_close(virt);
	virt_close(NULL);
}

static void domains(struct virt *virt)
{
	struct virt_domain *list, one;
	char *xml;
	size_t n;

	ok(virt_list(virt, true, &list, &n, &err) == 0 && n == 1, "the running domains are listed");
	is(list[0].uuid, VM, "by UUID");
	is(list[0].name, "vm1", "and name");
	ok(list[0].running && list[0].persistent && strstr(list[0].xml, "<name>vm1</name>"), "with state and XML");
	virt_list_free(list, n);
	ok(virt_find(virt, "vm1", &one, &err) == 0, "a domain is found by its name");
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
	ok(virt_find(virt, "vm2", &one, &err) == -ENOENT && strstr(err.text, "vm2"), "one that is not there: %s",
	   err.text);
	ok(virt_xml(virt, VM, VIRT_CONFIG, &xml, &err) == 0 && !strstr(xml, "id='1'"), "a definition has no id");
	ok(virt_define(virt, xml, &err) == 0, "and can be defined again");
	free(xml);
	ok(virt_xml(virt, VM, VIRT_LIVE, &xml, &err) == 0 && strstr(xml, "id='1'"), "a running domain's XML has one");
	free(xml);
	ok(virt_define(virt, "<domain/>", &err) < 0, "what is no domain is not defined: %s", err.text);
}

/* Does this side of the domain have the element? */
static bool has_element(struct virt *virt, unsigned int side)
{
	char *xml = NULL;
	bool has = virt_xml(virt, VM, side, &xml, &err) == 0 && strstr(xml, "<t:lease xmlns:t=\"" NS "\" a=\"1\"/>");

	free(xml);
	return has;
}

static void metadata(struct virt *virt)
{
	ok(virt_set_metadata(virt, VM, &element, "<lease a='1'/>", VIRT_LIVE, &err) == 0, "metadata is set, live");
	ok(has_element(virt, VIRT_LIVE), "and there");
	ok(!has_element(virt, VIRT_CONFIG), "the definition has none of it");
	ok(virt_set_metadata(virt, VM, &element, NULL, VIRT_LIVE, &err) == 0 && !has_element(virt, VIRT_LIVE),
	   "it can be removed");
	ok(virt_set_metadata(virt, VM, &element, "<lease", VIRT_LIVE, &err) < 0, "what is no XML is an error: %s",
	   err.text);
}

static void saved(struct virt *virt)
{
	ok(virt_start(virt, VM, &err) < 0, "one that runs is not started: %s", err.text);
	ok(virt_has_managed_save(virt, VM, &err) == 0, "nothing is saved");
	ok(virt_managed_save(virt, VM, &err) == 0, "a domain is saved");
	ok(virt_has_managed_save(virt, VM, &err) == 1, "and says so");
	ok(virt_start(virt, VM, &err) == 0 && virt_has_managed_save(virt, VM, &err) == 0, "its start takes that away");
}

static void unsupported(struct virt *virt)
{
	ok(virt_attach_device(virt, VM, "<hostdev/>", VIRT_LIVE, &err) < 0, "an error names the domain: %s", err.text);
	ok(says(err.text, "M_LIBVIRT_SAID", "vm1"), "and what libvirt says");
	ok(virt_detach_wait(virt, VM, "<hostdev/>", "ua-x", 100, &err) < 0, "nothing is waited for after an error: %s",
	   err.text);
}

static void events(struct virt *virt)
{
	static const char req[] = "stopped(" VM ") changed(" VM ")";
	struct heard heard = { 0 };

	heard.timer = virt_loop_timer(-1, give_up, &heard, &err);
	ok(heard.timer >= 0, "a timer waits until it is set");
	ok(virt_watch(virt, hear, &heard, &err) == 0, "events can be had");
	virt_set_metadata(virt, VM, &element, "<lease/>", VIRT_LIVE, &err);
	virt_managed_save(virt, VM, &err);
	virt_start(virt, VM, &err);
	listen_for(&heard, req);
	is(heard.words, req, "each is told, in its order, but not one of metadata");
	virt_loop_forget_timer(heard.timer);
}

static void read_byte(void *arg)
{
	int *fds = arg;
	char byte;

	fds[2] += read(fds[0], &byte, 1) == 1;
}

static void loop(void)
{
	struct heard heard = { 0 };
	static int fds[3]; /* the loop keeps it */
	int fd, timer;

	if (pipe(fds) < 0)
		tree_fail("pipe");
	fd = virt_loop_fd(fds[0], read_byte, fds, &err);
	ok(fd >= 0 && write(fds[1], "x", 1) == 1, "the loop takes a descriptor of ours");
	timer = virt_loop_timer(20, give_up, &heard, &err);
	while (!heard.late)
		virt_loop_step(&err);
	ok(heard.late && fds[2] == 1, "and calls what waits for it, and for a time");
	virt_loop_forget_timer(timer);
}

int main(void)
{
	struct virt *virt;
	char uri[PATH_MAX + 32];

	TREE(tree, node);
	snprintf(uri, sizeof(uri), "test://%s/node.xml", tree.path);
	connections(uri);
	err = (struct err){ 0 };
	ok(virt_open(&virt, uri, &err) == 0, "a made-up host: %s", err.text);
	domains(virt);
	metadata(virt);
	saved(virt);
	unsupported(virt);
	events(virt);
	virt_close(virt);
	loop();
	return tap_done();
}
