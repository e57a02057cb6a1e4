/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What libvirt and mdevctl keep in files. */
#include "host/libvirt_files.h"
#include "host/mdevctl_files.h"

#include <errno.h>

#include "lib/tap.h"
#include "lib/tree.h"

#define U "c6f1a2b3-0000-4000-8000-00000000000a"
#define V "c6f1a2b3-0000-4000-8000-00000000000b"
#define W "c6f1a2b3-0000-4000-8000-00000000000c"

static void domains(void)
{
	struct libvirt_files *disk;
	struct tree tree;
	struct err err;

	tree_begin(
		&tree,
		"etc/libvirt/qemu/vm1.xml = <domain><uuid>" V
		"</uuid><address uuid='C6F1A2B3-0000-4000-8000-00000000000A'/></domain>\n"
		"etc/libvirt/qemu/vm2.xml = <address domain='0x0000' bus='0x41' slot='0x01' function='0x2'/>\n"
		"etc/libvirt/qemu/vm3.xml = <address type='pci' domain='0x0000' bus='0x07' slot='0x00' function='0x0'/>\n"
		"etc/libvirt/qemu/autostart/vm1.xml -> ../vm1.xml\n"
		"etc/libvirt/qemu/linked.xml -> ../../elsewhere/vm5.xml\n"
		"etc/elsewhere/vm5.xml = <address uuid='22222222-0000-4000-8000-000000000001'/>\n"
		"etc/libvirt/qemu/unmounted.xml -> ../../nowhere/vm6.xml\n"
		"etc/libvirt/qemu/dir.xml/\n"
		"etc/libvirt/qemu/" W ".xml = <uuid>" V "</uuid>\n"
		"etc/libvirt/qemu/vm4.xml.new = 11111111-0000-4000-8000-000000000001\n"
		"etc/libvirt/qemu/.xml = 11111111-0000-4000-8000-000000000001\n"
		"run/libvirt/qemu/two words.xml = <domstatus state='running'>\\n<domain><uuid>11111111-0000-4000-8000-00000000000F"
		"</uuid></domain>\\n</domstatus>\n"
		"run/libvirt/qemu/vm1.pid = 12\n");
	ok(libvirt_files_read(&disk, &tree.host, &err) == 0, "libvirt's directories are read");
	is(libvirt_files_names(disk, U, NULL), "vm1", "the domain that names a vGPU is found, in whatever case");
	is(libvirt_files_names(disk, "0000:41:01.2", NULL), "vm2", "also by a VF's address");
	is(libvirt_files_names(disk, "22222222-0000-4000-8000-000000000001", NULL), "linked",
	   "and by a definition that lies elsewhere, as libvirt reads it");
	ok(libvirt_files_names(disk, "0000:07:00.0", NULL) == NULL,
	   "an address inside the guest is none of the host's");
	ok(libvirt_files_names(disk, "11111111-0000-4000-8000-000000000001", NULL) == NULL,
	   "files that are no domain's do not count");
	ok(libvirt_files_names(disk, "x", NULL) == NULL, "what is no id is named by none");
	ok(libvirt_files_runs(disk, "11111111-0000-4000-8000-00000000000f"), "a domain with a status file runs");
	ok(!libvirt_files_runs(disk, V), "one that is only defined does not");
	ok(!libvirt_files_runs(disk, "<uuid>"), "nor does what has no UUID");
	ok(libvirt_files_has(disk, "vm1") && libvirt_files_has(disk, "two words") &&
		   libvirt_files_has(disk, "11111111-0000-4000-8000-00000000000f"),
	   "a domain that is defined or runs is there, by name and UUID");
	ok(!libvirt_files_has(disk, "vm4.xml") && !libvirt_files_has(disk, "") && !libvirt_files_has(disk, "vm"),
	   "no other is");
	ok(!libvirt_files_has(disk, W), "what looks like a UUID is never a name");
	ok(libvirt_files_name(disk, 0) && !libvirt_files_name(disk, 1000), "and the names can be listed");
	libvirt_files_free(disk);

	tree_end(&tree);

	tree_begin(&tree, "");
	ok(libvirt_files_read(&disk, &tree.host, &err) == 0 && !libvirt_files_names(disk, U, NULL),
	   "without libvirt's directories nothing is named");
	libvirt_files_free(disk);
	libvirt_files_free(NULL);
	tree_end(&tree);
}

/* One file costs no other its answer: what cannot be read is told of, and may name or be anything. */
static void unreadable(void)
{
	struct libvirt_files *disk;
	struct tree tree;
	struct err err;

	tree_begin(&tree, "etc/libvirt/qemu/vm1.xml = <address uuid='" U "'/>\n"
			  "etc/libvirt/qemu/loop.xml -> loop.xml\n");
	ok(libvirt_files_read(&disk, &tree.host, &err) == 0, "a definition that cannot be read fails nobody");
	is(libvirt_files_names(disk, U, NULL), "vm1", "the others are read");
	ok(!libvirt_files_names(disk, V, NULL), "it is not said to name what it may not");
	ok(libvirt_files_unread(disk, false) &&
		   strstr(libvirt_files_unread(disk, false), "/etc/libvirt/qemu/loop.xml: "),
	   "but told of: %s", libvirt_files_unread(disk, false));
	ok(!libvirt_files_unread(disk, true), "it tells of nobody who runs");
	libvirt_files_free(disk);
	tree_add(&tree, "run/libvirt/qemu/odd.xml -> odd.xml\n");
	ok(libvirt_files_read(&disk, &tree.host, &err) == 0 && libvirt_files_unread(disk, true) &&
		   strstr(libvirt_files_unread(disk, true), "/run/libvirt/qemu/odd.xml: "),
	   "unlike a status file");
	libvirt_files_free(disk);
	tree_end(&tree);
}

/* A file of so many MiB with `text` in it, the first `off` bytes of which end a MiB, as pieces that it is read in do.
 */
static void make_large(const struct tree *tree, const char *path, int mib, size_t off, const char *text)
{
	size_t size = 1 << 20;
	char whole[160], *spaces = malloc(size);
	FILE *f;

	snprintf(whole, sizeof(whole), "%s/%s", tree->path, path);
	f = fopen(whole, "w");
	if (!f || !spaces)
		tree_fail(whole);
	memset(spaces, ' ', size);
	for (int i = 0; i < mib; i++) {
		fwrite(spaces, 1, i == mib / 2 ? size - off : size, f);
		if (i == mib / 2)
			fputs(text, f);
	}
	ok(fclose(f) == 0, "a file of %d MiB", mib);
	free(spaces);
}

static void large(void)
{
	struct libvirt_files *disk;
	struct tree tree;
	struct err err;

	tree_begin(&tree, "etc/libvirt/qemu/\nrun/libvirt/qemu/\n");
	make_large(&tree, "etc/libvirt/qemu/big.xml", 20, 20,
		   "<address uuid='C6F1A2B3-0000-4000-8000-00000000000A'/></domain>");
	make_large(&tree, "run/libvirt/qemu/big.xml", 18, 1, "<uuid>" V "</uuid>");
	ok(libvirt_files_read(&disk, &tree.host, &err) == 0, "a definition of 20 MiB is no error");
	is(libvirt_files_names(disk, U, NULL), "big", "what it names is found, wherever that stands");
	is(libvirt_files_names(disk, V, NULL), "big", "in the other file, too");
	ok(!libvirt_files_names(disk, "11111111-0000-4000-8000-000000000001", NULL), "what it does not name is not");
	ok(libvirt_files_runs(disk, V) && !libvirt_files_runs(disk, U), "and a status file of 18 MiB tells who runs");
	ok(!libvirt_files_unread(disk, false), "all of it was read");
	libvirt_files_free(disk);
	tree_end(&tree);
}

static void bytes_behind_a_nul(void)
{
	struct libvirt_files *disk;
	struct tree tree;
	struct err err;
	FILE *f;
	char path[128];

	tree_begin(&tree, "etc/libvirt/qemu/\n");
	snprintf(path, sizeof(path), "%s/etc/libvirt/qemu/odd\033.xml", tree.path);
	f = fopen(path, "w");
	ok(f && fwrite("<domain>\0\0" U, 1, 10 + 36, f) == 46 && fclose(f) == 0, "a file with NUL bytes");
	ok(libvirt_files_read(&disk, &tree.host, &err) == 0, "is read");
	is(libvirt_files_names(disk, U, NULL), "odd\033", "to its end");
	libvirt_files_free(disk);
	tree_end(&tree);
}

static void definitions(void)
{
	struct definition d;
	struct tree tree;
	struct err err;

	tree_begin(&tree,
		   "etc/mdevctl.d/0000:84:00.0/" U " = {\\n \"mdev_type\": \"nvidia-222\",\\n \"start\": \"manual\",\\n"
		   " \"attrs\": [ { \"a\": \"1\" } ]\\n}\n"
		   "etc/mdevctl.d/scripts.d/callouts/x = y\n"
		   "etc/mdevctl.d/a b/" U " = broken\n");
	ok(mdevctl_definition(&d, &tree.host, V, &err) == 0, "a UUID without a definition has none");
	ok(mdevctl_definition(&d, &tree.host, "../x", &err) == 0, "nor has what is no UUID");
	ok(mdevctl_definition(&d, &tree.host, "C6F1A2B3-0000-4000-8000-00000000000A", &err) == 1,
	   "a definition is found");
	is(d.parent, "0000:84:00.0", "with its parent");
	is(d.type, "nvidia-222", "and its type");
	ok(!d.starts, "one that is started by hand does not start by itself");
	tree_add(&tree, "etc/mdevctl.d/0000:85:00.0/" U " = {\"start\":\"auto\",\"mdev_type\":\"nvidia-223\"}\n");
	ok(mdevctl_definition(&d, &tree.host, U, &err) == 1 && d.starts && strcmp(d.parent, "0000:85:00.0") == 0,
	   "of two the one that starts by itself goes first");
	tree_add(&tree, "etc/mdevctl.d/0000:85:00.0/" V " = {\"start\":\"auto\",\"mdev_type\":\"nvidia-223\"}\n");
	ok(mdevctl_defines(&tree.host, U), "a UUID with definitions is mdevctl's");
	ok(mdevctl_undefine(&tree.host, U, NULL, &err) == 0, "its definitions are removed");
	ok(mdevctl_definition(&d, &tree.host, U, &err) == 0 && !mdevctl_defines(&tree.host, U), "of all parents");
	ok(mdevctl_defines(&tree.host, V), "and no other's");
	ok(mdevctl_undefine(&tree.host, U, NULL, &err) == 0, "a UUID without one is no error");
	ok(mdevctl_undefine(&tree.host, "../x", NULL, &err) == -EINVAL, "what is no UUID is one: %s", err.text);
	tree_add(&tree, "etc/mdevctl.d/mtty/" U " = {\"start\":\"auto\"}\n");
	ok(mdevctl_definition(&d, &tree.host, U, &err) == -EINVAL, "one without a type is an error: %s", err.text);
	tree_add(&tree, "etc/mdevctl.d/mtty/" U " = {\"mdev_type\":\"../x\"}\n");
	ok(mdevctl_definition(&d, &tree.host, U, &err) == -EINVAL, "so is one whose type is none: %s", err.text);
	tree_add(&tree, "etc/mdevctl.d/mtty/" U " = {\"mdev_type\":\n");
	ok(mdevctl_definition(&d, &tree.host, U, &err) == -EINVAL, "and one that is cut short: %s", err.text);
	ok(mdevctl_defines(&tree.host, U), "what cannot be read may be a definition");
	ok(mdevctl_undefine(&tree.host, U, NULL, &err) == 0 && !mdevctl_defines(&tree.host, U),
	   "and is removed as one");
	tree_end(&tree);
	tree_begin(&tree, "");
	ok(mdevctl_definition(&d, &tree.host, U, &err) == 0, "without mdevctl nothing is defined");
	tree_end(&tree);
}

int main(void)
{
	domains();
	unreadable();
	large();
	bytes_behind_a_nul();
	definitions();
	return tap_done();
}
