/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Releases on a simulated host: what they remove, what they leave standing, and who takes precedence over a removal. */
#include "act/release.h"

#include <sys/syscall.h>

#include "act/internal.h"
#include "look/mdevctl_files.h"
#include "lib/live.h"
#include "lib/messages.h"

#define T4 "0000:84:00.0"
#define OTHER_CARD "0000:85:00.0"

static void make_mdev(const char *id)
{
	make(MDEV(T4, "nvidia-222", id));
}

static struct lease put(const char *id, const char *domain, enum lease_state state, enum lease_origin origin)
{
	struct lease lease = lease_of(id, "nvidia-222", T4, state, domain);

	lease.origin = origin;
	must(store_lock(&store, 60000, &err));
	must(lease_put(&store, &lease, &err));
	store_unlock(&store);
	return lease;
}

static int finish_within(int ms, const char *id)
{
	int64_t by = sys_now_ms() + ms;

	return release_finish(&store, &config.policy, id, by, by, &err);
}

static int finish(const char *id)
{
	return finish_within(60000, id);
}

static void origins(void)
{
	make_mdev(U(1));
	make_mdev(U(2));
	put(U(1), GUEST(1), LEASE_RELEASING, LEASE_CREATED);
	put(U(2), GUEST(1), LEASE_RELEASING, LEASE_ADOPTED);
	ok(finish(U(1)) == 0 && !exists(U(1)) && !lease_now(U(1)), "what was created is removed, with its lease");
	ok(finish(U(2)) == 0 && exists(U(2)) && !lease_now(U(2)), "of what was adopted only the lease goes");
	ok(finish(U(2)) == 0, "a release can be repeated");
	put(U(2), GUEST(1), LEASE_ACTIVE, LEASE_CREATED);
	ok(finish(U(2)) == RELEASE_TAKEN && exists(U(2)) && lease_now(U(2)), "an active lease keeps its device");
}

static void tell(void *told, const struct lease *lease, int r, const struct err *why)
{
	*(int *)told = r;
}

static void told(void)
{
	struct lease lease = put(U(2), GUEST(1), LEASE_ACTIVE, LEASE_CREATED);
	int r = -1;
	const struct sweep sweep = { &store, &config.policy, { .list = &lease, .n = 1 }, tell, &r };

	release_sweep(&sweep, sys_now_ms() + 300, 100);
	ok(r == RELEASE_TAKEN, "what its domain has taken over is not said to be released");
}

static void marks(void)
{
	struct leases marked;
	struct lease lease = put(U(3), GUEST(2), LEASE_RESERVED, LEASE_CREATED);

	put(U(4), GUEST(2), LEASE_ACTIVE, LEASE_CREATED);
	ok(release_mark(&store, GUEST(2), lease.since_ms - 1000, 60000, &marked, &err) == 0 && marked.n == 0,
	   "a lease that is younger than the release is not meant");
	lease_list_free(&marked);
	ok(release_mark(&store, GUEST(2), sys_now_ms(), 60000, &marked, &err) == 0 && marked.n == 1 && !lease_now(U(3)),
	   "a reservation is dropped, and the rest marked");
	is(marked.n ? marked.list[0].vgpu.id : NULL, U(4), "by its ID");
	lease_list_free(&marked);
	ok(finish(U(4)) == 0 && !lease_now(U(4)), "a device that is absent already is no error");
}

/* Who leases a device and then finds its removal under way waits; who removes it looks at the leases afterwards. */
static void removals(void)
{
	const struct vgpu_ref vgpu = put(U(2), GUEST(1), LEASE_RELEASING, LEASE_CREATED).vgpu;
	int lock = store_lock_vgpu(&store, U(2), &err);
	struct lease lease;

	ok_err(lock >= 0 && finish_within(300, U(2)) == -EAGAIN && exists(U(2)) && lease_now(U(2)),
	       "while one removes it, a second one waits for its end");
	store_unlock_vgpu(U(2), lock);
	ok_err(release_orphan(&store, &config.policy, &vgpu, RELEASE_DEVICE, sys_now_ms() + 500, &err) == -EBUSY &&
		       exists(U(2)),
	       "a device that was leased meanwhile is no orphan");
	lease = put(U(2), GUEST(1), LEASE_ACTIVE, LEASE_CREATED);
	lease.since_ms--;
	ok(release_claim(&store, &lease, sys_now_ms() + 500, &err) == RELEASE_TAKEN,
	   "a lease that has changed is not claimed");
	lease.since_ms++;
	ok(release_now(&store, &config.policy, &lease, INT64_MAX, &err) == 0 && !exists(U(2)) && !lease_now(U(2)),
	   "the very lease that its domain gave up is");
}

/* Nova makes a device at the very moment at which its definition is removed. */
static const char *made_with;

int unlinkat(int fd, const char *name, int flag)
{
	int r = (int)syscall(SYS_unlinkat, fd, name, flag);

	if (made_with && strstr(name, made_with)) {
		make_mdev(made_with);
		made_with = NULL;
	}
	return r;
}

static bool defined(const char *parent, const char *id)
{
	char path[200];

	snprintf(path, sizeof(path), "etc/mdevctl.d/%s/%s", parent, id);
	return faccessat(live.tree.host.root, path, F_OK, 0) == 0;
}

static bool remembered(const char *id, const char *parent)
{
	struct affinity was;

	return affinity_get(&store, id, &was) && strcmp(was.parent, parent) == 0;
}

static int undefine(const char *id)
{
	struct vgpu_ref vgpu = *MDEV(T4, "nvidia-222", id);

	text_copy(vgpu.pgpu, sizeof(vgpu.pgpu), T4);
	return release_orphan(&store, &config.policy, &vgpu, RELEASE_LONE_DEFINITION, sys_now_ms() + 500, &err);
}

static void definitions(void)
{
	const struct lease was = { .vgpu = *MDEV(OTHER_CARD, "nvidia-222", U(6)), .origin = LEASE_ADOPTED };

	live_define(T4, "nvidia-222", U(5));
	live_define(OTHER_CARD, "nvidia-222", U(5));
	ok(undefine(U(5)) == 0 && !defined(T4, U(5)) && remembered(U(5), T4), "a definition goes, and is remembered");
	ok(defined(OTHER_CARD, U(5)), "that of another parent stays");

	live_define(T4, "nvidia-222", U(6));
	make_mdev(U(6));
	affinity_put(&store, &was, false, "");
	ok_err(undefine(U(6)) == -EAGAIN && exists(U(6)) && defined(T4, U(6)), "not where it has a device by now");
	ok(remembered(U(6), OTHER_CARD), "of which nothing else is remembered then");

	live_define(T4, "nvidia-222", U(7));
	made_with = U(7);
	ok(undefine(U(7)) == 0 && !made_with && exists(U(7)), "a device that appears meanwhile is not removed");
}

static const struct request request = { .uuid = GUEST(1), .name = "vm1", .nvgpus = 1 };

static bool makes(struct apply *apply, struct step *step)
{
	text_copy(step->vgpu.pgpu, sizeof(step->vgpu.pgpu), T4);
	return apply_lease(apply, step, 1, &err) == 0 && apply_step(apply, step, 1, 0, "", &err) == 0;
}

static void taken_over(void)
{
	struct step step = { .kind = STEP_CREATE, .vgpu = *MDEV(T4, "nvidia-222", A), .numa = UNKNOWN };
	struct apply apply;
	struct lease lease;
	pid_t other;

	apply_start(&apply, &store, &config.policy, &request, "prepare");
	ok(makes(&apply, &step), "a start makes a vGPU");
	other = fork();
	if (other == 0)
		_exit(lease_get(&store, A, &lease, &err) == 1 && lease_put(&store, &lease, &err) == 0 ? 0 : 1);
	waitpid(other, NULL, 0);
	apply_undo(&apply);
	ok(exists(A) && lease_get(&store, A, &lease, &err) == 1 && lease.state == LEASE_ACTIVE,
	   "when it fails later, what another start of the domain has taken over is not undone");
	ok(lease_put(&store, &lease, &err) == 0, "as its own");
	apply_lease(&apply, &step, 1, &err);
	apply_undo(&apply);
	ok(!exists(A) && !lease_now(A), "it is");
	apply_end(&apply);
}

/* A command that keeps the work locks, until libvirt has attached what it has made, and fails before that. */
static void kept_locks(void)
{
	struct step step = { .kind = STEP_CREATE, .vgpu = *MDEV(T4, "nvidia-222", A), .numa = UNKNOWN };
	struct work_locks locks = { 0 };
	struct apply apply;

	apply_start(&apply, &store, &config.policy, &request, "resume");
	apply.work = &locks;
	ok(makes(&apply, &step) && store_locked_vgpu(&store, A), "a command makes a vGPU, and keeps its work lock");
	must(kernel_remove(store.host, &step.vgpu, 60000, &err));
	ok_err(makes(&apply, &step), "removed by other software, it is made again in the next round");
	apply_undo(&apply);
	apply_end(&apply);
	ok(!exists(A) && !lease_now(A), "which does not keep it from being undone");
	work_locks_end(&locks, NULL);
}

/* If others keep its pGPU busy, a start tries again in the next round. Until then it keeps what is reserved for it. */
static void busy_pgpu(void)
{
	static const struct policy patient = { .lock_timeout_s = 60, .create_timeout_s = 1, .reserve_ttl_s = 60 };
	struct step step = { .kind = STEP_CREATE, .vgpu = *MDEV(T4, "nvidia-222", A), .numa = UNKNOWN };
	struct step other = { .kind = STEP_CREATE, .vgpu = *MDEV(OTHER_CARD, "nvidia-223", A), .numa = UNKNOWN };
	int lock = store_lock_pgpu(&store, T4, 0, &err);
	const struct lease *lease;
	struct apply apply;

	apply_start(&apply, &store, &patient, &request, "prepare");
	text_copy(step.vgpu.pgpu, sizeof(step.vgpu.pgpu), T4);
	ok(apply_reserve(&apply, &step, 1, &err) == 0, "an arrival reserves a vGPU");
	apply_end(&apply);
	apply_start(&apply, &store, &patient, &request, "prepare");
	must(apply_lease(&apply, &step, 1, &err));
	ok_err(apply_step(&apply, &step, 1, 0, "", &err) == -EINPROGRESS, "the start finds its pGPU busy");
	lease = lease_now(A);
	ok(lease && lease->state == LEASE_RESERVED && lease->deadline_ms > sys_now_ms(), "the vGPU stays reserved");
	close(lock);
	lock = store_lock_pgpu(&store, OTHER_CARD, 0, &err);
	text_copy(other.vgpu.pgpu, sizeof(other.vgpu.pgpu), OTHER_CARD);
	must(apply_lease(&apply, &other, 1, &err));
	ok_err(apply_step(&apply, &other, 1, 0, "", &err) == -EINPROGRESS, "another pGPU is busy, too");
	lease = lease_now(A);
	ok(lease && lease->state == LEASE_RESERVED && strcmp(lease->vgpu.pgpu, OTHER_CARD) == 0 &&
		   strcmp(lease->vgpu.type, "nvidia-223") == 0,
	   "the vGPU stays reserved there, as others may have taken its first place meanwhile");
	close(lock);
	must(apply_lease(&apply, &step, 1, &err));
	ok_err(apply_step(&apply, &step, 1, 0, "", &err) == 0, "and is made once the pGPU is free");
	apply_undo(&apply);
	ok(!exists(A) && !lease_now(A), "an undo then leaves nothing");
	apply_end(&apply);
}

/* A step that fails leaves the reservations of the steps after it, too, which the next round needs. */
static void later_steps(void)
{
	static const struct request two = { .uuid = GUEST(1), .name = "vm1", .nvgpus = 2 };
	struct step steps[] = {
		{ .kind = STEP_CREATE, .vgpu = *MDEV(T4, "nvidia-222", A), .numa = UNKNOWN },
		{ .kind = STEP_CREATE, .vgpu = *MDEV(T4, "nvidia-222", B), .numa = UNKNOWN },
	};
	const struct lease *lease;
	struct apply apply;

	for (int i = 0; i < 2; i++)
		text_copy(steps[i].vgpu.pgpu, sizeof(steps[i].vgpu.pgpu), T4);
	apply_start(&apply, &store, &(struct policy){ .create_timeout_s = 1, .reserve_ttl_s = 60 }, &two, "prepare");
	must(apply_reserve(&apply, steps, 2, &err));
	apply_end(&apply);
	apply_start(&apply, &store, &config.policy, &two, "prepare");
	must(apply_lease(&apply, steps, 2, &err));
	make_mdev(A);
	ok_err(apply_step(&apply, steps, 2, 0, "", &err) == -EAGAIN, "a start finds that others have made its vGPU");
	lease = lease_now(B);
	ok(lease && lease->state == LEASE_RESERVED, "its other vGPU stays reserved");
	must(kernel_remove(store.host, &steps[0].vgpu, 60000, &err));
	text_copy(steps[0].vgpu.type, sizeof(steps[0].vgpu.type), "nvidia-999");
	must(apply_lease(&apply, steps, 2, &err));
	ok_err(apply_step(&apply, steps, 2, 0, "", &err) < 0, "a driver refuses a vGPU");
	lease = lease_now(B);
	ok(lease && lease->state == LEASE_RESERVED, "the other stays reserved then, too");
	apply_end(&apply);
}

/* Others make a vGPU between a start's look and its lease, and remove it again before the start makes its own. */
static void made_meanwhile(void)
{
	struct step step = { .kind = STEP_CREATE, .vgpu = *MDEV(T4, "nvidia-222", A), .numa = UNKNOWN };
	const struct lease *lease;
	struct apply apply;

	text_copy(step.vgpu.pgpu, sizeof(step.vgpu.pgpu), T4);
	apply_start(&apply, &store, &config.policy, &request, "prepare");
	make_mdev(A);
	must(apply_lease(&apply, &step, 1, &err));
	must(kernel_remove(store.host, &step.vgpu, 60000, &err));
	make_mdev(B); /* takes the inode that a file system gives again */
	ok_err(apply_step(&apply, &step, 1, 0, "", &err) == 0, "a start makes what others have removed");
	lease = lease_now(A);
	ok(lease && lease->state == LEASE_ACTIVE && lease->node, "and knows its own vGPU");
	apply_undo(&apply);
	ok(!lease_now(A) && !sys_exists(store.host->root, "sys/bus/mdev/devices/" A), "and removes it");
	apply_end(&apply);
}

/* A start whose device a process has open waits as long as both limits allow, and says which of them ended the wait. */
static void still_open(void)
{
	const struct policy policy = { .lock_timeout_s = 1, .create_timeout_s = 1, .release_timeout_s = 9 };
	struct step step = { .kind = STEP_KEEP, .vgpu = *MDEV(T4, "nvidia-222", A) };
	struct apply apply;
	int fd;

	make_mdev(A);
	fd = hold(A);
	apply_start(&apply, &store, &policy, &request, "prepare");
	ok(apply_present(&apply, &step, &err) == -EBUSY && says(err.text, "M_STILL_OPEN", "1", "lock_timeout"), "%s",
	   err.text);
	sys_sleep_ms(300);
	ok_err(apply_present(&apply, &step, &err) == -EBUSY, "it also looks if its time was over before");
	apply_end(&apply);
	close(fd);
}

/* NVIDIA's driver has its time from the first look that sees the device closed, whoever removes the device. */
static void drivers_time(void)
{
	const struct vgpu_ref vgpu = *MDEV(T4, "nvidia-222", U(8));
	struct leases marked;
	int fd, r;

	config.policy.driver_cleanup_s = 1;
	make_mdev(U(8));
	put(U(8), GUEST(1), LEASE_ACTIVE, LEASE_CREATED);
	fd = hold(U(8));
	must(release_mark(&store, GUEST(1), sys_now_ms(), 60000, &marked, &err));
	lease_list_free(&marked);
	sys_sleep_ms(1100);
	ok(finish_within(300, U(8)) == -EBUSY, "a release waits until the device is closed");
	close(fd);
	ok_err(finish_within(300, U(8)) == -EAGAIN && exists(U(8)),
	       "then the driver has its time, however long that has taken");
	sys_sleep_ms(1000);
	ok_err(finish(U(8)) == 0 && !exists(U(8)), "after which the device is removed");

	make_mdev(U(8));
	put(U(8), GUEST(1), LEASE_ACTIVE, LEASE_ADOPTED);
	must(store_lock(&store, 60000, &err));
	must(lease_drop(&store, U(8), &err));
	store_unlock(&store);
	r = release_orphan(&store, &config.policy, &vgpu, RELEASE_DEVICE, sys_now_ms() + 100, &err);
	ok_err(r == -EAGAIN && exists(U(8)), "so it has for an orphan that was in use a moment ago");
	r = release_orphan(&store, &config.policy, &vgpu, RELEASE_DEVICE, sys_now_ms() + 60000, &err);
	ok_err(r == 0 && !exists(U(8)), "which is removed after that time");
	config.policy.driver_cleanup_s = 0;
}

LIVE_TESTS("t4", "[policy]\ndriver_cleanup = 0\nrelease_timeout = 1\n", origins, told, marks, removals, definitions,
	   taken_over, kept_locks, busy_pgpu, later_steps, made_meanwhile, still_open, drivers_time)
