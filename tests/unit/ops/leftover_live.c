/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is left is finished in a child in which, of the caller's descriptors, only that of the root is open. */
#include "ops/leftover.h"

#include <unistd.h>

#include "lib/live.h"
#include "lib/vgpu.h"

#define T4 "0000:84:00.0"
#define A "c6f1a2b3-0000-4000-8000-00000000000a"

static struct live live;
static struct store store;

/* A lease that is as old as the host, and its hook has ended. */
static void put_old(struct lease *lease)
{
	char text[4096];
	struct err err;
	int fd, n;

	if (store_lock(&store, 1000, &err) < 0 || lease_put(&store, lease, &err) < 0)
		tree_fail(err.text);
	lease->since_ms = 1;
	lease->writer = 0;
	n = lease_format(lease, text, sizeof(text));
	fd = openat(store.leases, A, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (n < 0 || fd < 0 || write(fd, text, (size_t)n) != n || close(fd) < 0)
		tree_fail(A);
	store_unlock(&store);
}

static bool leased(void)
{
	struct lease lease;
	struct err err;

	return lease_get(&store, A, &lease, &err) == 1;
}

int main(void)
{
	static struct config config = { .policy = { .lock_timeout_s = 5 } };
	struct lease lease = { .vgpu = *MDEV(T4, "nvidia-222", A), .name = "vm", .state = LEASE_ACTIVE };
	struct host host;
	struct err err;

	live_begin(&live, "t4");
	/* As the command has it beside a libvirtd that runs. */
	host = live.tree.host;
	host.libvirt = dup(host.root);
	snprintf(lease.vgpu.pgpu, sizeof(lease.vgpu.pgpu), "%s", T4);
	snprintf(lease.domain, sizeof(lease.domain), "dddddddd-0000-4000-8000-000000000001");
	if (kernel_create(&host, &lease.vgpu, &err) < 0 || store_open(&store, &host, true, &err) < 0)
		tree_fail(err.text);
	put_old(&lease);
	/* No active lease is left before five minutes. */
	while (sys_now_ms() < 301000)
		sys_sleep_ms(1000);
	tree_add(&live.tree, "etc/mdevctl.d/" T4 "/" A " = {\"mdev_type\": \"nvidia-222\"}\n");
	leftover_finish(&host, &config, &config.policy, NULL);
	for (int i = 0; leased() && i < 200; i++)
		sys_sleep_ms(50);
	ok(!leased(), "what another domain left is finished");
	ok(kernel_exists(&host, &lease.vgpu) == 1, "and what mdevctl has defined since stays");
	store_close(&store);
	close(host.libvirt);
	live_end(&live);
	return tap_done();
}
