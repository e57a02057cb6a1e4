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
#include <fcntl.h>
#include <sys/wait.h>

#include "base/auto.h"
#include "model/crash/trace.h"
#include "host/inventory.h"
#include "lib/stand_in.h"
#include "lib/vgpu.h"
#include "state/history.h"
#include "state/lease_store.h"
#include "lib/tap.h"

#define U1 "4b20d080-1b54-4048-85b3-a6a62d165c01" /* the templates' */
#define VM "8f2d5b1e-7c3a-4e0b-9a54-0d1c5f3e6a01"
#define ORPHAN1 "00000001-0000-4000-8000-00000000000f"
#define ORPHAN2 "00000002-0000-4000-8000-00000000000f"

enum { CALLS_MAX = 4000 };

/* A host of one framework. */
struct kind {
	const char *name, *model, *config;
	const char *vf; /* the vGPU is this VF; NULL: the mdev U1 */
	unsigned int frameworks;
	bool makes; /* there is a device to make */
};

#define ENABLE(type) "[devices]\nenabled_mdev_types = " type "\n"

static const struct kind kinds[] = {
	{ "card", "t4:2", ENABLE("nvidia-222"), NULL, INV_MDEV, true },
	{ "vfs", "a40/2:2", ENABLE("nvidia-565"), NULL, INV_MDEV, true },
	{ "variant", "l40s/2:2", ENABLE("nvidia-1155"), "0000:26:00.4", INV_VARIANT, true },
	{ "vf", "flex/2:2", "[vf_flex]\ndevice_match = 8086:56c0\n", "0000:4d:00.1", 0, false },
};

static const struct kind *kind = &kinds[0];
static char root[64], hook[512], one[512], two[512], other[128];
static struct host host = { .root = -1 };

/* Runs in the child: the hook as libvirt calls it, its output thrown away. */
static void exec_hook(const char *op, const char *xml)
{
	const char *subop = strcmp(op, "release") == 0 ? "end" : "begin";
	int in = open(xml, O_RDONLY), null = open("/dev/null", O_WRONLY);

	/* What it says on stderr is shown as it is: there is something to say only where the test fails. */
	dup2(in, 0);
	dup2(null, 1);
	close(in);
	close(null);
	execl(hook, hook, "--root", root, "--", "vm", op, subop, "-", (char *)NULL);
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

static struct err err;

/* What is there: "DEVICES/LEASES", those of other parties left out. */
static int ours(int *leases)
{
	static const char *const none[] = { NULL };
	const struct inv_query query = { .frameworks = kind->frameworks, .types = none };
	struct inventory inv = { 0 };
	struct store store;
	struct leases all;
	int devices = 0;

	*leases = -1;
	if (kind->frameworks && inventory_read(&inv, &host, &query, &err) < 0)
		return -1;
	for (size_t i = 0; i < inv.ndevices; i++)
		devices += strncmp(inv.devices[i].vgpu.id, "0000000", 7) != 0;
	inventory_free(&inv);
	if (store_open(&store, &host, false, &err) == 0 && lease_list(&store, &all, &err) == 0) {
		*leases = (int)all.n + all.garbage;
		lease_list_free(&all);
	}
	store_close(&store);
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
	struct store store;

	call("prepare", xml);
	if (store_open(&store, &host, false, &err) == 0)
		lease_drop(&store, U1, &err);
	store_close(&store);
}

/* Two cards that orphans keep from the type that is wanted. */
static void orphans(const char *xml)
{
	const struct lease had[] = { { .vgpu = *MDEV("0000:84:00.0", "nvidia-231", ORPHAN1), .origin = LEASE_ADOPTED },
				     { .vgpu = *MDEV("0000:85:00.0", "nvidia-231", ORPHAN2),
				       .origin = LEASE_ADOPTED } };
	struct store store;

	if (store_open(&store, &host, true, &err) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(had); i++) {
		kernel_create(&host, &had[i].vgpu, &err);
		affinity_put(&store, &had[i], true);
	}
	store_close(&store);
}

/* A device that its last QEMU had open at the release: its lease still says `releasing`. */
static void releasing(const char *xml)
{
	struct store store;
	struct lease lease;

	call("prepare", xml);
	if (store_open(&store, &host, false, &err) == 0 && store_lock(&store, 1000, &err) == 0 &&
	    lease_get(&store, U1, &lease, &err) == 1) {
		lease.state = LEASE_RELEASING;
		lease_put(&store, &lease, &err);
	}
	store_close(&store);
}

static void adoptable(const char *xml)
{
	kernel_create(&host, MDEV("0000:85:00.0", "nvidia-222", U1), &err);
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
	struct store store;
	struct lease lease;

	if (store_open(&store, &host, false, &err) == 0 && store.leases >= 0 && store_lock(&store, 1000, &err) == 0 &&
	    lease_get(&store, U1, &lease, &err) == 1) {
		lease.deadline_ms = 1;
		lease_put(&store, &lease, &err);
	}
	store_close(&store);
	return call("prepare", other) == 0 && call("release", other) == 0 && is_empty();
}

static bool adopted_stays(const char *xml)
{
	int leases;
	bool good = call("release", xml) == 0 && ours(&leases) == 1 && leases == 0;

	kernel_remove(&host, MDEV("", "", U1), 1000, &err);
	return good && is_empty();
}

static bool orphans_or_not(const char *xml)
{
	bool good = released(xml);

	kernel_remove(&host, MDEV("", "", ORPHAN1), 1000, &err);
	kernel_remove(&host, MDEV("", "", ORPHAN2), 1000, &err);
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
	{ "prepare: another domain can have the device", "prepare", one, nothing, another_domain, false, false },
	{ "prepare of two devices: all or nothing, and nothing after the release", "prepare", two, nothing, released,
	  true, false },
	{ "prepare of two devices: the domain can start again", "prepare", two, nothing, started_again, false, false },
	{ "prepare that takes a device over which was to be released", "prepare", one, releasing, released, false,
	  false },
	{ "prepare that adopts a device: it is left standing", "prepare", one, adoptable, adopted_stays, false, false },
	{ "prepare that removes orphans to make capacity", "prepare", one, orphans, orphans_or_not, false, false },
	{ "migrate: the prepare and release that follow leave nothing", "migrate", one, nothing, started_again, false,
	  true },
	{ "migrate that is abandoned: its reservation expires", "migrate", one, nothing, expired, false, false },
	{ "restore: the prepare and release that follow leave nothing", "restore", one, nothing, started_again, false,
	  false },
	{ "release: the next one finishes it", "release", one, prepared, released, true, true },
	{ "release of two devices: the next one finishes it", "release", two, prepared, released, false, false },
	{ "release: the domain can start again", "release", one, prepared, started_again, false, true },
	{ "reconnect: the next one restores the lease", "reconnect", one, lease_lost, reconnected, false, false },
};

static void write_file(const char *path, const char *text)
{
	autofclose FILE *f = fopen(path, "w");

	if (f)
		fputs(text, f);
}

static void make_xml(const char *from, char *to, size_t size, const char *name, const char *edit)
{
	char line[1600];

	snprintf(to, size, "%s/%s.xml", root, name);
	snprintf(line, sizeof(line), "sed \"%s\" %s >%s", edit, from, to);
	if (system(line) != 0)
		*to = '\0';
}

static bool start(void)
{
	const char *src = getenv("srcdir"), *build = getenv("builddir");
	char line[1600], path[1024];

	snprintf(hook, sizeof(hook), "%s/hooks/qemu", build);
	strcpy(root, "/tmp/vgpu-lease-crash.XXXXXX");
	if (!mkdtemp(root))
		return false;
	snprintf(line, sizeof(line), "%s/vgpu-lease-sim %s %s && mkdir -p %s/etc", build, root, kind->model, root);
	if (system(line) != 0 || host_open(&host, root, &err) < 0)
		return false;
	snprintf(path, sizeof(path), "%s/xml-templates/domain-one-vgpu.xml", src);
	line[0] = '\0';
	if (kind->vf)
		snprintf(line, sizeof(line),
			 "s/type='mdev'.*>/type='pci' managed='%s'>/; "
			 "s/<address uuid=.*>/<address domain='0x%.4s' bus='0x%.2s' slot='0x%.2s' function='0x%s'\\/>/",
			 kind->makes ? "no" : "yes", kind->vf, &kind->vf[5], &kind->vf[8], &kind->vf[11]);
	make_xml(path, one, sizeof(one), "one", line);
	snprintf(line, sizeof(line), "s/%s/%.8s%s/", VM, "99999999", &VM[8]);
	make_xml(one, other, sizeof(other), "other", line);
	snprintf(two, sizeof(two), "%s/xml-templates/domain-two-vgpus.xml", src);
	snprintf(path, sizeof(path), "%s/etc/vgpu-lease.conf", root);
	snprintf(line, sizeof(line),
		 "%s[policy]\ndriver_cleanup = 0\nreclaim_grace = 0\nreserve_ttl = 3600\nlock_timeout = 10\n",
		 kind->config);
	write_file(path, line);
	return true;
}

static bool stop(void)
{
	char line[1200];

	host_close(&host);
	snprintf(line, sizeof(line), "%s/vgpu-lease-sim --stop %s && rm -rf %s", getenv("builddir"), root, root);
	return system(line) == 0;
}

/* `only`: the number of the one scenario to run; -1 all. With QUICK=1 the shortest look at those of every kind. */
static void run_kind(int only)
{
	const bool quick = getenv("QUICK") != NULL;

	if (!start()) {
		bool must = getenv("MUST_WORK") && strcmp(getenv("MUST_WORK"), "1") == 0;

		printf(must ? "not ok 1 - a simulated host starts\n1..1\n" : "1..0 # SKIP no simulated host\n");
		exit(must);
	}
	for (int i = 0; i < (int)ARRAY_SIZE(scenarios); i++) {
		if ((only >= 0 && only != i) || ((quick || kind != &kinds[0]) && !scenarios[i].everywhere))
			continue;
		every_call(&scenarios[i], i == 0 && !quick && kind == &kinds[0] ? TRACE_EVERY : TRACE_CHANGES);
		if (scenarios[i].alone && !quick)
			every_call(&scenarios[i], TRACE_ALONE);
	}
	ok(stop(), "%s: the host ends", kind->name);
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
