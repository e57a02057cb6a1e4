/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Leases on disk: whole or not at all, found again, never trusted when they are garbage.
 *
 * Versions of vgpu-lease meet each other's files: those of files/ are kept as they were written, and are never
 * edited.
 *
 *   lease-1, affinity-1      what version 1 writes
 *   lease-1-instance         the same with the first key that was added
 *   ...-with-more            the same of a later version that has added something: what is known of it counts
 *   lease-2                  of a version that has changed the meaning: for tests/system/leased/life.sh
 */
#include "lib/source.h"
#include "lib/leases.h"
#include "state/history.h"

static struct lease sample(void)
{
	return (struct lease){ .vgpu.id = A,
			       .domain = VM,
			       .name = "vm\n1 100% \xc3\xa4",
			       .project = "p",
			       .instance = "web 1=\n100% \xc3\xa4",
			       .vgpu.type = "nvidia-222",
			       .vgpu.parent = "0000:41:00.4",
			       .vgpu.pgpu = "0000:41:00.0",
			       .state = LEASE_CREATING,
			       .origin = LEASE_ADOPTED,
			       .numa = UNKNOWN,
			       .framebuffer_mib = 1024,
			       .boot = VM,
			       .node = INT64_MAX,
			       .deadline_ms = 77 };
}

static void text_form(void)
{
	static const char *const cuts[] = { "id=", "domain=", "name=", "type=", "state=", "since_ms=", "end" };
	struct lease l = sample(), back;
	char text[8192], broken[8192];
	int n = lease_format(&l, text, sizeof(text));
	size_t garbage = 0;

	ok(n > 0 && text[n - 1] == '\n', "a lease is lines of text");
	text[n - 1] = '\0'; /* as sys_read() gives it */
	ok(lease_parse(&back, text) == 0, "that can be read back");
	is(back.name, l.name, "a name with a newline and a percent sign survives");
	is(back.instance, l.instance, "so does Nova's");
	is(back.boot, l.boot, "and in which boot it was written");
	ok(strcmp(back.vgpu.id, l.vgpu.id) == 0 && strcmp(back.vgpu.parent, l.vgpu.parent) == 0 &&
		   back.state == l.state && back.origin == l.origin && back.numa == l.numa &&
		   back.framebuffer_mib == 1024 && back.node == l.node && back.deadline_ms == 77,
	   "and so does all else");
	ok(strchr(strstr(text, "name="), '\n') == strstr(text, "\nproject="), "the name is one line in the file");
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		strcpy(broken, text);
		*strstr(broken, cuts[i]) = 'X';
		ok(lease_parse(&back, broken) == -EINVAL, "without '%s' it is garbage", cuts[i]);
	}
	for (size_t i = 0; i < strlen(text); i++) {
		memcpy(broken, text, i);
		broken[i] = '\0';
		garbage += lease_parse(&back, broken) == -EINVAL;
	}
	ok(garbage == strlen(text), "cut off at any byte it is garbage");
	strcpy(broken, text);
	memcpy(strstr(broken, "type=nvidia-222") + 5, "../../x222", 10);
	ok(lease_parse(&back, broken) == -EINVAL, "a type that is a path is garbage");
	strcpy(broken, text);
	strcpy(strstr(broken, "instance=") + 9, "100%zz\nend");
	ok(lease_parse(&back, broken) == -EINVAL, "so is a name of Nova's that cannot be decoded");
}

static void directory(void)
{
	struct lease l = sample(), back;
	struct leases all;

	ok(lease_list(&store, &all, &err) == 0 && all.n == 0, "a new store holds nothing");
	ok(!lease_any(&tree.host), "an empty directory has no lease");
	ok(lease_put(&store, &l, &err) == 0, "a lease is put");
	ok(lease_get(&store, A, &back, &err) == 1 && back.writer == getpid() && back.since_ms > 0,
	   "and found, with its writer and since when");
	l.state = LEASE_ACTIVE;
	ok(lease_put(&store, &l, &err) == 0 && lease_get(&store, A, &back, &err) == 1 && back.state == LEASE_ACTIVE,
	   "another state takes its place");
	ok(lease_list(&store, &all, &err) == 0 && all.n == 1 && lease_find(&all, A) && !lease_find(&all, VM),
	   "it is listed, and found by its id");
	lease_list_free(&all);
	ok(lease_any(&tree.host), "it is one");
	ok(lease_drop(&store, A, &err) == 0 && lease_get(&store, A, &back, &err) == 0, "dropped, it is gone");
	ok(lease_drop(&store, A, &err) == 0, "dropping it again is no error");
}

static void leftovers(void)
{
	struct leases all;

	sys_publish(store.leases, "x", "cut", 3);
	renameat(store.leases, "x", store.leases, "." A ".new");
	ok(lease_list(&store, &all, &err) == 0 && faccessat(store.leases, "." A ".new", F_OK, 0) == 0,
	   "what a killed writer left is no lease");
	lease_list_free(&all);
	ok(store_lock(&store, 0, &err) == 0 && lease_list(&store, &all, &err) == 0 && all.garbage == 0 &&
		   faccessat(store.leases, "." A ".new", F_OK, 0) < 0,
	   "and is removed under the lock");
	lease_list_free(&all);
	store_unlock(&store);
}

static void garbage(void)
{
	struct leases all;
	struct lease lease;

	sys_publish(store.leases, A, "what?", 5);
	sys_publish(store.leases, "no-id", "x", 1);
	mkdirat(store.leases, VM, 0700);
	ok(lease_list(&store, &all, &err) == 0 && all.n == 0 && all.garbage == 3, "garbage is counted and not trusted");
	lease_list_free(&all);
	ok(lease_get(&store, A, &lease, &err) == 0, "and is no lease");
	ok(faccessat(store.leases, A, F_OK, 0) == 0, "without the lock it is left where it is");
	ok(store_lock(&store, 0, &err) == 0 && lease_list(&store, &all, &err) == 0 && all.garbage == 3,
	   "under the lock");
	lease_list_free(&all);
	store_unlock(&store);
	ok(faccessat(store.leases, A, F_OK, 0) < 0 && faccessat(store.run, "garbage/" A, F_OK, 0) == 0, "set aside");
	ok(lease_list(&store, &all, &err) == 0 && all.garbage == 0, "and not met again");
	lease_list_free(&all);
	fchmodat(store.run, "garbage", 0777, 0);
	sys_publish(store.leases, A, "what?", 5);
	ok(store_lock(&store, 0, &err) == 0 && lease_get(&store, A, &lease, &err) == 0 &&
		   faccessat(store.leases, A, F_OK, 0) == 0,
	   "where garbage/ is others' to write to it stays");
	store_unlock(&store);
	unlinkat(store.leases, A, 0);
	fchmodat(store.run, "garbage", 0755, 0);
}

static void put(int dir, const char *name)
{
	autofree char *text = source_text("tests/unit/state/files/%s", name);

	if (sys_publish(dir, A, text, strlen(text)) < 0)
		tree_fail(name);
}

static void test_known(const char *name, const char *instance)
{
	struct leases leases;

	put(store.leases, name);
	ok(store_lock(&store, 0, &err) == 0 && lease_list(&store, &leases, &err) == 0 && leases.n == 1 &&
		   leases.garbage == 0,
	   "%s is a lease", name);
	store_unlock(&store);
	if (leases.n != 1)
		return;
	is(leases.list[0].name, "vm\n1", "of its domain");
	is(leases.list[0].instance, instance, "with its name in Nova, if it has one");
	is(leases.list[0].vgpu.type, "nvidia-222", "with its type");
	ok(leases.list[0].state == LEASE_ACTIVE && leases.list[0].origin == LEASE_CREATED, "its state and origin");
	lease_list_free(&leases);
}

static void test_affinity(const char *name)
{
	struct affinity affinity;

	put(store.affinity, name);
	ok(affinity_get(&store, A, &affinity), "%s is remembered", name);
	is(affinity.type, "nvidia-222", "with its type");
	is(affinity.parent, "0000:41:00.4", "and where it was");
	ok(!affinity.made_this_boot, "of another boot");
}

static void versions(void)
{
	test_known("lease-1", "");
	test_known("lease-1-instance", "web-1");
	test_known("lease-1-with-more", "");
	test_affinity("affinity-1");
	test_affinity("affinity-1-with-more");
}

HOST_TESTS("run/\nvar/lib/\n", text_form, directory, garbage, leftovers, versions)
