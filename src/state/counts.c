/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counters in shared memory. */
#include "state/counts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"

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

/* Opens the file and allocates all its space. Two callers that create it concurrently get the same file. */
static int open_counts(const struct host *host)
{
	autoclose int fd = openat(host->root, COUNTS, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0 || posix_fallocate(fd, 0, sizeof(struct counts)) != 0)
		return -1;
	/* The mode must not depend on the umask. */
	(void)!fchmod(fd, 0644);
	return steal_fd(&fd);
}

void counts_add(const struct host *host, enum count_op op, int64_t took_ms, enum refusal refusal)
{
	autoclose int fd = open_counts(host);
	struct counts *counts;
	size_t bucket = 0;

	if (fd < 0)
		return;
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

	*counts = (struct counts){ 0 };
	return fd >= 0 && pread(fd, counts, sizeof(*counts), 0) == (ssize_t)sizeof(*counts);
}
