/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What libvirt keeps in files. */
#include "look/libvirt_files.h"

#include "lib/names.h"
#include "lib/tree.h"

static struct err err;
static struct libvirt_files *disk;

static int read_files(const struct tree *tree)
{
	libvirt_files_free(disk);
	return libvirt_files_read(&disk, &tree->host, &err);
}

static const char *names(const char *id)
{
	return libvirt_files_names(disk, id, NULL);
}

static void domains(void)
{
	TREE(tree,
	     "etc/libvirt/qemu/vm1.xml = <domain><uuid>" B
	     "</uuid><address uuid='C6F1A2B3-0000-4000-8000-00000000000A'/></domain>\n"
	     "etc/libvirt/qemu/vm2.xml = <address domain='0x0000' bus='0x41' slot='0x01' function='0x2'/>\n"
	     "etc/libvirt/qemu/vm3.xml = <address type='pci' domain='0x0000' bus='0x07' slot='0x00' function='0x0'/>\n"
	     "etc/libvirt/qemu/past.xml = <qemu:arg value='vfio-pci,host=41:01.3'/><qemu:arg value='{&quot;host&quot;:&quot;41:01.4&quot;}'/>"
	     "<qemu:arg value='vfio-pci,sysfsdev=/sys/bus/pci/devices/0000:41:01.5'/><address bus='x41:01.6'/><vgpu:device guest='0000:41:01.7'/>\n"
	     "etc/libvirt/qemu/autostart/vm1.xml -> ../vm1.xml\n"
	     "etc/libvirt/qemu/linked.xml -> ../../elsewhere/vm5.xml\n"
	     "etc/elsewhere/vm5.xml = <address uuid='22222222-0000-4000-8000-000000000001'/>\n"
	     "etc/libvirt/qemu/unmounted.xml -> ../../nowhere/vm6.xml\n"
	     "etc/libvirt/qemu/dir.xml/\n"
	     "etc/libvirt/qemu/" C ".xml = <uuid>" B "</uuid>\n"
	     "etc/libvirt/qemu/vm4.xml.new = 11111111-0000-4000-8000-000000000001\n"
	     "etc/libvirt/qemu/.hidden.xml = <address uuid='33333333-0000-4000-8000-000000000001'/>\n"
	     "etc/libvirt/qemu/.xml = 11111111-0000-4000-8000-000000000001\n"
	     "run/libvirt/qemu/two words.xml = <domstatus state='running'>\\n<domain><uuid>11111111-0000-4000-8000-00000000000F"
	     "</uuid></domain>\\n</domstatus>\n"
	     "run/libvirt/qemu/vm1.pid = 12\n");
	ok(read_files(&tree) == 0, "libvirt's directories are read");
	is(names(A), "vm1", "the domain that names a vGPU is found, in whatever case");
	is(names("0000:41:01.2"), "vm2", "also by a VF's address");
	is(names("0000:41:01.3"), "past", "if a command line of QEMU has it, too");
	is(names("0000:41:01.4"), "past", "in JSON");
	is(names("0000:41:01.5"), "past", "or as a path");
	ok(!names("0000:41:01.6") && !names("0000:41:01.7") && !names("0001:41:01.3"),
	   "but not if it only looks alike");
	is(names("22222222-0000-4000-8000-000000000001"), "linked",
	   "and by a definition that lies elsewhere, as libvirt reads it");
	ok(names("0000:07:00.0") == NULL, "an address inside the guest is none of the host's");
	ok(names("11111111-0000-4000-8000-000000000001") == NULL, "files that are no domain's do not count");
	is(names("33333333-0000-4000-8000-000000000001"), ".hidden", "but a domain's name can begin with a dot");
	ok(names("x") == NULL, "what is no id is named by none");
	ok(libvirt_files_runs(disk, "11111111-0000-4000-8000-00000000000f"), "a domain with a status file runs");
	ok(!libvirt_files_runs(disk, B), "one that is only defined does not");
	ok(!libvirt_files_runs(disk, "<uuid>"), "nor does what has no UUID");
	ok(libvirt_files_has(disk, "vm1", false) && libvirt_files_has(disk, "two words", false) &&
		   libvirt_files_has(disk, "11111111-0000-4000-8000-00000000000f", false),
	   "a domain that is defined or runs is there, by name and UUID");
	ok(!libvirt_files_has(disk, "vm4.xml", false) && !libvirt_files_has(disk, "", false) &&
		   !libvirt_files_has(disk, "vm", false),
	   "no other is");
	ok(!libvirt_files_has(disk, C, false), "what looks like a UUID is never a name");
	ok(disk->n && *disk->list[0].name, "and the names can be listed");

	tree_remove(&tree, "etc/libvirt");
	tree_remove(&tree, "run/libvirt");
	ok(read_files(&tree) == 0 && !names(A), "without libvirt's directories nothing is named");
	libvirt_files_free(NULL);
}

/* One file costs no other its answer: what cannot be read is told of, and may name or be anything. */
static void unreadable(void)
{
	TREE(tree, "etc/libvirt/qemu/vm1.xml = <address uuid='" A "'/>\n"
		   "etc/libvirt/qemu/loop.xml -> loop.xml\n");
	ok(read_files(&tree) == 0, "a definition that cannot be read fails nobody");
	is(names(A), "vm1", "the others are read");
	ok(!names(B), "it is not said to name what it may not");
	ok(libvirt_files_unread(disk, false) &&
		   strstr(libvirt_files_unread(disk, false), "/etc/libvirt/qemu/loop.xml: "),
	   "but told of: %s", libvirt_files_unread(disk, false));
	ok(!libvirt_files_unread(disk, true), "it tells of nobody who runs");
	tree_add(&tree, "run/libvirt/qemu/odd.xml -> odd.xml\n");
	ok(read_files(&tree) == 0 && libvirt_files_unread(disk, true) &&
		   strstr(libvirt_files_unread(disk, true), "/run/libvirt/qemu/odd.xml: "),
	   "unlike a status file");
	tree_remove(&tree, "run/libvirt");
	tree_add(&tree, "run/libvirt/qemu = no directory\n");
	ok(read_files(&tree) == -ENOTDIR && strstr(libvirt_files_unread(disk, true), "/run/libvirt/qemu: ") && names(A),
	   "nor does a directory that cannot be listed cost the other its answer");
}

/* A file of so many MiB with `text` in it, the first `off` bytes of which end a MiB. */
static void make_large(const struct tree *tree, const char *path, size_t mib, size_t off, const char *text)
{
	size_t len = mib << 20, at = ((mib / 2 + 1) << 20) - off;
	autofree char *bytes = memset(mem_new(len, 1), ' ', len);

	for (; *text; text++)
		bytes[at++] = *text;
	tree_bytes(tree, path, bytes, len);
}

static void large(void)
{
	TREE(tree, "etc/libvirt/qemu/\nrun/libvirt/qemu/\n");
	make_large(&tree, "etc/libvirt/qemu/big.xml", 20, 20,
		   "<address uuid='C6F1A2B3-0000-4000-8000-00000000000A'/></domain>");
	make_large(&tree, "run/libvirt/qemu/big.xml", 18, 1, "<uuid>" B "</uuid>");
	ok(read_files(&tree) == 0, "a definition of 20 MiB is no error");
	is(names(A), "big", "what it names is found, wherever that stands");
	is(names(B), "big", "in the other file, too");
	ok(!names("11111111-0000-4000-8000-000000000001"), "what it does not name is not");
	ok(libvirt_files_runs(disk, B) && !libvirt_files_runs(disk, A), "and a status file of 18 MiB tells who runs");
	ok(!libvirt_files_unread(disk, false), "all of it was read");
	make_large(&tree, "etc/libvirt/qemu/huge.xml", 66, 1, "<uuid>" B "</uuid>");
	ok(read_files(&tree) == 0 && libvirt_files_unread(disk, false), "one of 66 MiB counts as not read");
}

static bool is_saved(const struct tree *tree, const char *id)
{
	char why[REASON_SIZE];

	return libvirt_files_saved(disk, &tree->host, id, why);
}

static void saved(void)
{
	char why[REASON_SIZE];

	TREE(tree,
	     "var/lib/libvirt/qemu/save/vm1.save = LibvirtQemudSave <domain><uuid>" A "</uuid></domain>\n"
	     "var/lib/libvirt/qemu/snapshot/vm2/before.xml = <domainsnapshot><domain><uuid>" B "</uuid></domain>\n"
	     "var/lib/libvirt/qemu/snapshot/vm2/deeper/before.xml = <domain><uuid>" C "</uuid></domain>\n"
	     "var/lib/libvirt/qemu/save/deeper/vm3.save = <domain><uuid>" C "</uuid></domain>\n"
	     "var/lib/libvirt/qemu/save/link.save -> ../elsewhere\n");
	read_files(&tree);
	ok(is_saved(&tree, A) && is_saved(&tree, B), "what a saved image and a snapshot name is found");
	ok(!is_saved(&tree, C), "and nothing else, nor what lies deeper than libvirt puts it");
	tree_remove(&tree, "var/lib/libvirt/qemu/save/vm1.save");
	ok(is_saved(&tree, A), "a look reads them once, however often it asks");
	read_files(&tree);
	ok(!is_saved(&tree, A) && is_saved(&tree, B), "the next look reads them anew");
	tree_add(&tree, "var/lib/libvirt/qemu/checkpoint -> checkpoint\n");
	read_files(&tree);
	ok(libvirt_files_saved(disk, &tree.host, B, why) && strstr(why, ": before.xml"), "a file is named: %s", why);
	ok(libvirt_files_saved(disk, &tree.host, C, why) && strstr(why, "checkpoint: "),
	   "what cannot be read may name anything: %s", why);
}

static void bytes_behind_a_nul(void)
{
	TREE(tree, "etc/libvirt/qemu/\n");
	tree_bytes(&tree, "etc/libvirt/qemu/odd\033.xml", "<domain>\0\0" A, 10 + 36);
	ok(read_files(&tree) == 0, "a file with NUL bytes is read");
	is(names(A), "odd\033", "to its end");
}

TESTS(domains, unreadable, large, saved, bytes_behind_a_nul)
