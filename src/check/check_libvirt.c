/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks that the hook is installed, that libvirt calls the hook, and that the domains' definitions are valid. libvirt
 * looks for hooks only when it starts or reloads.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-login.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "base/mem.h"
#include "domain/domxml.h"
#include "look/inventory.h"
#include "look/libvirt_files.h"
#include "look/hostdev_filter.h"
#include "base/text.h"
#include "sys/sys.h"

enum { PROGRAM_MAX = 64 << 20, SOCKETS_MAX = 16 << 20, SYSTEMD_MS = 3000 };

#define HOOKS LIBVIRT_ETC "/hooks"
enum { HOOK_PATH_SIZE = sizeof(HOOKS "/qemu.d/") + NAME_MAX };

/* libvirtd's AppArmor profile allows only hooks in `allowed` directories. AppArmor checks the target of a link. */
static void look_at_hook_link(struct check *check, const char *path)
{
	static const char *const allowed[] = { "/usr/bin/", "/usr/sbin/", "/" HOOKS "/" };
	char to[PATH_MAX];

	if (sys_target(check->host->libvirt, path, to) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
		if (strncmp(to, allowed[i], strlen(allowed[i])) == 0)
			return;
	check_warn(check, "copy it here",
		   "is a link to %s; under its AppArmor profile, libvirtd runs only programs in /usr/bin and /usr/sbin",
		   to);
}

static int64_t time_us(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/*
 * True if `path` is our hook: an ELF file that contains our name, as `make install` tests too. Updates *came, the time
 * when the oldest executable hook was installed; 0: none.
 */
static bool look_at_hook(struct check *check, const char *path, int64_t *came)
{
	const int dir = check->host->libvirt;
	autoclose int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	autofree char *program = NULL;
	struct stat st, link;
	size_t len;

	if (fstatat(dir, path, &st, 0) < 0 || !S_ISREG(st.st_mode) ||
	    fstatat(dir, path, &link, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (st.st_mode & 0111) {
		int64_t file = time_us(st.st_ctim), name = time_us(link.st_ctim), since = name > file ? name : file;

		*came = *came && *came < since ? *came : since;
	}
	if (fd < 0 || sys_slurp(fd, PROGRAM_MAX, &program, &len) < 0 || len < 4 || memcmp(program, "\177ELF", 4) != 0 ||
	    !memmem(program, len, "vgpu-lease", 10))
		return false;
	check_at_path(check, path);
	if ((st.st_mode & 0111) != 0111)
		check_fail(check, "chmod 755", "not executable, so libvirt does not run it");
	else
		check_pass(check, "installed");
	look_at_hook_link(check, path);
	return true;
}

static bool called_since(const struct check *check, int64_t came)
{
	struct stat called;

	return fstatat(check->host->root, STORE_CALLED, &called, AT_SYMLINK_NOFOLLOW) == 0 &&
	       time_us(called.st_mtim) > came;
}

/* Does any process listen on a socket of libvirt's? True if /proc/net/unix is missing, as on a simulated host. */
static bool listens(const struct host *host)
{
	static const char *const names[] = { "/run/libvirt/libvirt-sock\n", "/run/libvirt/virtqemud-sock\n" };
	autoclose int fd = openat(host->root, "proc/net/unix", O_RDONLY | O_CLOEXEC);
	autofree char *text = NULL;
	size_t len;

	if (fd < 0 || sys_slurp(fd, SOCKETS_MAX, &text, &len) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (memmem(text, len, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Waits until the bus is ready. A method call would also wait, but the call's timeout does not limit that wait. */
static int wait_ready(sd_bus *bus, int64_t end)
{
	int r;

	while ((r = sd_bus_is_ready(bus)) == 0) {
		int left = sys_left_ms(end);

		if (left == 0)
			return -ETIMEDOUT;
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, (uint64_t)left * 1000);
		if (r < 0 && r != -EINTR)
			return r;
	}
	return r < 0 ? r : 0;
}

/* StateChangeTimestamp changes at each start and reload. systemd forgets the times of ExecReload at a daemon-reload. */
int reload_ask(const char *unit, int64_t *wall_us, struct err *err)
{
	const int64_t end = sys_now_ms() + SYSTEMD_MS;
	autofree char *object = NULL;
	sd_bus *bus = NULL;
	uint64_t us = 0;
	int r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &object);

	if (r >= 0)
		r = sd_bus_open_system(&bus);
	if (r >= 0)
		r = wait_ready(bus, end);
	if (r >= 0)
		r = sd_bus_set_method_call_timeout(bus, (uint64_t)sys_left_ms(end) * 1000 + 1);
	if (r >= 0)
		r = sd_bus_get_property_trivial(bus, "org.freedesktop.systemd1", object,
						"org.freedesktop.systemd1.Unit", "StateChangeTimestamp", NULL, 't',
						&us);
	sd_bus_close_unref(bus);
	*wall_us = (int64_t)us;
	return r < 0 ? err_sys(err, -r, "cannot ask systemd about %s", unit) : 0;
}

static void judge_reload(struct check *check, const char *comm, pid_t pid, int64_t came)
{
	autofree char *unit = NULL;
	int64_t reloaded;
	struct err err;
	/* systemd knows neither the daemon of a simulated host nor the service of a daemon in a container. */
	bool asked = !*check->host->name && sd_pid_get_unit(pid, &unit) >= 0 && strstr(unit, ".service") &&
		     reload_ask(unit, &reloaded, &err) == 0;

	if (asked && reloaded > came)
		check_pass(check, "%s has been reloaded since the hook was installed", unit);
	else
		check_report(check, asked ? CHECK_FAIL : CHECK_WARN, check_fix(check, "systemctl reload %s", comm),
			     "%s (%d) started before the hook was installed, and %s", comm, (int)pid,
			     asked ? "has not been reloaded since, so it does not call the hook"
				   : "does not call the hook unless it has been reloaded since");
}

static void judge_daemon(struct check *check, int64_t came)
{
	char comm[LIBVIRT_COMM_SIZE];
	pid_t pid = libvirt_daemon(check->host, comm);
	struct timespec now;

	if (pid > 0)
		check_at_path(check, HOOKS);
	clock_gettime(CLOCK_REALTIME, &now);
	if (pid < 0)
		check_warn(check, "run as root", "cannot tell whether libvirt is running and has loaded the hook");
	else if (!pid && listens(check->host))
		check_pass(check, "not running; its socket starts it, and it then looks for hooks");
	else if (!pid)
		check_warn(check, "systemctl start libvirtd.socket (or virtqemud.socket)",
			   "not running, and no socket starts it, so no domain can be started");
	else if (time_us(now) - libvirt_age_us(pid) > came)
		check_pass(check, "%s (%d) has started since the hook was installed", comm, (int)pid);
	else if (called_since(check, came))
		check_pass(check, "%s (%d) has called the hook since it was installed", comm, (int)pid);
	else
		judge_reload(check, comm, pid, came);
}

/* Reports that our hook is not installed. `came`: when another executable hook was installed; 0: never. */
static void report_no_hook(struct check *check, int64_t came)
{
	const struct err denied = { .code = EACCES, .text = "cannot be read: permission denied" };

	check_at_path(check, HOOKS);
	if (faccessat(check->host->libvirt, HOOKS, X_OK, AT_EACCESS) < 0 && errno == EACCES)
		check_unreadable(check, "fix the cause", &denied);
	else if (came && called_since(check, came))
		/* The installed hook may call ours. */
		check_warn(check, "if no hook there calls it, install it as /" HOOKS "/qemu.d/vgpu-lease",
			   "not found as qemu or in qemu.d, but called since the hook there was installed");
	else
		/* In qemu.d our hook replaces no other hook. */
		check_fail(check, "install it as /" HOOKS "/qemu.d/vgpu-lease, then reload libvirtd (or virtqemud)",
			   "libvirt hook not installed (neither as qemu nor in qemu.d), so libvirt starts every "
			   "domain without it");
}

/* The hook runs in libvirt's mount namespace, where sysfs may be mounted read-only. */
static void look_at_sys(struct check *check)
{
	bool writes = false; /* a lease of a plain VF writes nothing to sysfs */

	for (size_t i = 0; i < check->config->nsections; i++)
		writes |= !check->config->sections[i].vf;
	if (writes && kernel_is_read_only(check->host))
		check_fail(check_at(check, "%s/sys", check->host->name),
			   "set ProtectKernelTunables=no in libvirt's unit, or mount it read-write in its container",
			   "is mounted read-only in libvirt's mount namespace, so no start can create a vGPU");
}

void check_hook(struct check *check)
{
	char path[HOOK_PATH_SIZE] = HOOKS "/qemu", found[HOOK_PATH_SIZE] = "", other[HOOK_PATH_SIZE] = "";
	autoclosedir DIR *dir = sys_list(check->host->libvirt, HOOKS "/qemu.d");
	const struct dirent *e;
	int64_t came = 0; /* when the oldest hook was installed: once libvirt has found a hook, it calls all hooks */

	check_begin(check, "hook");
	/* libvirt runs hooks/qemu and all programs in qemu.d. */
	do {
		if (look_at_hook(check, path, &came))
			memcpy(*found ? other : found, path, sizeof(path));
		e = sys_next(dir);
		if (e)
			snprintf(path, sizeof(path), HOOKS "/qemu.d/%s", e->d_name);
	} while (e);
	if (*other)
		check_warn(check_at_path(check, found), "remove one of them",
			   "also installed as /%s, so libvirt runs both", other);
	/* A simulated host needs a hook only if it has a directory for hooks. */
	else if (!*found && (!*check->host->name || sys_exists(check->host->libvirt, HOOKS)))
		report_no_hook(check, came);
	check_begin(check, "libvirt");
	if (came)
		judge_daemon(check, came);
	look_at_sys(check);
}

#define DEFINED LIBVIRT_ETC "/qemu"

struct check *check_at_definition(struct check *check, const char *name)
{
	return check_at(check, "%s/" DEFINED "/%s.xml", check->host->name, name);
}

static void report_remarks(struct check *check, struct remarks *remarks)
{
	for (EACH(const struct remark *, remark, remarks->list, remarks->n))
		check_warn(check, remark->fix, "%s", remark->text);
	remarks_free(remarks);
}

/* Is the refused vGPU's type known on this host, but not enabled, or not configured for its VF? */
static bool has_other_type(const struct check *check)
{
	const struct resolved_request *resolved = &check->world->resolved_requests[check->plan.refused_vgpu];
	const struct inv_parent *vf = inventory_parent(check->inv, resolved->req->id);
	const char *type = resolved->types[0];

	return resolved->ntypes && inventory_type(check->inv, NULL, type) &&
	       (!config_section(check->config, type) || (vf && !pool_gives(vf, type)));
}

/* Reports an existing mdev without a known type, which a start after a reboot would have to create. */
static void report_typeless(struct check *check, const struct request *request)
{
	autofree const struct section **types = pool_types(check->inv, true, NULL);
	bool several = types[0] && types[1];

	for (size_t i = 0; several && !request->nova && i < request->nvgpus; i++)
		if (request->vgpus[i].kind == REQUEST_MDEV && check->world->resolved_requests[i].source == TYPE_UNSAID)
			check_warn(check, "name its type in the metadata",
				   "domain %s: neither metadata nor an mdevctl definition names the type of vGPU %s, "
				   "so a start after a reboot is refused",
				   request->name, request->vgpus[i].id);
}

/* Reports a stopped domain whose start would be refused for another reason than capacity. */
static void report_refused(struct check *check, const struct request *request)
{
	const struct plan *plan = &check->plan;
	const struct vgpu_request *req;
	struct err err;
	bool in_use;
	int r;

	if (!request->nvgpus || libvirt_files_has_status(check->host, request->name))
		return;
	r = check_plan(check, check->config, request, PLAN_PREPARE, &err);
	in_use = r == 0 && plan->refused == REFUSED_IN_USE;
	if (r == 0 && plan->kind == PLAN_STEPS)
		report_typeless(check, request);
	req = &request->vgpus[r < 0 ? 0 : plan->refused_vgpu];
	/*
	 * A missing permission, or a quota or capacity in use, is not a fault of the domain. look_at_definition() has
	 * reported a placeholder.
	 */
	if (r < 0 ? err_denied(err.code)
		  : plan->kind != PLAN_REFUSE || plan->refused == REFUSED_QUOTA || req->any ||
			    (plan->refused == REFUSED_CAPACITY && !has_other_type(check)))
		return;
	if (r == 0)
		err_set(&err, EINVAL, "vGPU %s: %s", req->id, plan->text);
	/* Domains can take turns with one vGPU. */
	check_report(check, in_use ? CHECK_WARN : CHECK_FAIL,
		     in_use ? request->nova ? "or shut down the other instance first" : "ignore this if they take turns"
		     : r < 0 && r != -ENOENT
			     ? "fix the cause" /* such as a file that cannot be read; ENOENT: unknown type */
		     : request->nova             ? "or correct the configuration"
		     : req->kind == REQUEST_MDEV ? "correct the domain, or the configuration"
						 : "fix the cause, or correct the hostdev",
		     "a start of domain %s would be refused: %s", request->name, err.text);
}

/* Reports a vGPU that an earlier definition also has. Skips leased vGPUs, which report_refused() has reported. */
static void look_at_shared(struct check *check, const struct request *request, const struct libvirt_file *file)
{
	struct libvirt_files earlier = *check->disk;

	earlier.n = (size_t)(file - earlier.list);
	for (EACH(const struct vgpu_request *, req, request->vgpus, request->nvgpus)) {
		const char *other = req->any ? NULL : libvirt_files_names(&earlier, req->id, NULL);

		if (other && !lease_find(&check->world->leases, req->id))
			check_warn(check,
				   request->nova ? "shelve and unshelve one of them" : "ignore this if they take turns",
				   "domains %s and %s have vGPU %s, so only one of them can run at a time", other,
				   file->name, req->id);
	}
}

/* Reports a stopped domain that the hook refuses for its XML, whatever the configuration. Returns false. */
static bool report_bad_xml(struct check *check, const struct libvirt_file *file, const struct err *err)
{
	/* The hook does not parse the XML of a domain that cannot have a vGPU. */
	if ((domxml_concerns(file->text, file->len) ||
	     (domxml_has_pci(file->text, file->len) &&
	      (hostdev_filter_possible(check->config) || lease_any(check->host)))) &&
	    !libvirt_files_has_status(check->host, file->name))
		check_fail(check, "correct the definition (troubleshooting: the-domains-xml)",
			   "a start of domain %s would be refused: %s", file->name, err->text);
	return false;
}

/* True if the definition is valid and contains our metadata or, as in a misspelt namespace, "vgpu". */
static bool look_at_definition(struct check *check, const struct libvirt_file *file)
{
	const unsigned int flags = DOMXML_FILE | DOMXML_ALL_PCI | DOMXML_LARGE;
	bool marked = domxml_concerns(file->text, file->len) || memmem(file->text, file->len, "vgpu", 4);
	struct remarks remarks = { 0 };
	autodomxml struct domxml *doc = NULL;
	const struct request *request;
	struct err err;

	if (!marked && !domxml_has_pci(file->text, file->len) && !file->past)
		return false;
	check_at_definition(check, file->name);
	if (domxml_parse(&doc, file->text, file->len, flags, &err) < 0)
		return report_bad_xml(check, file, &err);
	remark_hostdevs(&remarks, doc, check->host, check->inv);
	report_remarks(check, &remarks);
	if (hostdev_filter_refuse_other(domxml_request(doc), check->host, check->config, &err) < 0)
		return report_bad_xml(check, file, &err);
	hostdev_filter_keep(doc, check->host, check->config, NULL);
	request = domxml_request(doc);
	for (size_t i = 0; i < request->nvgpus; i++)
		if (request->vgpus[i].any)
			check_warn(check,
				   check_fix(check, "run 'vgpu-lease rewrite %s' to assign a UUID",
					     text_operand(request->name, request->uuid)),
				   "domain %s: %s is a placeholder, so a start is refused", request->name,
				   request->vgpus[i].id);
	if (check->inv)
		report_refused(check, request);
	look_at_shared(check, request, file);
	remark_domain(&remarks, doc, check->host);
	report_remarks(check, &remarks);
	return marked;
}

void check_domains(struct check *check)
{
	size_t found = 0, noted = check->n;

	check_begin(check, "domain");
	for (EACH(const struct libvirt_file *, file, check->disk->list, check->disk->n))
		if (!file->runs)
			found += look_at_definition(check, file);
	if (found && check->n == noted)
		check_pass(check_at_path(check, DEFINED), "metadata of %zu definition%s valid", found,
			   found == 1 ? "" : "s");
	check_running(check);
}
