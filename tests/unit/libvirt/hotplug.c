/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* attach, detach, suspend, resume where libvirt fails in the middle. It is fake_virt.h here; a real one: tests/vm. */
#include "libvirt/internal.h"
#include "unit/libvirt/fake_virt.h"

#include "lib/messages.h"
#include "lib/live.h"

static void put(const char *id, const char *domain)
{
	put_lease(lease_of(id, "mtty-1", "mtty", LEASE_ACTIVE, domain));
}

static const char *holder(const char *id)
{
	return lease_now(id) ? lease_now(id)->domain : "none";
}

/* The domain runs with both of its vGPUs, or with none. */
static void begin(bool has)
{
	static const char *const ids[] = { A, B };

	err = (struct err){ 0 };
	free(fake.record);
	fake = (struct fake){ .running = true, .has_a = has, .has_b = has };
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		must(kernel_remove(&live.tree.host, MDEV("mtty", "mtty-1", ids[i]), 60000, &err));
		must(lease_drop(&store, ids[i], &err));
		if (!has)
			continue;
		must(kernel_create(&live.tree.host, MDEV("mtty", "mtty-1", ids[i]), &err));
		put(ids[i], VM);
	}
}

/* The command that a test is about, on the domain; the last one has ended. */
static struct hotplug hp;

static bool opened(void)
{
	hotplug_close(&hp);
	hp = (struct hotplug){ .host = &live.tree.host, .store = &store, .config = &config };
	return hotplug_open(&hp, "vm1", &err) == 0;
}

static int call(int (*act)(struct hotplug *hp, size_t *n, struct err *e))
{
	size_t n;

	return opened() ? act(&hp, &n, &err) : -err.code;
}

static void somebody_takes_a(void)
{
	put(A, OTHER);
}

static int locked = -1;

static void somebody_locks(void)
{
	struct store theirs;

	must(store_open(&theirs, &live.tree.host, true, &err));
	must(store_lock(&theirs, 1000, &err));
	locked = theirs.lock;
	theirs.lock = -1;
	store_close(&theirs);
}

/* With that its live XML ends, and what was written into it. */
static void it_stops(void)
{
	free(fake.record);
	fake.record = NULL;
	fake.running = false;
}

static void suspend_that_fails(void)
{
	begin(true);
	fake.detach_b = ETIMEDOUT;
	ok(call(hotplug_suspend) == -ETIMEDOUT && strstr(err.text, B), "a guest that keeps a vGPU is not suspended");
	ok(fake.has_a && !fake.record, "and gets the other one back");
	begin(true);
	fake.detach_b = ETIMEDOUT;
	fake.meanwhile = somebody_takes_a;
	ok_err(call(hotplug_suspend) < 0 && strstr(err.text, B) && strstr(err.text, A) &&
		       says(err.text, "M_RESUME_DO", "vm1"),
	       "where it does not get it back, the error says how it will");
	ok(fake.record != NULL, "and the record says what it does not have");
	begin(true);
	fake.save = ENOTCONN;
	ok(call(hotplug_suspend) < 0 && strstr(err.text, "made up"), "a libvirtd that went away has not saved it");
	ok(fake.has_a && fake.has_b && !fake.record, "when it is back, the guest has its vGPUs again");
	begin(true);
	fake.meanwhile = somebody_locks;
	ok_err(call(hotplug_suspend) < 0 && says(err.text, "M_SAVED_BUT", "vm1"),
	       "one that is saved is said to be, also where its vGPUs are not released yet");
	close(locked);
	begin(true);
	fake.detach_b = ESHUTDOWN;
	fake.meanwhile = it_stops;
	ok_err(call(hotplug_suspend) == -ESHUTDOWN && strcmp(err.text, "made up") == 0,
	       "of a domain that stopped nothing else is to be said");
}

/* The same vGPU for the same domain, leased by another command: after what this one saw. */
static void somebody_leases_a(void)
{
	sys_sleep_ms(2);
	put(A, VM);
}

static void overtaken(void)
{
	int attaching;

	begin(true);
	fake.has_b = false;
	fake.after_save = somebody_leases_a;
	ok_err(call(hotplug_suspend) == 0, "a domain that is resumed as soon as it is saved");
	is(holder(A), VM, "keeps what the resume leased");
	begin(true);
	fake.meanwhile = somebody_leases_a;
	ok(opened() && hotplug_detach(&hp, A, false, &err) == 0, "a vGPU that is detached, and leased again at once");
	is(holder(A), VM, "stays so");
	begin(true);
	fake.attach = EIO;
	fake.meanwhile = somebody_leases_a;
	ok(opened() && hotplug_plug(&hp, A, "", VIRT_LIVE, &err) == -EIO,
	   "an attach that fails after another command has leased the same");
	is(holder(A), VM, "leaves it to that one");

	begin(true);
	fake.has_a = false;
	put(A, VM);
	attaching = store_lock_vgpu(&store, A, &err);
	ok_err(opened() && hotplug_detach(&hp, A, false, &err) == -EBUSY,
	       "what another command is just attaching cannot be detached");
	is(holder(A), VM, "and stays leased");
	store_unlock_vgpu(A, attaching);
	ok(hotplug_detach(&hp, A, false, &err) == 0, "once that is gone it is released");
	is(holder(A), "none", "with its lease");
}

static void suspended_twice(void)
{
	size_t n;

	begin(true);
	ok(opened(), "a suspend that begins while another does");
	fake.has_a = false;
	fake.record = strdup("<suspended hostdevs=''/>");
	ok_err(hotplug_suspend(&hp, &n, &err) == -EPERM && strstr(err.text, "an earlier suspend"), "is refused");
	is(fake.record, "<suspended hostdevs=''/>", "and the other's record is not written over");
	ok(fake.has_b, "nor anything taken");
}

static void somebody_starts_it(void)
{
	fake.running = true;
}

static void resume_that_fails(void)
{
	begin(true);
	ok(call(hotplug_suspend) == 0 && fake.record, "a domain is suspended");
	is(holder(A), "none", "and holds nothing");
	fake.running = false;
	fake.saved = true;
	fake.start = EIO;
	ok(call(hotplug_resume) == -EIO, "a resume that libvirt does not carry out");
	is(holder(A), "none", "releases what it has leased");
	fake.start = EPERM;
	fake.meanwhile = somebody_starts_it;
	ok_err(call(hotplug_resume) == -EPERM && says(err.text, "M_RESUME_DO", "vm1"),
	       "one whose domain another resume starts meanwhile");
	is(holder(A), VM, "leaves the leases to that one");
	fake.start = 0;
	ok(call(hotplug_resume) == 0 && fake.has_a && fake.has_b && !fake.record, "as does the next");
}

static void detach_for_good(void)
{
	begin(true);
	fake.defined_a = true;
	ok(opened() && hotplug_detach(&hp, A, false, &err) == 0, "a vGPU is detached");
	ok(!fake.has_a && fake.defined_a, "from the guest, not from its definition");
	ok(opened(), "another is detached");
	somebody_locks();
	ok_err(hotplug_detach(&hp, B, false, &err) < 0 && says(err.text, "M_NO_LONGER_HAS", "vm1", B),
	       "and said to be, where it is not released yet");
	close(locked);
	ok(opened() && hotplug_detach(&hp, A, false, &err) == -ENOENT, "a second time is an error");
	ok_err(hotplug_detach(&hp, A, true, &err) == 0 && !fake.defined_a, "that takes it from the definition is none");
	ok(hotplug_detach(&hp, A, true, &err) == -ENOENT, "but a third time is");
}

static void attach_that_does_not(void)
{
	struct lease lease = { 0 };

	begin(false);
	fake.meanwhile = somebody_locks;
	ok_err(opened() && hotplug_attach(&hp, NULL, false, &lease, &err) == 0,
	       "what is attached is, also where the leases are locked for long then");
	is(lease.vgpu.parent, "mtty", "and it is known where");
	close(locked);
}

static void dry_run(void)
{
	autofree char *text = NULL;
	size_t len;
	struct lease lease = { 0 };

	begin(true);
	fake.defined_a = true;
	ok(opened(), "a dry run");
	hp.dry_run = open_memstream(&text, &len);
	ok(hotplug_detach(&hp, A, true, &err) == 0, "of detach");
	ok_err(hotplug_detach(&hp, OTHER, false, &err) == -ENOENT, "which fails as detach does");
	ok(fake.has_a && fake.defined_a, "detaches nothing");
	is(holder(A), VM, "and releases nothing");
	ok(hotplug_attach(&hp, "mtty-1", false, &lease, &err) == 0, "a dry run of attach");
	ok_err(hotplug_attach(&hp, "mtty-9", false, &lease, &err) < 0 && says(err.text, "M_UNKNOWN_TYPE", "mtty-9", ""),
	       "which fails as attach does");
	fclose(hp.dry_run);
	ok(strstr(text, "detach " A " from domain vm1\nremove " A " from the definition of domain vm1\nremove " A
			", mtty-1 on mtty\ncreate ") == text,
	   "print what would be done: %s", text);
	ok(strstr(text, ", mtty-1 on mtty (") && strchr(strstr(text, "create "), '\n')[1] == '\0', "and no more");
	hotplug_close(&hp);
	free(fake.record);
}

LIVE_TESTS("mtty", "[devices]\nenabled_mdev_types = mtty-1\n[policy]\nrelease_timeout = 1\nlock_timeout = 1\n",
	   suspend_that_fails, overtaken, suspended_twice, resume_that_fails, detach_for_good, attach_that_does_not,
	   dry_run)
