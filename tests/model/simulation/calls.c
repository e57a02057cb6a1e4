/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock and the processes of sys/sys.h by the linker's --wrap: a point around each call that others can notice. */
#include <sys/file.h>

#include "model/simulation/world.h"

int64_t sys_now_ms(void)
{
	return now_ms();
}

int64_t sys_age_ms(const struct timespec *wall)
{
	return 0;
}

int sys_left_ms(int64_t deadline_ms)
{
	return deadline_ms > now_ms() ? (int)(deadline_ms - now_ms()) : 0;
}

void sys_boot_id(char out[UUID_SIZE])
{
	memcpy(out, "b0000000-0000-4000-8000-000000000000", UUID_SIZE);
}

uint64_t sys_process_start(pid_t pid)
{
	const struct process *p = process_find(pid);

	/* Their numbers are in the order of their starts. */
	return p && !p->ended ? (uint64_t)pid : 0;
}

bool sys_process_lives(pid_t pid, uint64_t start)
{
	point();
	return start && sys_process_start(pid) == start;
}

bool sys_process_exits(pid_t pid)
{
	return false;
}

/* Whoever waits for a lock need not look as often as it does: only when one may have ended, or time is up. */
static void sleep_us(int64_t us)
{
	enum { LONG_US = 100000 };

	if (!self) {
		now_us += us;
		return;
	}
	point();
	pause_until(now_us + us, NULL);
	if (us < LONG_US && pick(4))
		pause_until(now_us + LONG_US, &lock_events);
	point();
}

void sys_sleep_ms(int ms)
{
	sleep_us((int64_t)ms * 1000);
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	sleep_us(time->tv_sec * 1000000 + time->tv_nsec / 1000 + 1000);
	return 0;
}

pid_t __wrap_getpid(void)
{
	return self ? self->pid : 1;
}

void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status)
{
	if (self)
		process_end(status);
	__real__exit(status);
}

/* Random, but the same in each run. */
void __wrap_uuid_random(char out[UUID_SIZE])
{
	static int n;

	snprintf(out, UUID_SIZE, "e0000000-0000-4000-8000-%012d", ++n);
}

/* WRAP(type, function, parameters, arguments, then): a point before the call, and what follows it at once. */
#define WRAP(type, function, parameters, arguments, then)                                                              \
	type __real_##function parameters;                                                                             \
	type __wrap_##function parameters                                                                              \
	{                                                                                                              \
		type r;                                                                                                \
                                                                                                                       \
		point();                                                                                               \
		r = __real_##function arguments;                                                                       \
		then;                                                                                                  \
		return r;                                                                                              \
	}

WRAP(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags), if (r == 0) ledger_dropped(dir, path))
WRAP(int, renameat, (int from, const char *a, int to, const char *b), (from, a, to, b),
     if (r == 0) ledger_dropped(from, strchr(a, '/') ? strrchr(a, '/') + 1 : a);
     if (r == 0) ledger_written(to, b))
WRAP(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode), )
WRAP(DIR *, sys_list, (int dir, const char *path), (dir, path), )
WRAP(int, kernel_exists, (const struct host *host, const struct vgpu_ref *vgpu), (host, vgpu), )
WRAP(int, store_lock_vgpu, (const struct store *store, const char *id, struct err *err), (store, id, err),
     if (r >= 0) lock_taken(r))
WRAP(int, close, (int fd), (fd), lock_closed(fd))

/* Of what is read only leases change, and what a driver answers, which has its own point. */
ssize_t __real_sys_read(int dir, const char *path, char *buf, size_t size);
ssize_t __wrap_sys_read(int dir, const char *path, char *buf, size_t size)
{
	if (ledger_is(dir, path))
		point();
	return __real_sys_read(dir, path, buf, size);
}

/* The kernel gives each mdev an inode of its own; a file system gives one again. */
int64_t __wrap_sys_inode(int dir, const char *path)
{
	const struct device *device = device_find(strrchr(path, '/') + 1);

	point();
	return device ? device->group : 0;
}

static struct {
	ino_t file;
	int pid;
} takers[64];
static int ntakers;

static int *taker_of(const struct stat *st)
{
	int i = 0;

	while (i < ntakers && takers[i].file != st->st_ino)
		i++;
	if (i == (int)ARRAY_SIZE(takers))
		broken("more than %d lock files", i);
	if (i == ntakers)
		takers[ntakers++].file = st->st_ino;
	return &takers[i].pid;
}

pid_t sys_lock_taker(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? *taker_of(&st) : 0;
}

int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how)
{
	struct stat st;
	int r;

	point();
	r = __real_flock(fd, how);
	if (r == 0 && how & (LOCK_EX | LOCK_SH))
		lock_taken(fd);
	if (r == 0 && how & LOCK_EX && fstat(fd, &st) == 0)
		*taker_of(&st) = self ? self->pid : 0;
	if (how & LOCK_UN)
		lock_events++;
	return r;
}

void __real_store_unlock_vgpu(const char *id, int lock);
void __wrap_store_unlock_vgpu(const char *id, int lock)
{
	point();
	__real_store_unlock_vgpu(id, lock);
	lock_events++;
}

/* Directories of the tree age by the real clock, not by the simulated one. */
int64_t __wrap_inventory_created_ms(const struct host *host, const struct vgpu_ref *vgpu)
{
	const struct device *device = device_find(vgpu->id);

	return device ? device->made_ms : 0;
}

/* What /proc/PID/fd/N leads to is no device node, which only root can make: the kernel's number is told instead. */
int __real_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *st);
int __wrap_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *st)
{
	char target[64];
	ssize_t n = readlinkat(dir, path, target, sizeof(target) - 1);
	unsigned int group;

	point();
	target[n < 0 ? 0 : n] = '\0';
	if (sscanf(target, "/dev/vfio/%u", &group) != 1)
		return __real_statx(dir, path, flags, mask, st);
	*st = (struct statx){ .stx_mode = S_IFCHR | 0600, .stx_rdev_major = VFIO_MAJOR, .stx_rdev_minor = group };
	return 0;
}
