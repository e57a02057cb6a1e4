/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The hook killed before each of its system calls in turn, on a simulated host. Afterwards libvirt's next call comes:
 * nothing may be left, nothing may be leased twice, and the domain must be able to start.
 *
 * A kill after a system call is a kill before the next one, so that entries alone are counted; and a kill before one
 * that changes nothing outside of the process is one before the next that may. Most scenarios have only those (trace.c
 * has the list of the others), from the first one on that does change something; the first scenario has every call from
 * the loader's on. Some run twice: with the hook's children killed beside it, and with a child that goes on alone (it
 * may be in the middle of a write to the kernel). How far that one is depends on the moment: there, too, it is every
 * call.
 */
#include "lib/live.h"
#include "lib/xml.h"
#include "model/crash/trace.h"
#include "state/history.h"

#define ORPHAN1 "00000001-0000-4000-8000-00000000000f"
#define ORPHAN2 "00000002-0000-4000-8000-00000000000f"

enum { CALLS_MAX = 4000 };

struct kind {
	const char *name, *model, *config;
	const char *hostdev; /* of the domain's vGPU */
	unsigned int frameworks;
	bool makes; /* there is a device to make */
};

#define ENABLE(type) "[devices]\\nenabled_mdev_types = " type "\\n"

static const struct kind kinds[] = {
	{ "card", "t4:2", ENABLE("nvidia-222"), MDEV_XML(A), INV_MDEV, true },
	{ "vfs", "a40/2:2", ENABLE("nvidia-565"), MDEV_XML(A), INV_MDEV, true },
	{ "variant", "l40s/2:2", ENABLE("nvidia-1155"), VF_XML("26", "4"), INV_VARIANT, true },
	{ "vf", "flex/2:2", "[vf_flex]\\ndevice_match = 8086:56c0\\n",
	  "<hostdev mode='subsystem' type='pci' managed='yes'><source>"
	  "<address domain='0x0000' bus='0x4d' slot='0x00' function='0x1'/></source></hostdev>",
	  0, false },
};

static const struct kind *kind = &kinds[0];
static char one[128], two[128], other[128]; /* files with a domain's XML */

/* Runs in the child: the hook as libvirt calls it, its output thrown away. */
static void exec_hook(const char *op, const char *xml)
{
	const char *subop = strcmp(op, "release") == 0 ? "end" : "begin";
	int in = open(xml, O_RDONLY), null = open("/dev/null", O_WRONLY);
	char hook[PATH_MAX];

	/* What it says on stderr is shown as it is: there is something to say only where the test fails. */
	dup2(in, 0);
	dup2(null, 1);
	close(in);
	close(null);
	snprintf(hook, sizeof(hook), "%s/hooks/qemu", getenv("builddir"));
	execl(hook, hook, "--root", live.tree.path, "--", "vm", op, subop, "-", (char *)NULL);
	_exit(127);
}

static int call(const char *op, const char *xml)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		exec_hook(op, xml);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What is there: "DEVICES/LEASES", those of other parties left out. */
static int ours(int *leases)
{
	static const char *const none[] = { NULL };
	const struct inv_query query = { .frameworks = kind->frameworks, .types = none };
	struct inventory inv = { 0 };
	struct leases all;
	int devices = 0;

	*leases = -1;
	if (kind->frameworks && inventory_read(&inv, &live.tree.host, &query, &err) < 0)
		return -1;
	for (size_t i = 0; i < inv.ndevices; i++)
		devices += strncmp(inv.devices[i].vgpu.id, "0000000", 7) != 0;
	inventory_free(&inv);
	if (lease_list(&store, &all, &err) == 0) {
		*leases = (int)all.n + all.garbage;
		lease_list_free(&all);
	}
	return devices;
}

/* A child that goes on alone after its parent's death is done within moments. */
static bool is_empty(void)
{
	int leases = 0, devices = 0;

	if (eventually((devices = ours(&leases)) == 0 && leases == 0))
		return true;
	printf("# left: %d devices, %d leases\n", devices, leases);
	return false;
}

struct scenario {
	const char *says, *op, *xml;
	void (*before)(const char *xml);
	bool (*after)(const char *xml); /* libvirt's next calls; is all as it should be? */
	bool alone;                     /* also with a child that outlives the hook */
	bool everywhere;                /* in each framework, not only with mdevs on the card */
};

static void nothing(const char *xml)
{
}

static void prepared(const char *xml)
{
	call("prepare", xml);
}

static void lease_lost(const char *xml)
{
	call("prepare", xml);
	lease_drop(&store, A, &err);
}

/* Two cards that orphans keep from the type that is wanted. */
static void orphans(const char *xml)
{
	const struct lease had[] = { { .vgpu = *MDEV("0000:84:00.0", "nvidia-231", ORPHAN1), .origin = LEASE_ADOPTED },
				     { .vgpu = *MDEV("0000:85:00.0", "nvidia-231", ORPHAN2),
				       .origin = LEASE_ADOPTED } };

	for (size_t i = 0; i < ARRAY_SIZE(had); i++) {
		kernel_create(&live.tree.host, &had[i].vgpu, &err);
		affinity_put(&store, &had[i], true, "");
	}
}

/* The domain's lease, if it has one, is to be released, or its time is up. */
static void end_lease(bool released)
{
	struct lease lease;

	must(store_lock(&store, 60000, &err));
	if (lease_get(&store, A, &lease, &err) == 1) {
		if (released)
			lease.state = LEASE_RELEASING;
		else
			lease.deadline_ms = 1;
		lease_put(&store, &lease, &err);
	}
	store_unlock(&store);
}

/* A device that its last QEMU had open at the release: its lease still says `releasing`. */
static void releasing(const char *xml)
{
	call("prepare", xml);
	end_lease(true);
}

static void adoptable(const char *xml)
{
	kernel_create(&live.tree.host, MDEV("0000:85:00.0", "nvidia-222", A), &err);
}

static bool released(const char *xml)
{
	return call("release", xml) == 0 && is_empty();
}

/* libvirt may not even call release (it was killed, too): the domain starts again. */
static bool started_again(const char *xml)
{
	int leases, devices;

	if (call("prepare", xml) != 0)
		return false;
	devices = ours(&leases);
	if (leases != (xml == two ? 2 : 1) || devices != (kind->makes ? leases : 0)) {
		printf("# after another prepare: %d devices, %d leases\n", devices, leases);
		return false;
	}
	return released(xml);
}

/* Then another domain requests the same device: it must not be told that it is taken. */
static bool another_domain(const char *xml)
{
	return released(xml) && call("prepare", other) == 0 && call("release", other) == 0 && is_empty();
}

/* libvirt abandons it without another call. When the reservation's time is up, another domain has the device. */
static bool expired(const char *xml)
{
	end_lease(false);
	return call("prepare", other) == 0 && call("release", other) == 0 && is_empty();
}

static bool adopted_stays(const char *xml)
{
	int leases;
	bool good = call("release", xml) == 0 && ours(&leases) == 1 && leases == 0;

	kernel_remove(&live.tree.host, MDEV("", "", A), 60000, &err);
	return good && is_empty();
}

static bool orphans_or_not(const char *xml)
{
	bool good = released(xml);

	kernel_remove(&live.tree.host, MDEV("", "", ORPHAN1), 60000, &err);
	kernel_remove(&live.tree.host, MDEV("", "", ORPHAN2), 60000, &err);
	return good;
}

static bool reconnected(const char *xml)
{
	int leases;

	return call("reconnect", xml) == 0 && ours(&leases) == 1 && leases == 1 && released(xml);
}

static void every_call(const struct scenario *s, enum trace_calls which)
{
	static const char *const of[] = {
		[TRACE_CHANGES] = "system calls that may change something",
		[TRACE_EVERY] = "system calls",
		[TRACE_ALONE] = "system calls, its child not",
	};
	static const int least[] = { [TRACE_CHANGES] = 10, [TRACE_EVERY] = 20, [TRACE_ALONE] = 20 };
	int calls = 0, bad = 0, first, from, n;

	/* Once whole, to see where to begin. */
	s->before(s->xml);
	trace_killed_at(exec_hook, s->op, s->xml, CALLS_MAX, which, &calls, &from);
	bad += !s->after(s->xml);
	if (which == TRACE_EVERY)
		from = 1;
	for (n = from; n < CALLS_MAX && bad == 0; n++) {
		bool was_killed;

		s->before(s->xml);
		was_killed = trace_killed_at(exec_hook, s->op, s->xml, n, which, &calls, &first);
		if (!s->after(s->xml)) {
			printf("# killed before system call %d\n", n);
			bad++;
		}
		if (!was_killed)
			break;
	}
	ok(bad == 0 && from > 0 && calls - from > least[which], "%s: %s, killed before each, from %d to %d, of its %s",
	   kind->name, s->says, from, calls, of[which]);
}

static const struct scenario scenarios[] = {
	{ "prepare: the release that follows leaves nothing", "prepare", one, nothing, released, true, true },
	{ "prepare: the domain can start again", "prepare", one, nothing, started_again, false, true },
	{ "prepare: another domain can have the device", "prepare", one, nothing, another_domain },
	{ "prepare of two devices: all or nothing, and nothing after the release", "prepare", two, nothing, released,
	  true },
	{ "prepare of two devices: the domain can start again", "prepare", two, nothing, started_again },
	{ "prepare that takes a device over which was to be released", "prepare", one, releasing, released },
	{ "prepare that adopts a device: it is left standing", "prepare", one, adoptable, adopted_stays },
	{ "prepare that removes orphans to make capacity", "prepare", one, orphans, orphans_or_not },
	{ "migrate: the prepare and release that follow leave nothing", "migrate", one, nothing, started_again, false,
	  true },
	{ "migrate that is abandoned: its reservation expires", "migrate", one, nothing, expired },
	{ "restore: the prepare and release that follow leave nothing", "restore", one, nothing, started_again },
	{ "release: the next one finishes it", "release", one, prepared, released, true, true },
	{ "release of two devices: the next one finishes it", "release", two, prepared, released },
	{ "release: the domain can start again", "release", one, prepared, started_again, false, true },
	{ "reconnect: the next one restores the lease", "reconnect", one, lease_lost, reconnected },
};

static void add_domain(char path[128], const char *name, const char *uuid, const char *metadata, const char *hostdevs)
{
	tree_addf(&live.tree,
		  "%s.xml = <domain type='kvm'><name>vm</name><uuid>%s</uuid><metadata>%s</metadata>"
		  "<devices>%s</devices></domain>\n",
		  name, uuid, metadata, hostdevs);
	snprintf(path, 128, "%s/%s.xml", live.tree.path, name);
}

#define SPREAD(uuid) "<v:device uuid='" uuid "' type='nvidia-222' placement='spread'/>"

static void start(void)
{
	live_begin(kind->model);
	must(store_open(&store, &live.tree.host, true, &err));
	add_domain(one, "one", VM, "", kind->hostdev);
	add_domain(two, "two", VM, LEASE(SPREAD(B) SPREAD(C)), MDEV_XML(B) MDEV_XML(C));
	add_domain(other, "other", OTHER, "", kind->hostdev);
	tree_addf(&live.tree,
		  "etc/vgpu-lease.conf = %s[policy]\\ndriver_cleanup = 0\\nreclaim_grace = 0\\n"
		  "reserve_ttl = 3600\\nlock_timeout = 10\n",
		  kind->config);
}

/* `only`: the number of the one scenario to run; -1 all. With QUICK=1 the shortest look at those of every kind. */
static void run_kind(int only)
{
	const bool quick = getenv("QUICK") != NULL;

	start();
	for (int i = 0; i < (int)ARRAY_SIZE(scenarios); i++) {
		if ((only >= 0 && only != i) || ((quick || kind != &kinds[0]) && !scenarios[i].everywhere))
			continue;
		every_call(&scenarios[i], i == 0 && !quick && kind == &kinds[0] ? TRACE_EVERY : TRACE_CHANGES);
		if (scenarios[i].alone && !quick)
			every_call(&scenarios[i], TRACE_ALONE);
	}
	store_close(&store);
	live_end();
}

/* crash [NUMBER] [KIND...]: all scenarios, or the one of this number, with mdevs on the card or those kinds of host. */
int main(int argc, char **argv)
{
	bool numbered = argc > 1 && argv[1][0] >= '0' && argv[1][0] <= '9';
	int only = numbered ? atoi(argv[1]) : -1, first = numbered ? 2 : 1;

	if (first >= argc)
		run_kind(only);
	for (int i = first; i < argc; i++)
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			if (strcmp(kinds[k].name, argv[i]) == 0) {
				kind = &kinds[k];
				run_kind(only);
			}
	return tap_done();
}
