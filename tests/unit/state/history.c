/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is remembered beside the leases: trusted if it can be, lost without harm. */
#include "state/history.h"
#include "look/looked.h"

#include "sys/timed_child.h"
#include "look/typelist.h"
#include "lib/leases.h"

#define CARD "0000:41:00.0"

static struct lease sample(void)
{
	return (struct lease){ .vgpu = { .id = A, .type = "nvidia-222", .parent = "0000:41:00.4" },
			       .origin = LEASE_ADOPTED };
}

static void memory(void)
{
	struct lease l = sample();
	struct affinity a;
	int64_t first;

	ok(affinity_get(&store, A, &a) == 0, "of an unknown UUID nothing is remembered");
	affinity_put(&store, &l, false, "");
	ok(affinity_get(&store, A, &a) == 1 && strcmp(a.parent, l.vgpu.parent) == 0 && !a.made_this_boot,
	   "where an adopted one was is remembered, not that we made it");
	l.origin = LEASE_CREATED;
	affinity_put(&store, &l, false, "");
	ok(affinity_get(&store, A, &a) == 1 && a.made_this_boot, "one that we made is ours, in this boot");
	affinity_gone(&store, A);
	ok(affinity_get(&store, A, &a) == 1 && !a.made_this_boot, "removed, the next one of this UUID is not ours");
	affinity_put(&store, &l, true, "");
	affinity_put(&store, &(struct lease){ .vgpu = l.vgpu, .domain = VM }, false, "10de:26b9:10de:1851");
	affinity_gone(&store, A);
	affinity_put(&store, &l, true, "");
	ok(affinity_get(&store, A, &a) == 1 && strcmp(a.card, "10de:26b9:10de:1851") == 0 && strcmp(a.domain, VM) == 0,
	   "the card and domain of a VF stay until others are known");
	ok(mkdirat(store.affinity, "." A ".new", 0700) == 0, "where nothing can be written");
	affinity_gone(&store, A);
	ok(!affinity_get(&store, A, &a), "neither is it: the record goes");
	unlinkat(store.affinity, "." A ".new", AT_REMOVEDIR);
	sys_publish(store.affinity, A, "../x y z\n", 9);
	ok(affinity_get(&store, A, &a) == 0, "a record that is no type and parent is not trusted");
	first = seen_since(&store, A, 7, 0, false);
	ok(faccessat(store.seen, A, F_OK, 0) < 0 && first > 0, "a look alone notes nothing");
	first = seen_since(&store, A, 7, 0, true);
	sys_sleep_ms(5);
	ok(seen_since(&store, A, 7, 0, true) == first, "what was noted stays");
	must(sys_publish(store.seen, B, "1 7x\n", 5));
	ok(seen_since(&store, B, 7, 0, false) > 1, "7x is not the device 7");
	seen_forget(&store, B);
	ok(seen_since(&store, A, 8, 0, false) > first, "it was not noted of another device with the same UUID");
	seen_forget(&store, A);
	ok(seen_since(&store, A, 7, 0, false) > first, "until it is forgotten");
}

static void failures(void)
{
	struct failure *list;

	ok(failure_list(&store, &list) == 0 && !list, "no pGPU has failed");
	failure_note(&store, CARD, "nvidia-222");
	failure_note(&store, "mtty", "mtty-1");
	ok(failure_list(&store, &list) == 2, "each that failed is remembered");
	free(list);
	failure_forget(&store, "mtty");
	ok(failure_list(&store, &list) == 1 && strcmp(list->pgpu, CARD) == 0 && strcmp(list->type, "nvidia-222") == 0,
	   "until it succeeds");
	free(list);
	tree_add(&tree, "run/vgpu-lease/failed/" CARD " = 999999999999999 nvidia-222\n"
			"run/vgpu-lease/failed/0000:42:00.0 = 1 ../x\n"
			"run/vgpu-lease/failed/0000:43:00.0 = nvidia-222\n"
			"run/vgpu-lease/failed/no path = 1 nvidia-222\n");
	ok(failure_list(&store, &list) == 0, "what lies ahead, or is no record, is not trusted");
	free(list);
}

/* Who waits for a driver is a process: this one stands for it. */
static void silence(void)
{
	struct timed_child_silent silent = { .who = CARD, .pid = getpid(), .start = sys_process_start(getpid()) };
	char text[96];
	size_t n;

	silent_recall(&store);
	ok((timed_child_silents(&n), n == 0), "every driver answers");
	tree_addf(&tree, "run/vgpu-lease/silent/" CARD " = %d %llu 5\n", (int)silent.pid,
		  (unsigned long long)silent.start + 1);
	silent_recall(&store);
	ok((timed_child_silents(&n), n == 0), "a process that is gone waits for nobody, though its PID lives");
	silent.since_ms = 7;
	timed_child_add_silent(&silent);
	silent_note(&store);
	ok(sys_read(store.run, "silent/" CARD, text, sizeof(text)) > 0 && strstr(text, " 7"),
	   "one that waits is written down in its place");
	tree_add(&tree, "run/vgpu-lease/silent/0000:42:00.0 = 1 x 5\n");
	silent_recall(&store);
	ok(strcmp(timed_child_silents(&n)->who, CARD) == 0 && n == 1, "others read it; what is no record is not");
}

static void types(void)
{
	struct inv_type types[] = {
		{ .vendor = "10de", .device = "26b9", .id = "nvidia-1155", .name = "NVIDIA L40S-4Q" },
		{ .vendor = "10de", .device = "26b9", .id = "nvidia-1156", .name = "nvidia-1156" },
		{ .vendor = "10de", .device = "20b5", .id = "nvidia-471", .name = "NVIDIA A40-4Q" }
	};
	struct inv_type *known[] = { &types[0], &types[1], &types[2] };
	struct inv_model model = { .record = "10de:26b9:@", .types_whole = true };
	struct typelist *list = &model.recorded;
	struct inv_pgpu card = { .model = &model, .vendor = "10de", .device = "26b9" };
	struct inv_pgpu *cards[] = { &card };
	struct inventory inv = { .pgpus = cards, .npgpus = 1, .types = known, .ntypes = 3 };
	const char path[] = "var/lib/vgpu-lease/types/10de:26b9:@";
	struct stat first, second;

	types_remember(&store, &inv);
	typelist_recall(list, &tree.host, "10de:26b9:@");
	ok(list->n == 1 && list->whole && strcmp(list->items[0].name, "NVIDIA L40S-4Q") == 0,
	   "a model's types are remembered, those whose name is known");
	fstatat(tree.host.root, path, &first, 0);
	types_remember(&store, &inv);
	ok(fstatat(tree.host.root, path, &second, 0) == 0 && first.st_ino == second.st_ino &&
		   first.st_ctim.tv_nsec == second.st_ctim.tv_nsec,
	   "what is remembered already is not written again");
	mem_free(list->items);
	*list = (struct typelist){ 0 };
	strcpy(types[1].name, "NVIDIA L40S-48Q");
	types_remember(&store, &inv);
	typelist_recall(list, &tree.host, "10de:26b9:@");
	ok(list->n == 2, "what is new is");
	mem_free(list->items);
}

/* What is known of each ID, and how often it was asked for its name. */
struct known {
	bool exists, named;
	int asked;
};

static bool is_known(const void *arg, const char *id, bool named)
{
	struct known *known = *(struct known *const *)arg;

	known->asked += named;
	return named ? known->named : known->exists;
}

static void tidying(void)
{
	struct known known = { .exists = true }, *asked = &known;
	const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct lease l = sample();
	struct affinity a;

	affinity_put(&store, &l, false, "");
	seen_since(&store, A, 7, 0, true);
	history_tidy(&store, is_known, &asked);
	ok(affinity_get(&store, A, &a) == 1 && faccessat(store.seen, A, F_OK, 0) == 0,
	   "what is recent, or of a device that exists, is remembered");
	ok(known.asked == 0, "whether a recent one is named is not asked: there can be thousands");
	utimensat(store.affinity, A, long_ago, 0);
	known = (struct known){ .named = true };
	history_tidy(&store, is_known, &asked);
	ok(affinity_get(&store, A, &a) == 1 && faccessat(store.seen, A, F_OK, 0) < 0,
	   "what something names is remembered however old; a device that is gone has not been seen");
	known = (struct known){ 0 };
	history_tidy(&store, is_known, &asked);
	ok(affinity_get(&store, A, &a) == 0, "what is old and nothing names is forgotten");
}

HOST_TESTS("run/\nvar/lib/\n", memory, failures, silence, types, tidying)
