/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The records, each a small file of an ID or pGPU, and the counts, which are in shared memory. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "state/history.h"
#include "base/text.h"
#include "sys/timed_child.h"

/* A record is a file with one line of words. A later version may add words. */
struct record {
	char words[6][64]; /* "": missing */
};

/* False: there is no record, or it has fewer than `least` words. */
static bool record_read(struct record *record, int dir, const char *name, int least)
{
	char text[256];

	*record = (struct record){ 0 };
	return dir >= 0 && sys_read(dir, name, text, sizeof(text)) > 0 &&
	       sscanf(text, "%63s %63s %63s %63s %63s %63s", record->words[0], record->words[1], record->words[2],
		      record->words[3], record->words[4], record->words[5]) >= least;
}

/* Writes the record, unless it is the same. Most callers ignore errors: a full disk must not stop a start. */
__attribute__((format(printf, 3, 4))) static int record_write(int dir, const char *name, const char *fmt, ...)
{
	char text[256], was[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (dir < 0)
		return -ENOENT;
	if (sys_read(dir, name, was, sizeof(was)) == n && strcmp(was, text) == 0)
		return 0;
	text[n] = '\n';
	return sys_publish(dir, name, text, (size_t)n + 1);
}

bool affinity_get(const struct store *store, const char *id, struct affinity *out)
{
	char boot[UUID_SIZE], uuid[UUID_SIZE];
	struct record record;

	if (!record_read(&record, store->affinity, id, 3) || !type_parse(out->type, record.words[0]) ||
	    !parent_parse(out->parent, record.words[1]))
		return false;
	sys_boot_id(boot);
	out->made_this_boot = strcmp(record.words[2], boot) == 0;
	out->for_guest = uuid_parse(uuid, record.words[3]);
	out->before_boot = out->for_guest && strcmp(record.words[3], boot) != 0;
	text_cut(out->card, sizeof(out->card), record.words[4]);
	text_cut(out->domain, sizeof(out->domain), record.words[5]);
	return true;
}

static int affinity_write(const struct store *store, const char *id, const struct affinity *affinity)
{
	char boot[UUID_SIZE];

	sys_boot_id(boot);
	return record_write(store->affinity, id, "%s %s %s %s%s%s%s%s", affinity->type, affinity->parent,
			    affinity->made_this_boot ? boot : "-", affinity->for_guest ? boot : "-",
			    *affinity->card ? " " : "", affinity->card, *affinity->card ? " " : "",
			    *affinity->card ? affinity->domain : "");
}

size_t affinity_parents(const struct host *host, const char *type, char (**out)[PARENT_SIZE])
{
	autoclosedir DIR *dir = sys_list(host->root, "var/lib/vgpu-lease/affinity");
	const struct dirent *e;
	size_t n = 0;

	*out = NULL;
	while ((e = sys_next(dir))) {
		const struct store store = { .host = host, .affinity = sys_list_fd(dir) };
		struct affinity was;
		bool again = e->d_name[0] == '.' || !affinity_get(&store, e->d_name, &was) ||
			     strcmp(was.type, type) != 0;

		for (size_t i = 0; i < n && !again; i++)
			again = strcmp((*out)[i], was.parent) == 0;
		if (!again)
			text_copy(*(char(*)[PARENT_SIZE])mem_add(out, &n, PARENT_SIZE), PARENT_SIZE, was.parent);
	}
	return n;
}

void affinity_put(const struct store *store, const struct lease *lease, bool for_guest, const char *card)
{
	struct affinity now = { 0 };

	if (*card || !affinity_get(store, lease->vgpu.id, &now)) {
		text_copy(now.card, sizeof(now.card), card);
		text_copy(now.domain, sizeof(now.domain), lease->domain);
	}
	now.made_this_boot = lease->origin == LEASE_CREATED;
	now.for_guest = for_guest;
	text_copy(now.type, sizeof(now.type), lease->vgpu.type);
	text_copy(now.parent, sizeof(now.parent), lease->vgpu.parent);
	affinity_write(store, lease->vgpu.id, &now);
}

void affinity_gone(const struct store *store, const char *id)
{
	struct affinity was;

	if (!affinity_get(store, id, &was) || (!was.made_this_boot && !was.for_guest))
		return;
	was.made_this_boot = was.for_guest = false;
	/* An old record would let us remove a later device with this ID. */
	if (affinity_write(store, id, &was) < 0)
		unlinkat(store->affinity, id, 0);
}

/* Records since when the device `node` is idle; `node` 0, which no device has: when the ID was last used. */
static int note_seen(const struct store *store, const char *id, int64_t since_ms, uint64_t node)
{
	return record_write(store->seen, id, "%" PRId64 " %" PRIu64, since_ms, node);
}

int64_t seen_since(const struct store *store, const char *id, uint64_t node, int64_t created_ms, bool note)
{
	int64_t since = sys_now_ms();
	struct record record;
	char same[24];
	long noted;

	snprintf(same, sizeof(same), "%" PRIu64, node);
	if (record_read(&record, store->seen, id, 2) && text_number(record.words[0], 0, since, &noted)) {
		if (strcmp(record.words[1], same) == 0)
			return noted;
		/* Only the first look uses the creation time, which changes when the kernel evicts the inode. */
		if (strcmp(record.words[1], "0") == 0)
			since = created_ms > noted ? created_ms : noted;
	}
	if (note)
		note_seen(store, id, since, node);
	return since;
}

void seen_used(const struct store *store, const char *id)
{
	note_seen(store, id, sys_now_ms(), 0);
}

int64_t seen_closed(const struct store *store, const char *id, bool note)
{
	int64_t now = sys_now_ms();
	struct record record;
	long noted;

	if (record_read(&record, store->seen, id, 2) && text_number(record.words[0], 0, now, &noted))
		return noted;
	return note && note_seen(store, id, now, 0) < 0 ? 0 : now;
}

void seen_forget(const struct store *store, const char *id)
{
	if (store->seen >= 0)
		unlinkat(store->seen, id, 0);
}

enum { FAILURE_MS = 5 * 60 * 1000 }; /* by then most drivers have recovered */

void failure_note(const struct store *store, const char *pgpu, const char *type)
{
	autoclose int directory = store->run < 0 ? -1 : sys_own_dir(store->run, "failed");

	record_write(directory, pgpu, "%" PRId64 " %s", sys_now_ms(), type);
}

void failure_forget(const struct store *store, const char *pgpu)
{
	char path[PARENT_SIZE + 16];

	snprintf(path, sizeof(path), "failed/%s", pgpu);
	if (store->run >= 0)
		unlinkat(store->run, path, 0);
}

size_t failure_list(const struct store *store, struct failure **out)
{
	autoclosedir DIR *dir = sys_list(store->run, "failed");
	int64_t now = sys_now_ms();
	const struct dirent *e;
	size_t n = 0;

	*out = NULL;
	while ((e = sys_next(dir))) {
		struct failure failure = { 0 };
		struct record record;
		long since;

		if (parent_parse(failure.pgpu, e->d_name) && record_read(&record, sys_list_fd(dir), e->d_name, 2) &&
		    text_number(record.words[0], now - FAILURE_MS + 1, now, &since) &&
		    type_parse(failure.type, record.words[1]))
			*(struct failure *)mem_add(out, &n, sizeof(**out)) = failure;
	}
	return n;
}

/* False: the record is invalid, or its process has ended. */
static bool silent_read(struct timed_child_silent *silent, int directory, const char *name)
{
	char text[256];

	return parent_parse(silent->who, name) && sys_read(directory, name, text, sizeof(text)) > 0 &&
	       sscanf(text, "%d %" SCNu64 " %" SCNd64, &silent->pid, &silent->start, &silent->since_ms) == 3 &&
	       sys_process_lives(silent->pid, silent->start);
}

void silent_recall(const struct store *store)
{
	autoclosedir DIR *dir = sys_list(store->run, "silent");
	const struct dirent *e;
	struct timed_child_silent silent;

	while ((e = sys_next(dir)))
		if (silent_read(&silent, sys_list_fd(dir), e->d_name))
			timed_child_add_silent(&silent);
}

void silent_note(const struct store *store)
{
	struct timed_child_silent known;
	size_t n;
	const struct timed_child_silent *silents = timed_child_silents(&n);
	autoclose int directory = n == 0 || store->run < 0 ? -1 : sys_own_dir(store->run, "silent");

	for (EACH(const struct timed_child_silent *, silent, silents, directory < 0 ? 0 : n))
		if (!silent_read(&known, directory, silent->who))
			record_write(directory, silent->who, "%d %" PRIu64 " %" PRId64, (int)silent->pid, silent->start,
				     silent->since_ms);
}

/* Removes records older than `days` days (-1: of any age) of unknown IDs, and what killed writers left. */
static void tidy(int directory, bool (*known)(const void *arg, const char *id, bool named), const void *arg, int days)
{
	enum { DAY_S = 24 * 60 * 60 };
	autoclosedir DIR *dir = sys_list(directory, ".");
	const struct dirent *e;
	char id[ID_SIZE];
	struct stat st;

	while ((e = sys_next(dir))) {
		bool ours = id_parse(id, e->d_name);

		/* The age is wall-clock time, so a clock change can lose records. */
		if (fstatat(directory, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    time(NULL) - st.st_mtime <= (time_t)(ours ? days : 1) * DAY_S)
			continue;
		/* Ask last: `known` searches libvirt's files, and there can be thousands of records. */
		if (!ours || !known(arg, id, days >= 0))
			unlinkat(directory, e->d_name, 0);
	}
}

void history_tidy(const struct store *store, bool (*known)(const void *arg, const char *id, bool named),
		  const void *arg)
{
	enum { MEMORY_DAYS = 90 }; /* an unused UUID keeps its history, because its guest may migrate back */

	tidy(store->seen, known, arg, -1);
	tidy(store->affinity, known, arg, MEMORY_DAYS);
}

#define COUNTS "run/vgpu-lease/counts-3"

const int count_bounds_ms[COUNT_BUCKETS] = { 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000 };

const char *const count_op_words[] = { "prepare", "migrate", "restore", "reconnect", "release" };
const char *const refusal_words[] = {
	"capacity", "quota", "request", "config", "state", "canceled", "timeout", "error"
};

_Static_assert(ARRAY_SIZE(count_op_words) == COUNT_OPS && ARRAY_SIZE(refusal_words) == REFUSAL_NONE, "each has a word");

enum refusal refusal_of(const struct err *err)
{
	if (err->about != ERR_ANY)
		return err->about == ERR_STATE ? REFUSAL_STATE : REFUSAL_CONFIG;
	switch (err->code) {
	case ENOSPC:
		return REFUSAL_CAPACITY;
	case EDQUOT:
		return REFUSAL_QUOTA;
	case EPERM:
	case EEXIST:
	case ENOENT:
	case EINVAL:
	case E2BIG:
		return REFUSAL_REQUEST;
	case ESTALE:
		return REFUSAL_CANCELED;
	case ETIMEDOUT:
	case ECANCELED:
	case EBUSY:
		return REFUSAL_TIMEOUT;
	default:
		return REFUSAL_ERROR;
	}
}

void counts_add(const struct host *host, enum count_op op, int64_t took_ms, enum refusal refusal)
{
	autoclose int fd = openat(host->root, COUNTS, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	struct counts *counts;
	size_t bucket = 0;

	if (fd < 0 || posix_fallocate(fd, 0, sizeof(*counts)) != 0)
		return;
	/* The mode must not depend on the umask. */
	(void)!fchmod(fd, 0644);
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		return;
	while (bucket < COUNT_BUCKETS && took_ms > count_bounds_ms[bucket])
		bucket++;
	__atomic_fetch_add(&counts->ops[op].buckets[bucket], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counts->ops[op].sum_ms, (uint64_t)took_ms, __ATOMIC_RELAXED);
	if (refusal != REFUSAL_NONE)
		__atomic_fetch_add(&counts->refusals[refusal], 1, __ATOMIC_RELAXED);
	munmap(counts, sizeof(*counts));
}

bool counts_read(const struct host *host, struct counts *counts)
{
	autoclose int fd = openat(host->root, COUNTS, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && pread(fd, counts, sizeof(*counts), 0) == (ssize_t)sizeof(*counts))
		return true;
	*counts = (struct counts){ 0 };
	return false;
}
