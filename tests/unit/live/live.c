/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The modules that look at the kernel and write to it, on a simulated one that answers as a real one does. */
#include "lib/messages.h"
#include "lib/live.h"

#include <errno.h>

#include "device/apply.h"
#include "host/vfio_users.h"
#include "host/inventory.h"
#include "state/lease_store.h"
#include "lib/inventory_host.h"

#define T4 "0000:84:00.0"

/* A UUID by its number. */
static const char *uuid(int n)
{
	static char texts[4][UUID_SIZE];
	static int next;
	char *text = texts[next++ % 4];

	snprintf(text, UUID_SIZE, "c6f1a2b3-0000-4000-8000-%012d", n);
	return text;
}

static void life(const struct host *host)
{
	ok(kernel_available(host, MDEV(T4, "nvidia-222", ""), &err) == 16, "an empty T4 has capacity for 16 of 1 GiB");
	ok(kernel_create(host, MDEV(T4, "nvidia-222", uuid(1)), &err) == 0, "one is made");
	ok(kernel_wait_complete(host, MDEV("", "nvidia-222", uuid(1)), 5000, &err) == 0, "and becomes whole");
	ok(kernel_exists(host, MDEV("", "", uuid(1))) == 1, "it exists");
	ok(kernel_available(host, MDEV(T4, "nvidia-222", ""), &err) == 15, "15 more fit");
	ok(kernel_create(host, MDEV(T4, "nvidia-223", uuid(1)), &err) == -EEXIST, "its UUID is taken: %s", err.text);
	ok(kernel_create(host, MDEV("mtty", "mtty-1", uuid(1)), &err) == -EEXIST, "also for other drivers");
	ok(kernel_create(host, MDEV(T4, "nvidia-231", uuid(2)), &err) == -EIO,
	   "another framebuffer size is refused: %s", err.text);
	ok(says(err.text, "M_ADVICE_SIZE"), "and the text says so");
	ok(kernel_create(host, MDEV(T4, "nvidia-9999", uuid(2)), &err) == -ENOENT, "a type that it has not: %s",
	   err.text);
	ok(kernel_set_params(host, MDEV("", "", uuid(1)), "frame_rate_limiter=0", &err) == 0, "parameters are set");
	ok(kernel_remove(host, MDEV("", "", uuid(1)), 1000, &err) == 0 &&
		   kernel_exists(host, MDEV("", "", uuid(1))) == 0,
	   "it is removed");
	ok(kernel_remove(host, MDEV("", "", uuid(1)), 1000, &err) == 0, "a second time is no error");
	ok(kernel_available(host, MDEV(T4, "nvidia-222", ""), &err) == 16, "and there is all the capacity again");
}

static void what_was_set(const struct live *live)
{
	const struct host *host = &live->tree.host;
	char path[PATH_MAX], text[64] = "";
	FILE *f;

	ok(kernel_create(host, MDEV(T4, "nvidia-222", uuid(1)), &err) == 0 &&
		   kernel_set_params(host, MDEV("", "", uuid(1)), "frame_rate_limiter=0", &err) == 0,
	   "a vGPU with parameters");
	snprintf(path, sizeof(path), "%s/sys/bus/mdev/devices/%s/nvidia/vgpu_params", live->tree.path, uuid(1));
	f = fopen(path, "r");
	ok(f && fgets(text, sizeof(text), f) && strncmp(text, "frame_rate_limiter=0", 20) == 0,
	   "has them to the last letter: %s", text);
	if (f)
		fclose(f);
	kernel_remove(host, MDEV("", "", uuid(1)), 1000, &err);
	ok(kernel_create(host, MDEV("mtty", "mtty-1", uuid(1)), &err) == 0 &&
		   kernel_set_params(host, MDEV("", "", uuid(1)), "x=1", &err) == -ENOENT,
	   "mtty's have none: %s", err.text);
	kernel_remove(host, MDEV("", "", uuid(1)), 1000, &err);
}

static void full(const struct host *host)
{
	int made = 0;

	while (made < 20 && kernel_create(host, MDEV("mtty", "mtty-2", uuid(made)), &err) == 0)
		made++;
	ok(made == 12 && err.code == ENOSPC, "mtty has capacity for twelve: %s", err.text);
	ok(says(err.text, "M_ADVICE_FULL"), "and the text says that it is full");
	for (int i = 0; i < made; i++)
		kernel_remove(host, MDEV("", "", uuid(i)), 1000, &err);
	ok(kernel_available(host, MDEV("mtty", "mtty-1", ""), &err) == 24, "all of them are removed");
}

static void trouble(const struct live *live)
{
	const struct host *host = &live->tree.host;
	int64_t start;

	live_control(live, "inject", "create " T4 " ENODEV");
	ok(kernel_create(host, MDEV(T4, "nvidia-222", uuid(1)), &err) == -ENODEV && strstr(err.text, "sriov-manage"),
	   "a parent that is being taken down: %s", err.text);
	live_control(live, "attr_delay_ms", "600");
	ok(kernel_create(host, MDEV(T4, "nvidia-222", uuid(1)), &err) == 0, "a slow device");
	ok(kernel_wait_complete(host, MDEV("", "nvidia-222", uuid(1)), 20, &err) == -ETIMEDOUT,
	   "is not whole at once: %s", err.text);
	ok(kernel_wait_complete(host, MDEV("", "nvidia-222", uuid(1)), 5000, &err) == 0, "but later");
	live_control(live, "attr_delay_ms", "0");
	live_control(live, "inject", "remove any EBUSY 100000");
	ok(kernel_remove(host, MDEV("", "", uuid(1)), 30, &err) == -EBUSY &&
		   kernel_exists(host, MDEV("", "", uuid(1))) == 1,
	   "one that stays busy is not removed: %s", err.text);
	live_control(live, "inject", "clear");
	live_control(live, "inject", "remove any EAGAIN 3");
	ok(kernel_remove(host, MDEV("", "", uuid(1)), 5000, &err) == 0, "one that is busy for a moment is");
	live_control(live, "create_delay_ms", "100");
	start = sys_now_ms();
	ok(kernel_create(host, MDEV(T4, "nvidia-222", uuid(1)), &err) == 0 && sys_now_ms() - start >= 100,
	   "a creation takes as long as the driver does");
	live_control(live, "create_delay_ms", "0");
	kernel_remove(host, MDEV("", "", uuid(1)), 1000, &err);
}

/* Children that make one UUID at once: how many succeed, and how many are told that it is taken. */
static void one_winner(const struct host *host)
{
	int won = 0, taken = 0;
	pid_t pids[4];

	fflush(stdout);
	for (int i = 0; i < 4; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(-kernel_create(host, MDEV(i % 2 ? T4 : "mtty", i % 2 ? "nvidia-222" : "mtty-1", uuid(1)),
					     &err));
	}
	for (int i = 0; i < 4; i++) {
		int status = 0;

		waitpid(pids[i], &status, 0);
		won += WIFEXITED(status) && WEXITSTATUS(status) == 0;
		taken += WIFEXITED(status) && WEXITSTATUS(status) == EEXIST;
	}
	ok(won == 1 && taken == 3, "of four that make one UUID at once, one does: %d, %d are told so", won, taken);
	ok(kernel_remove(host, MDEV("", "", uuid(1)), 1000, &err) == 0, "what it made is removed");
}

static int is_open(const struct host *host, const char *id, pid_t *pid)
{
	struct vfio_users *users = vfio_users_read(host, sys_now_ms() + 10000);
	int r = vfio_users_open(users, host, id, pid, &err);

	vfio_users_free(users);
	return r;
}

static void who_has_it_open(const struct host *host)
{
	char link[PATH_MAX] = "", path[PATH_MAX], node[64];
	pid_t pid = 0;
	int fd;

	ok(kernel_create(host, MDEV(T4, "nvidia-222", uuid(1)), &err) == 0, "a vGPU");
	ok(is_open(host, uuid(1), NULL) == 0, "that nobody has open is not open");
	snprintf(path, sizeof(path), "sys/bus/mdev/devices/%s/iommu_group", uuid(1));
	ok(readlinkat(host->root, path, link, sizeof(link) - 1) > 0, "it has a group");
	snprintf(node, sizeof(node), "dev/vfio/%.32s", strrchr(link, '/') ? strrchr(link, '/') + 1 : "");
	fd = openat(host->root, node, O_RDWR | O_CLOEXEC);
	ok(fd >= 0 && is_open(host, uuid(1), &pid) == 1 && pid == getpid(),
	   "once its group is, it is, and by whom is known");
	ok(kernel_set_params(host, MDEV("", "", uuid(1)), "x=1", &err) == -EPERM, "its parameters are fixed then: %s",
	   err.text);
	close(fd);
	ok(is_open(host, uuid(1), NULL) == 0, "when it is closed it is not open any more");
	kernel_remove(host, MDEV("", "", uuid(1)), 1000, &err);
}

static void what_is_there(const struct live *live)
{
	static const char *const one[] = { "nvidia-557", NULL };
	const struct host *host = &live->tree.host;
	const struct inv_offer *offer;
	char vf[PARENT_SIZE], reason[REASON_SIZE], line[80];
	const struct inv_pgpu *a40;

	ok(read_host(host, EVERYTHING) == 0 && inv.npgpus == 4, "two A40, a T4 and mtty are four pGPUs");
	a40 = inventory_pgpu(&inv, "0000:41:00.0");
	ok(a40 == inv.pgpus[0] && a40->sriov && a40->nvfs == 6 && a40->nparents == 6, "an A40 has six VFs");
	for (int i = 0; i < a40->nparents; i++)
		ok(a40->parents[i]->card == a40, "%s is one of them", a40->parents[i]->name);
	ok(a40->noffers > 10 && a40->ready, "it offers its types");
	is(inv.nvidia_driver, "550.90.05", "the driver's version is known");
	memcpy(vf, a40->parents[0]->name, sizeof(vf));

	err = (struct err){ 0 };
	ok(kernel_create(host, MDEV(vf, one[0], uuid(1)), &err) == 0, "a vGPU on its first VF: %s", err.text);
	ok(read_host(host, MDEVS(one)) == 0 && inv.ndevices == 1 && inv.devices[0].parent == inv.parents[0],
	   "is found there");
	offer = inventory_offer(inv.pgpus[0], one[0]);
	ok(offer && offer->available == 1, "a free VF says that more fit, though the first has no capacity");
	kernel_remove(host, MDEV("", "", uuid(1)), 1000, &err);

	snprintf(line, sizeof(line), "%s off", "0000:41:00.0");
	live_control(live, "register", line);
	ok(read_host(host, MDEVS(one)) == 0 && !inventory_pgpu(&inv, "0000:41:00.0"),
	   "a card that is taken back is not there");
	inventory_explain_card(host, "0000:41:00.0", false, reason);
	ok(strstr(reason, "nvidia-vgpud"), "and somebody who names it is told: %s", reason);
	ok(read_host(host, EVERYTHING) == 0 && inventory_pgpu(&inv, "0000:41:00.0") == inv.pgpus[0] &&
		   !inv.pgpus[0]->ready,
	   "as is who looks at everything");
}

/* libvirtd was killed during a start, and the domain is started again while the first hook goes on alone. */
static void taken_over(const struct host *host)
{
	const struct request request = { .uuid = "dddddddd-0000-4000-8000-000000000001", .name = "vm1", .nvgpus = 1 };
	struct step step = {
		.kind = STEP_CREATE, .vgpu.type = "nvidia-222", .vgpu.parent = T4, .vgpu.pgpu = T4, .numa = UNKNOWN
	};
	struct config config;
	struct store store;
	struct apply apply;
	struct lease lease;
	pid_t other;

	memcpy(step.vgpu.id, uuid(1), UUID_SIZE);
	config_default(&config);
	if (store_open(&store, host, true, &err) < 0)
		tree_fail(err.text);
	apply_start(&apply, &store, &config.policy, &request, "prepare");
	ok(apply_lease(&apply, &step, 1, &err) == 0 && apply_step(&apply, &step, 1, 0, "", &err) == 0,
	   "a start makes a vGPU");
	other = fork();
	if (other == 0)
		_exit(lease_get(&store, step.vgpu.id, &lease, &err) == 1 && lease_put(&store, &lease, &err) == 0 ? 0
														 : 1);
	waitpid(other, NULL, 0);
	apply_undo(&apply);
	ok(kernel_exists(host, MDEV("", "", step.vgpu.id)) == 1 && lease_get(&store, step.vgpu.id, &lease, &err) == 1 &&
		   lease.state == LEASE_ACTIVE,
	   "when it fails later, what another start of the domain has taken over is not undone");
	ok(lease_put(&store, &lease, &err) == 0, "as its own");
	apply_lease(&apply, &step, 1, &err);
	apply_undo(&apply);
	ok(kernel_exists(host, MDEV("", "", step.vgpu.id)) == 0 && lease_get(&store, step.vgpu.id, &lease, &err) == 0,
	   "it is");
	apply_end(&apply);
	store_close(&store);
	config_free(&config);
}

int main(void)
{
	struct live live;

	live_begin(&live, "a40/6:2+t4+mtty");
	life(&live.tree.host);
	what_was_set(&live);
	full(&live.tree.host);
	trouble(&live);
	one_winner(&live.tree.host);
	who_has_it_open(&live.tree.host);
	what_is_there(&live);
	taken_over(&live.tree.host);
	live_end(&live);
	return tap_done();
}
