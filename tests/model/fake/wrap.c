/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the program calls instead of the kernel: the linker's --wrap puts these in the place of the real functions. */
#include "model/fake/wrap.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "sys/sys.h"
#include "sys/timed_child.h"
#include "host/inventory.h"

/* A sleep is this much longer than asked for: what is waited for in small steps costs fewer of them. */
enum { CALLS_MAX = 300000, SLOW = 150 };

jmp_buf fake_escape;
void (*fake_meanwhile)(void);

int __real_flock(int fd, int how);

/* Would a process that takes the store's lock now have to wait for this one? */
static bool store_is_locked(void)
{
	int fd = openat(fake_root, "run/vgpu-lease/lock", O_RDWR | O_CLOEXEC);
	bool locked = fd >= 0 && __real_flock(fd, LOCK_EX | LOCK_NB) < 0;

	if (fd >= 0)
		close(fd);
	return locked;
}

static void meanwhile(void)
{
	struct fake was = *fake;

	fake->meanwhile_at = 0;
	fake_process();
	fake_meanwhile();
	fake->pid = was.pid;
	fake->calls = was.calls;
	fake->create_errno = was.create_errno;
	fake->remove_errno = was.remove_errno;
	fake->hang = was.hang;
	fake->half = was.half;
	fake->grab = was.grab;
	fake->settle_at = was.settle_at;
	fake->kill_at = was.kill_at;
}

/* The process dies here if its time has come; never in the middle of what the kernel does. */
static void kill_point(void)
{
	if (!fake->inside && ++fake->calls > CALLS_MAX) {
		fake_broken("process %d never ends", fake->pid);
		longjmp(fake_escape, 1);
	}
	if (!fake->inside && fake->settle_at && --fake->settle_at == 0) {
		int code = errno;

		fake_settle();
		errno = code;
	}
	if (!fake->inside && fake->meanwhile_at && --fake->meanwhile_at == 0) {
		int code = errno;

		if (store_is_locked())
			fake->meanwhile_at = 1;
		else
			meanwhile();
		errno = code;
	}
	if (!fake->inside && fake->kill_at && --fake->kill_at == 0)
		_exit(137);
}

/* WRAP(type, function, parameters, arguments): a call at whose beginning and end the process may die. */
#define WRAP(type, function, parameters, arguments)                                                                    \
	type __real_##function parameters;                                                                             \
	type __wrap_##function parameters;                                                                             \
	type __wrap_##function parameters                                                                              \
	{                                                                                                              \
		type r;                                                                                                \
                                                                                                                       \
		kill_point();                                                                                          \
		r = __real_##function arguments;                                                                       \
		kill_point();                                                                                          \
		return r;                                                                                              \
	}

WRAP(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
WRAP(int, linkat, (int from, const char *a, int to, const char *b, int flags), (from, a, to, b, flags))
WRAP(int, renameat, (int from, const char *a, int to, const char *b), (from, a, to, b))
WRAP(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
WRAP(int, flock, (int fd, int how), (fd, how))

void fake_process(void)
{
	fake->pid = ++fake->pids;
	fake->calls = 0;
	fake->create_errno = fake->remove_errno = fake->kill_at = fake->settle_at = fake->meanwhile_at = 0;
	fake->hang = fake->half = fake->grab = fake->met = false;
}

bool fake_lasts(void)
{
	for (int i = 0; i < FAKE_LASTING; i++)
		if (!fake->lasting[i]) {
			fake->lasting[i] = fake->pid;
			return true;
		}
	return false;
}

void fake_end(int pid)
{
	for (int i = 0; i < FAKE_LASTING; i++)
		if (fake->lasting[i] == pid)
			fake->lasting[i] = 0;
}

static bool lives(pid_t pid)
{
	for (int i = 0; i < FAKE_LASTING; i++)
		if (pid && fake->lasting[i] == pid)
			return true;
	return pid == fake->pid;
}

/* Random, but the same in each run. */
void __wrap_uuid_random(char out[UUID_SIZE]);
void __wrap_uuid_random(char out[UUID_SIZE])
{
	snprintf(out, UUID_SIZE, "e0000000-0000-4000-8000-%012ld", ++fake->uuids % 1000000000);
}

pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void)
{
	return fake->pid;
}

uint64_t __wrap_sys_process_start(pid_t pid);
uint64_t __wrap_sys_process_start(pid_t pid)
{
	return lives(pid) ? 1 : 0;
}

bool __wrap_sys_process_lives(pid_t pid, uint64_t start);
bool __wrap_sys_process_lives(pid_t pid, uint64_t start)
{
	return start == 1 && lives(pid);
}

int64_t __wrap_sys_now_ms(void);
int64_t __wrap_sys_now_ms(void)
{
	return fake->now_ms;
}

/* Directories of the tree age by the real clock, not by the fake one. */
int64_t __wrap_inventory_created_ms(const struct host *host, const struct vgpu_ref *vgpu);
int64_t __wrap_inventory_created_ms(const struct host *host, const struct vgpu_ref *vgpu)
{
	const struct fake_device *device = fake_device(vgpu->id);

	(void)host;
	return device ? device->made_ms : 0;
}

int __wrap_sys_left_ms(int64_t deadline_ms);
int __wrap_sys_left_ms(int64_t deadline_ms)
{
	return deadline_ms > fake->now_ms ? (int)(deadline_ms - fake->now_ms) : 0;
}

void __wrap_sys_sleep_ms(int ms);
void __wrap_sys_sleep_ms(int ms)
{
	kill_point();
	fake->now_ms += ms * SLOW;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	kill_point();
	fake->now_ms += (time->tv_sec * 1000 + time->tv_nsec / 1000000 + 1) * SLOW;
	return 0;
}

/* What /proc/PID/fd/N leads to is no device node, which only root can make: the kernel's number is told instead. */
int __real_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *st);
int __wrap_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *st);
int __wrap_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *st)
{
	char target[64];
	ssize_t n = readlinkat(dir, path, target, sizeof(target) - 1);
	unsigned int group;

	target[n < 0 ? 0 : n] = '\0';
	if (sscanf(target, "/dev/vfio/%u", &group) != 1)
		return __real_statx(dir, path, flags, mask, st);
	*st = (struct statx){ .stx_mode = S_IFCHR | 0600,
			      .stx_rdev_major = (unsigned int)atoi(FAKE_VFIO),
			      .stx_rdev_minor = group };
	return 0;
}

/*
 * The descriptor that holds the lock of the parent's pGPU, once more: a child that goes on holds it. A process in whose
 * middle this one runs can have the same file open, without the lock, or that of another pGPU.
 */
static int hold_lock(const char *parent)
{
	char name[32], target[256];
	const char *file;
	ssize_t n;

	for (int fd = 3; fd < 64; fd++) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		n = readlink(name, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		file = strstr(target, "/run/vgpu-lease/pgpu/");
		/* A VF's address is its pGPU's but for the function. */
		if (file && strncmp(strrchr(file, '/') + 1, parent, strlen(parent) - 1) == 0 &&
		    __real_flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fcntl(fd, F_DUPFD_CLOEXEC, 100);
	}
	return -1;
}

static int poke_create(const char *parent, const char *type, const char *uuid)
{
	struct fake_device *d;
	int r = -fake->create_errno;

	fake->creates++;
	fake->met |= fake->create_errno || fake->half || fake->grab || fake->deferring;
	fake->create_errno = 0;
	if (r < 0)
		return r;
	if (fake->deferring && fake_taken(uuid))
		return -EEXIST;
	if (fake->deferring) {
		struct fake_late *late = &fake->late[fake->nlate++];

		snprintf(late->parent, sizeof(late->parent), "%s", parent);
		snprintf(late->type, sizeof(late->type), "%s", type);
		snprintf(late->uuid, sizeof(late->uuid), "%s", uuid);
		late->lock = hold_lock(parent);
		return 0;
	}
	r = fake_make(parent, type, uuid, fake->half, &d);
	fake->half = false;
	if (r < 0)
		return r;
	d->ours = true;
	if (fake->grab)
		fake_open(d, FAKE_GRABBER);
	fake->grab = false;
	if (fake_count(d->card, d->type) > fake_cap(d->card, d->type))
		fake_broken("%s was made on %s beyond the cap of %d", uuid, parent, fake_cap(d->card, d->type));
	return 0;
}

/* As NVIDIA's driver: not while somebody has it open. */
static int poke_params(const char *uuid)
{
	const struct fake_device *d = fake_device(uuid);

	return !d ? -ENOENT : d->opener ? -EPERM : 0;
}

static int poke_remove(const char *uuid)
{
	struct fake_device *d = fake_device(uuid);
	const char *wrong;
	int r = -fake->remove_errno;

	if (!d)
		return -ENODEV;
	fake->removes++;
	wrong = d->opener ? "it is open" : fake_may_remove(d);
	if (wrong)
		fake_broken("%s on %s was removed: %s", uuid, d->parent, wrong);
	if (r < 0) {
		fake->met = true;
		fake->remove_errno = 0;
		return r;
	}
	fake_unmake(d);
	return 0;
}

int __wrap_sys_poke(int dir, const char *path, const char *data, size_t len);
int __wrap_sys_poke(int dir, const char *path, const char *data, size_t len)
{
	char parent[PARENT_SIZE], type[TYPE_SIZE], uuid[UUID_SIZE], end;
	int r = -ENOENT;

	(void)dir, (void)len;
	kill_point();
	fake->inside = true;
	if (sscanf(path, "sys/class/mdev_bus/%63[^/]/mdev_supported_types/%63[^/]/creat%c", parent, type, &end) == 3 &&
	    sscanf(data, "%36s", uuid) == 1)
		r = poke_create(parent, type, uuid);
	else if (sscanf(path, "sys/bus/mdev/devices/%36[^/]/remov%c", uuid, &end) == 2)
		r = poke_remove(uuid);
	else if (sscanf(path, "sys/bus/mdev/devices/%36[^/]/nvidia/vgpu_param%c", uuid, &end) == 2)
		r = poke_params(uuid);
	else
		fake_broken("a write to %s", path);
	fake->inside = false;
	kill_point();
	return r;
}

int __wrap_timed_child_run(timed_child_work *work, void *arg, int root, int lock, int wait_ms, struct err *err);
int __wrap_timed_child_run(timed_child_work *work, void *arg, int root, int lock, int wait_ms, struct err *err)
{
	int r, late = fake->nlate;

	(void)root, (void)lock;
	fake->deferring = fake->hang && fake->nlate < FAKE_LATE;
	r = work(arg, err);
	fake->deferring = false;
	if (fake->nlate == late)
		return r;
	fake->hang = false;
	fake->now_ms += wait_ms;
	return err_set(err, ETIMEDOUT, "the kernel did not answer within %g s", wait_ms / 1000.0);
}

/* The made-up kernel answers every read. */
int __wrap_timed_child_look(timed_child_work *work, void *arg, struct arena *arena, int keep, int wait_ms,
			    struct err *err);
int __wrap_timed_child_look(timed_child_work *work, void *arg, struct arena *arena, int keep, int wait_ms,
			    struct err *err)
{
	struct arena *before = mem_use(arena);
	int r = work(arg, err);

	(void)keep, (void)wait_ms;
	mem_use(before);
	return r;
}

ssize_t __wrap_timed_child_read(const char *who, int dir, const char *path, char *buf, size_t size);
ssize_t __wrap_timed_child_read(const char *who, int dir, const char *path, char *buf, size_t size)
{
	(void)who;
	return sys_read(dir, path, buf, size);
}

/* What is left is left to others. */
int __wrap_timed_child_detach(int keep, struct err *err);
int __wrap_timed_child_detach(int keep, struct err *err)
{
	(void)keep, (void)err;
	return 0;
}

void fake_settle(void)
{
	struct fake_device *d;

	while (fake->nlate > 0) {
		struct fake_late *late = &fake->late[--fake->nlate];

		if (fake_make(late->parent, late->type, late->uuid, false, &d) == 0)
			d->ours = true;
		close(late->lock);
	}
}
