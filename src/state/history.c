/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is remembered beside the leases: where a UUID was last, and since when a foreign device has been seen free. */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/timed_child.h"
#include "base/file.h"
#include "base/mem.h"
#include "state/history.h"
#include "base/text.h"
#include "host/typelist.h"

/* Tells this boot from all others; no more is known of it. A process lives in one. */
static void boot_id(char out[UUID_SIZE])
{
	static char known[UUID_SIZE];
	char text[UUID_SIZE + 1];

	if (!*known && (file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof(text)) < 0 ||
			!uuid_parse(known, text)))
		text_copy(known, sizeof(known), "00000000-0000-0000-0000-000000000000");
	memcpy(out, known, sizeof(known));
}

int affinity_get(const struct store *store, const char *id, struct affinity *out)
{
	char text[256], boot[UUID_SIZE], *rest = text, *type, *parent, *made;

	if (store->affinity < 0 || file_read(store->affinity, id, text, sizeof(text)) < 0)
		return 0;
	type = strsep(&rest, " ");
	parent = strsep(&rest, " ");
	made = strsep(&rest, " ");
	/* What a later version has added is passed over. */
	if (!type_parse(out->type, type) || !parent || !parent_parse(out->parent, parent) || !made)
		return 0;
	boot_id(boot);
	out->made_this_boot = strcmp(made, boot) == 0;
	return 1;
}

/* A full disk costs the memory, not the start. */
static void affinity_write(const struct store *store, const char *id, const char *type, const char *parent, bool made)
{
	char text[256], boot[UUID_SIZE] = "-";
	int n;

	if (made)
		boot_id(boot);
	n = snprintf(text, sizeof(text), "%s %s %s\n", type, parent, boot);
	(void)file_publish(store->affinity, id, text, (size_t)n, true);
}

void affinity_put(const struct store *store, const struct lease *lease)
{
	struct affinity was;

	if (store->affinity < 0)
		return;
	/* Most starts of what others have made find what the last one wrote. */
	if (affinity_get(store, lease->vgpu.id, &was) && strcmp(was.type, lease->vgpu.type) == 0 &&
	    strcmp(was.parent, lease->vgpu.parent) == 0 && was.made_this_boot == (lease->origin == LEASE_CREATED))
		return;
	affinity_write(store, lease->vgpu.id, lease->vgpu.type, lease->vgpu.parent, lease->origin == LEASE_CREATED);
}

void affinity_removed(const struct store *store, const char *id)
{
	struct affinity was;

	if (affinity_get(store, id, &was) && was.made_this_boot)
		affinity_write(store, id, was.type, was.parent, false);
}

/*
 * What was noted of this very device, whose UUID another may have had before it. -1: nothing that can be trusted.
 * *used: it is the last sign of use of whichever had the UUID.
 */
static int64_t noted(const struct store *store, const char *id, uint64_t node, bool *used)
{
	char text[64], was[24], *rest = text, *since_text;
	long since;

	if (store->seen < 0 || file_read(store->seen, id, text, sizeof(text)) < 0)
		return -1;
	snprintf(was, sizeof(was), "%" PRIu64, node);
	since_text = strsep(&rest, " ");
	if (!rest || !text_number(since_text, 0, INT64_MAX, &since))
		return -1;
	*used = strcmp(rest, "0") == 0;
	return *used || strcmp(rest, was) == 0 ? since : -1;
}

static void note_seen(const struct store *store, const char *id, int64_t now, uint64_t node)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%" PRId64 " %" PRIu64 "\n", now, node);

	if (store->seen >= 0)
		(void)file_publish(store->seen, id, text, (size_t)n, true);
}

int64_t seen_since(const struct store *store, const char *id, const struct seen *device, bool note)
{
	bool used = false;
	int64_t now = host_now_ms(), since = noted(store, id, device->node, &used);

	if (since >= 0 && since <= now && !used)
		return since;
	if (since < 0 || since > now)
		since = now;
	/* Only once: the kernel makes this time anew when it forgets the directory. */
	else if (device->created_ms > since)
		since = device->created_ms;
	if (note)
		note_seen(store, id, since, device->node);
	return since;
}

void seen_used(const struct store *store, const char *id)
{
	note_seen(store, id, host_now_ms(), 0);
}

enum { IN_USE_MS = 60000 };

void seen_in_use(const struct store *store, const char *id)
{
	bool used = false;
	int64_t now = host_now_ms(), since = noted(store, id, 0, &used);

	if (!used || since > now || now - since >= IN_USE_MS)
		note_seen(store, id, now, 0);
}

void seen_forget(const struct store *store, const char *id)
{
	if (store->seen >= 0)
		unlinkat(store->seen, id, 0);
}

enum { FAILURE_MS = 5 * 60 * 1000 }; /* drivers recover from most, or somebody looks after the card */

void failure_note(const struct store *store, const char *pgpu, const char *type)
{
	autoclose int directory = store->run < 0 ? -1 : file_own_dir(store->run, "failed");
	char text[TYPE_SIZE + 32];
	int n = snprintf(text, sizeof(text), "%" PRId64 " %s\n", host_now_ms(), type);

	if (directory >= 0)
		(void)file_publish(directory, pgpu, text, (size_t)n, true);
}

void failure_forget(const struct store *store, const char *pgpu)
{
	char path[PARENT_SIZE + 16];

	snprintf(path, sizeof(path), "failed/%s", pgpu);
	if (store->run >= 0)
		unlinkat(store->run, path, 0);
}

/* One record, if it can be trusted and is not too old. */
static bool failure_read(struct failure *failure, int directory, const char *name)
{
	char text[TYPE_SIZE + 32], *rest = text, *when;
	int64_t now = host_now_ms();
	long since;

	if (!parent_parse(failure->pgpu, name) || file_read(directory, name, text, sizeof(text)) <= 0)
		return false;
	when = strsep(&rest, " ");
	return rest && text_number(when, 0, INT64_MAX, &since) && type_parse(failure->type, rest) && since <= now &&
	       now - since < FAILURE_MS;
}

size_t failure_list(const struct store *store, struct failure **out)
{
	autoclosedir DIR *dir = file_list(store->run, "failed");
	const struct dirent *e;
	size_t n = 0;

	*out = NULL;
	while (dir && (e = readdir(dir))) {
		struct failure failure;

		if (!failure_read(&failure, file_list_fd(dir), e->d_name))
			continue;
		*(struct failure *)mem_add(out, &n, sizeof(**out)) = failure;
	}
	return n;
}

/* One record, of a process that hangs still. */
static bool silent_read(struct timed_child_silent *silent, int directory, const char *name)
{
	char text[96], *rest = text;
	long pid, start, since;

	if (!parent_parse(silent->who, name) || file_read(directory, name, text, sizeof(text)) <= 0 ||
	    !text_number(strsep(&rest, " "), 1, INT_MAX, &pid) || !rest ||
	    !text_number(strsep(&rest, " "), 1, INT64_MAX, &start) || !rest || !text_number(rest, 0, INT64_MAX, &since))
		return false;
	silent->pid = (pid_t)pid;
	silent->start = (uint64_t)start;
	silent->since_ms = since;
	return host_process_lives(silent->pid, silent->start);
}

void silent_recall(const struct store *store)
{
	autoclosedir DIR *dir = file_list(store->run, "silent");
	const struct dirent *e;
	struct timed_child_silent silent;

	while (dir && (e = readdir(dir)))
		if (silent_read(&silent, file_list_fd(dir), e->d_name))
			timed_child_add_silent(&silent);
}

void silent_note(const struct store *store)
{
	struct timed_child_silent all[16], known;
	size_t n = timed_child_silents(all, ARRAY_SIZE(all));
	autoclose int directory = n == 0 || store->run < 0 ? -1 : file_own_dir(store->run, "silent");

	for (size_t i = 0; i < n && directory >= 0; i++) {
		char text[96];
		int len = snprintf(text, sizeof(text), "%d %" PRIu64 " %" PRId64 "\n", (int)all[i].pid, all[i].start,
				   all[i].since_ms);

		if (!silent_read(&known, directory, all[i].who))
			(void)file_publish(directory, all[i].who, text, (size_t)len, true);
	}
}

static void remember_model(int directory, const struct inventory *inv, const struct inv_pgpu *card)
{
	struct typelist list = { .whole = card->types_whole };
	char name[16], *text;

	for (size_t i = 0; i < inv->ntypes; i++) {
		const struct inv_type *type = &inv->types[i];
		int number;

		/* One that is called by its id is not known yet. */
		if (strcmp(type->vendor, card->vendor) == 0 && strcmp(type->device, card->device) == 0 &&
		    typelist_number(type->id, &number) && strcmp(type->id, type->name) != 0)
			typelist_add(&list, number, type->name);
	}
	text = typelist_format(&list);
	snprintf(name, sizeof(name), "%s:%s", card->vendor, card->device);
	if (strlen(text) < TYPELIST_TEXT_MAX)
		(void)file_publish(directory, name, text, strlen(text), true);
	free(text);
	typelist_free(&list);
}

void types_remember(const struct store *store, const struct inventory *inv)
{
	autoclose int lib = -1;
	autoclose int directory = -1;

	for (size_t i = 0; i < inv->npgpus; i++) {
		const struct inv_pgpu *card = &inv->pgpus[i];

		if (!card->types_new || !*card->vendor)
			continue;
		/* Where there is no memory of UUIDs there is none of types. */
		if (directory < 0 && store->affinity >= 0) {
			lib = file_own_dir(store->host->root, "var/lib/vgpu-lease");
			directory = lib < 0 ? -1 : file_own_dir(lib, "types");
		}
		if (directory >= 0)
			remember_model(directory, inv, card);
	}
}

enum { DAY_S = 24 * 60 * 60 };

/* Older than so many days by the wall clock, which alone is written to disk; a leap of it costs a memory, no more. */
static bool is_old(int dir, const char *name, int days)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && time(NULL) - st.st_mtime > (time_t)days * DAY_S;
}

/* The records of a directory for which `keep` says no and that are old enough; also what killed writers left. */
static void tidy(int directory, bool (*keep)(const void *arg, const char *id), const void *arg, int days)
{
	autoclosedir DIR *dir = file_list(directory, ".");
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char id[ID_SIZE];
		bool ours = id_parse(id, e->d_name);

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || (ours && keep(arg, id)))
			continue;
		if (is_old(directory, e->d_name, ours ? days : 1))
			unlinkat(directory, e->d_name, 0);
	}
}

void history_tidy(const struct store *store, bool (*exists)(const void *arg, const char *id),
		  bool (*named)(const void *arg, const char *id), const void *arg, int days)
{
	tidy(store->seen, exists, arg, -1);
	tidy(store->affinity, named, arg, days);
}
