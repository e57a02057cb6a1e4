/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reconcile on a simulated host: what it records, releases and leaves; and a second pass finds nothing to do. */
#include "lib/live.h"
#include "lib/xml.h"

#include "act/release.h"
#include "handler/handler.h"

#define T4 "0000:84:00.0"

#define GUEST_XML(n, hostdevs)                                                                                         \
	"<domain type='kvm'><name>vm" #n "</name><uuid>" GUEST(n) "</uuid><devices>" hostdevs "</devices></domain>"
#define MARKED(id)                                                                                                     \
	"<domain type='kvm'><name>vm1</name><uuid>" GUEST(1) "</uuid><metadata>" LEASE("<v:device uuid='" id           \
										       "'/>") "</metadata></domain>"
/* Domain n, with the mdev of this number or with none. */
#define WITH(n, id) GUEST_XML(n, MDEV_XML(U(id)))
#define WITHOUT(n) GUEST_XML(n, "")

static struct leases plugged;
static int qemu;         /* as it has a vGPU open */
static int64_t again_ms; /* until when the last pass can wait for the next */

static void make_mdev(const char *id)
{
	make(MDEV(T4, "nvidia-222", id));
}

/* One pass, beside this domain (NULL: none) in libvirt's files after `looked_ms`. How many things were noted. */
static size_t pass_after(const char *xml, bool settled, int64_t looked_ms)
{
	static const char file[] = "run/libvirt/qemu/vm.xml";
	autogc struct gc run = { .world = { .store = &store, .config = &config, .looked_ms = looked_ms },
				 .seen = &plugged };

	unlinkat(live.tree.host.root, file, 0);
	if (xml)
		tree_addf(&live.tree, "%s = <domstatus state='%s'>%s</domstatus>\n", file,
			  settled ? "running' reason='booted" : "paused' reason='starting up", xml);
	must(gc_judge(&run, &err));
	gc_finish(&run);
	again_ms = run.n && run.items[0].fate.again_ms ? run.items[0].fate.again_ms - sys_now_ms() : 0;
	return run.nnotes;
}

static size_t pass(const char *xml, bool settled)
{
	sys_sleep_ms(2);
	return pass_after(xml, settled, sys_now_ms());
}

/* A turn is short, and the machine may be busy. How many releases are left. */
static int finish_once(void)
{
	struct leases said = { 0 };
	int r = finisher_finish(&store, &config.policy, &said, &err);

	lease_list_free(&said);
	return r;
}

static int finish(void)
{
	int r = 0;

	eventually((r = finish_once()) <= 0);
	return r;
}

static const char *state(const char *id)
{
	const struct lease *lease = lease_now(id);
	static char word[64];

	if (!lease)
		return "none";
	snprintf(word, sizeof(word), "%s %s", lease_origin_words[lease->origin], lease_state_words[lease->state]);
	return word;
}

/* After a pass with this domain, whether it is settled or not, the lease of a device is this. */
#define PASSES(xml, settled, id, word, sentence) (pass(xml, settled), is(state(id), word, sentence))

static void put(const char *id, const char *domain, enum lease_state lease_state, enum lease_origin origin)
{
	struct lease lease = lease_of(id, "nvidia-222", T4, lease_state, domain);
	pid_t pid = fork();
	int status;

	lease.origin = origin;
	if (pid == 0) {
		_exit(lease_put(&store, &lease, &err) < 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		tree_fail("no lease");
}

static void marks(void)
{
	struct lease lease = { .since_ms = 1000, .vgpu.id = A }, other = { .since_ms = 1000, .vgpu.id = B };
	struct leases marks = { 0 };

	ok(!lease_is_among(&marks, &lease), "nothing is marked at first");
	lease_add(&marks, &lease);
	ok(lease_is_among(&marks, &lease), "a lease is marked");
	ok(!lease_is_among(&marks, &other), "another vGPU's is not");
	lease.since_ms = 2000;
	ok(!lease_is_among(&marks, &lease), "nor is the next one of the same vGPU");
	lease_list_free(&marks);
	ok(marks.n == 0 && !marks.list, "freed, there are none");
}

static void plugged_in(void)
{
	make_mdev(U(1));
	qemu = hold(U(1));
	PASSES(WITH(1, 1), false, U(1), "none", "nothing is recorded of a domain that is just being started");
	PASSES(WITH(1, 1), true, U(1), "adopted active",
	       "a device that somebody plugged in is leased to its domain, as adopted");
	ok(pass(WITH(1, 1), true) == 0, "a second pass finds nothing to do");
	close(qemu);
	PASSES(WITHOUT(1), true, U(1), "adopted releasing", "unplugged and closed, it is released");
	finish();
	qemu = hold(U(1));
	pass(WITH(1, 1), true);
	close(qemu);
	PASSES(WITHOUT(1), true, U(1), "adopted releasing", "also where no pass came between the two");
	finish();
	qemu = hold(U(1));
	pass(WITH(1, 1), true);
	PASSES(WITHOUT(1), true, U(1), "adopted active", "unplugged, but still open: it stays");
	ok(again_ms > 0 && again_ms <= 10000, "and is looked at again soon");
	close(qemu);
	PASSES(WITHOUT(1), false, U(1), "adopted active", "so it does while its domain is on the move");
	PASSES(MARKED(U(1)), true, U(1), "adopted releasing",
	       "unplugged and closed, it is released, though the metadata names it yet");
	ok(finish() == 0, "which is finished at once");
	is(state(U(1)), "none", "the lease is gone");
	ok(exists(U(1)), "the device, which was there before, stays");
}

static void made_by_us(void)
{
	put(U(2), GUEST(1), LEASE_ACTIVE, LEASE_CREATED);
	make_mdev(U(2));
	PASSES(WITHOUT(1), true, U(2), "created active", "a lease of a moment ago may be on its way into its domain");
	pass(WITH(1, 2), true);
	PASSES(WITHOUT(1), true, U(2), "created releasing", "one that was seen there, and is no more, was unplugged");
	ok(finish() == 0 && !exists(U(2)), "what we made is removed");
	is(state(U(2)), "none", "and its lease is gone");
	ok(exists(U(1)), "all else stays");
}

/* VFs have no name but their address, and hostdevs of the same shape can be any PCI device. */
static void vfs(void)
{
	static const char vf[] = "0000:26:00.4", plain[] = "0000:4d:00.1", other[] = "0000:26:00.5";
	static const char both[] = GUEST_XML(1,
					     VF_XML("26", "4") VF_XML("26", "5") VF_XML("4d", "1") VF_XML("02", "0"));
	int beside;

	make(VARIANT(vf, "nvidia-1145"));
	qemu = hold(vf);
	beside = hold(plain);
	PASSES(both, true, vf, "adopted active", "a VF with a type that somebody plugged in is leased to its domain");
	is(state(plain), "adopted active", "so is a plain VF of the pool");
	is(state(other), "none", "a VF without a type is no vGPU");
	is(state("0000:02:00.0"), "none", "nor is any other PCI device");
	ok(pass(both, true) == 0, "a second pass finds nothing to do");
	close(qemu);
	close(beside);
	pass(WITHOUT(1), true);
	ok(finish() == 0, "unplugged, both are released");
	is(state(vf), "none", "the one");
	is(state(plain), "none", "and the other");
	ok(kernel_exists(&live.tree.host, VARIANT(vf, "nvidia-1145")) == 1, "the type, which it had before, stays");
}

/* start_grace is over for each of these, as on a host that is slow. */
static void on_its_way(void)
{
	int64_t before = sys_now_ms();
	int work;

	config.policy.start_grace_s = 0;
	sys_sleep_ms(2);
	put(U(7), GUEST(7), LEASE_ACTIVE, LEASE_CREATED);
	work = store_lock_vgpu(&store, U(7), &err);
	make_mdev(U(7));
	PASSES(NULL, true, U(7), "created active",
	       "what a command leases whose domain libvirt does not run yet stays while it lives");
	store_unlock_vgpu(U(7), work);
	put(U(7), GUEST(7), LEASE_ACTIVE, LEASE_CREATED);
	pass_after(NULL, true, before);
	is(state(U(7)), "created active",
	   "that libvirt ran no such domain before the lease was written proves nothing");
	pass_after(WITHOUT(7), true, before);
	is(state(U(7)), "created active", "nor that it ran without the device");
	PASSES(WITH(7, 7), false, U(7), "created active", "a domain that libvirt is just starting runs");
	pass(WITH(7, 7), true);
	pass_after(NULL, true, before);
	is(state(U(7)), "created active", "seen in it since, too");
	PASSES(NULL, true, U(7), "created releasing", "that there is no such domain now is the end of it");
	qemu = hold(U(7));
	pass_after(WITH(7, 7), true, before);
	is(state(U(7)), "created releasing", "what was there before the mark does not take that back");
	PASSES(WITH(7, 7), true, U(7), "created active", "a domain that runs with it now does, whoever marked it");
	close(qemu);
	pass(NULL, true);
	ok(finish() == 0 && !exists(U(7)), "and releases it when it ends");
}

/* A command finds the device open, and leaves all as it was; but its domain was released meanwhile. */
static void released_meanwhile(void)
{
	struct lease lease;
	pid_t pid;

	put(U(8), GUEST(8), LEASE_ACTIVE, LEASE_CREATED);
	make_mdev(U(8));
	qemu = hold(U(8));
	if (lease_get(&store, U(8), &lease, &err) != 1)
		tree_fail(err.text);
	pid = fork();
	if (pid == 0) {
		struct leases marked;

		sys_sleep_ms(50);
		_exit(release_mark(&store, GUEST(8), sys_now_ms(), 60000, &marked, &err) == 0 && marked.n == 1 ? 0 : 1);
	}
	ok(release_now(&store, &config.policy, &lease, INT64_MAX, &err) == -EBUSY,
	   "what is open is not released by command");
	waitpid(pid, NULL, 0);
	is(state(U(8)), "created releasing", "nor does that take back the release that its domain had meanwhile");
	close(qemu);
	ok(finish() == 0 && !exists(U(8)), "which is finished once it is closed");
}

/* A detach and a migration's end that are heard of when the next lease is there already. */
static void late(void)
{
	int64_t before;

	config.policy.start_grace_s = 120;
	put(U(a), GUEST(1), LEASE_ACTIVE, LEASE_CREATED);
	make_mdev(U(a));
	pass(WITH(1, a), true);
	put(U(a), GUEST(1), LEASE_ACTIVE, LEASE_CREATED);
	PASSES(WITHOUT(1), true, U(a), "created active",
	       "what was detached, and is just being attached again, is no hot-unplug");
	before = sys_now_ms();
	put(U(a), GUEST(2), LEASE_ACTIVE, LEASE_CREATED);
	ok(pass_after(WITH(1, a), true, before) == 0, "a domain that has migrated away clashes with nobody");
	put(U(a), GUEST(2), LEASE_RELEASING, LEASE_CREATED);
	finish();
	lease_list_free(&plugged);
}

LIVE_TESTS("t4+mtty+l40s/4+flex/2",
	   "[devices]\nenabled_mdev_types = nvidia-222\n[vf_flex]\ndevice_match = 8086:56c0\n"
	   "[policy]\ndriver_cleanup = 0\nrelease_timeout = 1\nreclaim_grace = 0\n",
	   marks, plugged_in, made_by_us, vfs, on_its_way, released_meanwhile, late)
