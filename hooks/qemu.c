/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The hook that libvirt calls: /etc/libvirt/hooks/qemu GUEST OP SUBOP EXTRA, with the domain's XML on standard input.
 *
 * An operation that is not ours ends at once, a domain without a vGPU at the gate, before libxml2 is loaded. Only
 * prepare and migrate refuse, with one line on stderr. Other operations exit with 0 even after an error, because
 * libvirt kills the running guest after a failed reconnect, and can delete the saved guest after a failed restore. Both
 * work in a child, so that even a crash does no harm.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/lifecycle.h"
#include "base/args.h"
#include "base/mem.h"
#include "model/event.h"
#include "look/inventory.h"
#include "look/hostdev_filter.h"
#include "look/libvirt_files.h"
#include "act/preview.h"
#include "state/history.h"
#include "base/text.h"
#include "sys/sys.h"
#include "sys/log.h"

enum { SHOWN_NAME = 120, HOST_NAME_SIZE = 65, PREFIX_SIZE = SHOWN_NAME + 48, EXIT_REFUSED = 1 };

struct hook {
	struct args args;
	bool dry_run;
	const char *guest, *op, *subop, *extra; /* libvirt's four arguments; NULL: --help or --version */
	struct host host;
	struct config config;
	bool read; /* read_host() has opened the host and, with the power to lease, tried to read the configuration */
	char *xml;
	size_t len;
	char name[SHOWN_NAME]; /* cut, to leave space for the reason and the fix */
	char uuid[UUID_SIZE];  /* set only for a release */
	struct domxml *doc;
	struct lifecycle lifecycle;
	bool concerns; /* the domain has a vGPU, so the call is counted */
	int64_t began_ms;
	int parent; /* descriptor for sys_guarded_give(), by which the parent prints; negative: this process prints */
};

struct operation {
	const char *op, *subop;
	enum count_op what;
	bool may_refuse;
	bool needs_config; /* false: an error in the configuration is only logged */
	enum plan_mode mode;
};

static const struct arg options[] = {
	ARG_ROOT,
	ARG_CONFIG,
	{ "dry-run", NULL, 0, offsetof(struct hook, dry_run), "Print the steps and the XML, and change nothing", 0 },
	ARG_HELP,
	ARG_VERSION,
	{ 0 },
};

/* Four arguments are a call by libvirt, even if a domain is named --dry-run. Any other call has "--" before them. */
static int parse_call(struct hook *hook, int argc, char **argv, struct err *err)
{
	char **words = argv + 1;

	if (argc != 5) {
		if (args_parse(hook, options, argc, argv, err) < 0)
			return -err->code;
		if (hook->args.help || hook->args.version)
			return 0;
		if (hook->args.noperands != 4 || hook->args.nfree)
			return err_set(err, EINVAL, "expected [OPTION]... -- GUEST OP SUBOP EXTRA");
		words = hook->args.operands;
	}
	hook->guest = words[0];
	hook->op = words[1];
	hook->subop = words[2];
	hook->extra = words[3];
	return 0;
}

static int print_help(const struct hook *hook)
{
	if (hook->args.version) {
		fputs(ARGS_VERSION("vgpu-lease"), stdout);
	} else {
		printf("usage: qemu [OPTION]... -- GUEST OP SUBOP EXTRA\n\n"
		       "The libvirt hook of vgpu-lease. libvirt runs it without options, with the domain\n"
		       "XML on standard input. GUEST is the domain's name; EXTRA is often -.\n\n");
		args_help(stdout, options, 0);
	}
	return fflush(stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int write_out(void *arg, const char *data, size_t len, struct err *err)
{
	const struct hook *hook = arg;
	int r = hook->parent >= 0 ? sys_guarded_give(hook->parent, data, len) : sys_write_all(STDOUT_FILENO, data, len);

	/* Always EIO, because ENOSPC would mean that the pool has no capacity. */
	return r < 0 ? err_set(err, EIO, "cannot write the XML to standard output: %s", err_describe(-r)) : 0;
}

static int act(struct hook *hook, const struct operation *operation, struct err *err)
{
	const struct lifecycle *lifecycle = &hook->lifecycle;

	switch (operation->what) {
	case COUNT_PREPARE:
		return lifecycle_prepare(lifecycle, err);
	case COUNT_RECONNECT:
		return lifecycle_reconnect(lifecycle, err);
	case COUNT_RELEASE:
		return lifecycle_release(&hook->host, &hook->config, hook->uuid, hook->extra, err);
	case COUNT_MIGRATE:
	case COUNT_RESTORE:
		return lifecycle_arrive(lifecycle, operation->mode, write_out, hook, err);
	}
	return -EINVAL;
}

static const struct operation operations[] = {
	{ "prepare", "begin", COUNT_PREPARE, true, true, PLAN_PREPARE },
	{ "migrate", "begin", COUNT_MIGRATE, true, true, PLAN_MIGRATE },
	{ "restore", "begin", COUNT_RESTORE, false, true, PLAN_RESTORE },
	{ "reconnect", "begin", COUNT_RECONNECT, false, false, PLAN_PREPARE },
	{ "release", "end", COUNT_RELEASE, false, false, PLAN_PREPARE },
};

/* NULL: not ours, such as start, started, stopped and attach. */
static const struct operation *find_operation(const struct hook *hook)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		if (strcmp(operations[i].op, hook->op) == 0 && strcmp(operations[i].subop, hook->subop) == 0)
			return &operations[i];
	return NULL;
}

static int open_host(struct hook *hook, struct err *err)
{
	return hook->host.root >= 0 ? 0 : host_open(&hook->host, hook->args.root, err);
}

/* A missing configuration is not an error; an invalid one is. */
static int read_host(struct hook *hook, struct err *err)
{
	if (hook->read)
		return 0;
	config_default(&hook->config);
	if (open_host(hook, err) < 0)
		return -err->code;
	hook->read = true;
	hook->lifecycle.powerless = !hook->args.root && geteuid() != 0;
	if (hook->lifecycle.powerless)
		err_set(&hook->config.why, EPERM, "libvirt does not run as root");
	else if (inventory_load_config(&hook->config, &hook->host, hook->args.config, err) < 0 && err->code != ENOENT)
		return err_about(err, ERR_CONFIG);
	return 0;
}

/*
 * Might the domain have a vGPU or, at a release, a lease? A PCI hostdev can be a VF of the pool or, at a start, a pGPU.
 */
static int gate(struct hook *hook, enum count_op what, struct err *err)
{
	if (domxml_concerns(hook->xml, hook->len))
		return 1;
	/*
	 * A VF needs no <vgpu:device>, and a leased device can be detached, so the leases decide: any lease, if this
	 * domain's UUID cannot be read.
	 */
	if (what == COUNT_RELEASE)
		return open_host(hook, err) == 0 && lease_any(&hook->host) &&
		       hostdev_filter_leased(&hook->host,
					     domxml_peek_uuid(hook->uuid, hook->xml, hook->len) ? hook->uuid : NULL);
	if (!domxml_has_pci(hook->xml, hook->len))
		return 0;
	if (read_host(hook, err) < 0)
		log_warn("%s", err->text);
	if (hook->host.root < 0)
		return 0;
	/* At a start, any lease makes a vGPU possible, because the configuration can have changed. */
	return hostdev_filter_possible(&hook->config) || (what == COUNT_PREPARE && lease_any(&hook->host));
}

/* A release needs only the domain's UUID. */
static int read_owner(struct hook *hook, struct err *err)
{
	if (!domxml_peek_uuid(hook->uuid, hook->xml, hook->len)) {
		if (domxml_parse(&hook->doc, hook->xml, hook->len, DOMXML_IDENTITY, err) < 0)
			return -err->code;
		memcpy(hook->uuid, domxml_request(hook->doc)->uuid, sizeof(hook->uuid));
	}
	if (read_host(hook, err) < 0)
		log_warn("%s: %s", hook->op, err->text);
	return 1;
}

/* Parses the domain, and keeps the hostdevs that are vGPUs. Returns 0 if none is a vGPU. */
static int read_hostdevs(struct hook *hook, const struct operation *operation, struct err *err)
{
	int r = domxml_parse(&hook->doc, hook->xml, hook->len, DOMXML_ALL_PCI, err);

	if (r < 0)
		return r;
	hook->lifecycle.doc = hook->doc;
	hook->lifecycle.request = domxml_request(hook->doc);
	if (hook->lifecycle.request->nvgpus == 0)
		return 0;
	r = read_host(hook, err);
	if (r < 0 && hook->host.root < 0)
		return r;
	if (r < 0 && !operation->needs_config)
		log_warn("%s: %s", operation->op, err->text);
	return hostdev_filter_request(hook->doc, &hook->host, hook->lifecycle.config, operation->what == COUNT_PREPARE,
				      err);
}

/* noinline keeps the large variables off run()'s stack. */
__attribute__((noinline)) static int dry_plan(struct hook *hook, const struct operation *operation, struct err *err)
{
	autopreview struct preview preview = { 0 };
	const struct rewritten *rewritten = &preview.rewritten;
	autoremarks struct remarks remarks = { 0 };
	int r = preview_decide(&preview, &hook->lifecycle, operation->mode, err);

	if (r == 0)
		preview_remarks(&remarks, &preview, operation->op);
	for (EACH(const struct remark *, remark, remarks.list, remarks.n))
		text_line(stderr, "domain %s: %s; %s", hook->guest, remark->text, remark->fix);
	if (r == 0 || rewritten->xml)
		plan_print(stderr, &preview.plan, &preview.world, false);
	if (rewritten->xml) {
		if (write_out(hook, rewritten->xml, rewritten->len, err) < 0)
			r = -err->code;
	} else if (r == 0) {
		r = write_out(hook, hook->xml, hook->len, err);
	}
	return r;
}

static int dry_run(struct hook *hook, const struct operation *operation, struct err *err)
{
	autostore struct store store = STORE_NONE;

	if (operation->needs_config)
		return dry_plan(hook, operation, err);
	if (operation->what == COUNT_RELEASE && (store_open(&store, &hook->host, false, err) < 0 ||
						 preview_release(stderr, &store, hook->uuid, NULL, err) < 0))
		return -err->code;
	return write_out(hook, hook->xml, hook->len, err);
}

/* Creates the missing mdevs of a Nova instance that starts without a vGPU, because Nova may resume and attach them. */
static void resume(struct hook *hook)
{
	autofree char *path = NULL, *defined = NULL;
	struct err err;
	size_t len;

	if (!memmem(hook->xml, hook->len, DOMXML_NOVA_NS_PREFIX, strlen(DOMXML_NOVA_NS_PREFIX)) ||
	    strchr(hook->guest, '/') || open_host(hook, &err) < 0)
		return;
	path = mem_format(LIBVIRT_ETC "/qemu/%s.xml", hook->guest);
	if (libvirt_files_slurp(hook->host.root, path, &defined, &len) < 0 || !domxml_concerns(defined, len))
		return;
	if (read_host(hook, &err) == 0 || hook->host.root >= 0)
		lifecycle_resumed(&hook->lifecycle, defined, len);
}

static int run(struct hook *hook, const struct operation *operation, struct err *err)
{
	/* No limit of our own is needed: libvirt has the XML in memory, and the parser has a limit. */
	int r = sys_slurp(STDIN_FILENO, SIZE_MAX, &hook->xml, &hook->len);

	hook->began_ms = sys_now_ms();
	if (r < 0)
		return err_sys(err, -r, "cannot read the domain XML from standard input");
	if (operation && gate(hook, operation->what, err))
		r = operation->what == COUNT_RELEASE ? read_owner(hook, err) : read_hostdevs(hook, operation, err);
	hook->concerns = r != 0;
	if (r < 0)
		return r;
	if (r == 0 && hook->dry_run)
		return write_out(hook, hook->xml, hook->len, err);
	if (r == 0 && operation->what == COUNT_PREPARE)
		resume(hook);
	if (r == 0)
		return 0;
	return hook->dry_run ? dry_run(hook, operation, err) : act(hook, operation, err);
}

static void log_refusal(const struct hook *hook, const struct err *err)
{
	const struct request *request = hook->lifecycle.request;
	const struct event_about about = { .asked = request,
					   .domain = request ? request->uuid : NULL,
					   .name = request ? request->name : NULL,
					   .reason = refusal_words[refusal_of(err)] };

	event_log(EVENT_REFUSED, about, "%s: domain %s: %s", hook->op, hook->name, err->text);
}

/* The prefix of a refusal. It names this host if another host may show it: at a migration or restore. */
static void name_refused(char prefix[PREFIX_SIZE], const struct hook *hook, const struct operation *operation)
{
	char own[HOST_NAME_SIZE] = "", host[HOST_NAME_SIZE], shown[SHOWN_NAME - HOST_NAME_SIZE];

	if (!operation || (operation->what != COUNT_MIGRATE && operation->what != COUNT_RESTORE)) {
		snprintf(prefix, PREFIX_SIZE, "vgpu-lease: domain %s", hook->name);
		return;
	}
	if (!hook->args.root && gethostname(own, sizeof(own) - 1) < 0)
		own[0] = '\0';
	text_cut(shown, sizeof(shown), hook->name);
	text_cut(host, sizeof(host), hook->args.root ? hook->args.root : own);
	snprintf(prefix, PREFIX_SIZE, "vgpu-lease: domain %s: %shost %s", shown,
		 operation->what == COUNT_MIGRATE ? "target " : "", *host ? host : "(unknown)");
}

/* True in the parent of a child that restores or reconnects, after the child's end. */
static bool is_guarded(struct hook *hook, const struct operation *operation)
{
	int status;

	if (hook->dry_run || (operation->what != COUNT_RESTORE && operation->what != COUNT_RECONNECT))
		return false;
	hook->parent = sys_guard(&status);
	if (hook->parent >= 0)
		mem_exit_status(EXIT_REFUSED);
	if (status)
		log_warn(
			"%s: domain %s: the hook's process crashed or was killed (wait status %d); run 'vgpu-lease check'",
			hook->op, hook->name, status);
	return hook->parent == SYS_GUARD_ENDED;
}

static int serve(int argc, char **argv)
{
	struct hook hook = { .host.root = -1,
			     .parent = -1,
			     .concerns = true,
			     .lifecycle = { .host = &hook.host, .config = &hook.config } };
	const struct operation *operation;
	struct err err = { 0 };
	char prefix[PREFIX_SIZE];
	bool can_fail, refused = false;

	sys_begin();
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	if (parse_call(&hook, argc, argv, &err) < 0)
		return args_usage_error("qemu", &err);
	if (!hook.guest)
		return print_help(&hook);
	text_set_options(hook.args.root, hook.args.config);
	text_cut(hook.name, sizeof(hook.name), hook.guest);
	operation = find_operation(&hook);
	can_fail = hook.dry_run || (operation && operation->may_refuse);
	mem_exit_status(can_fail ? EXIT_REFUSED : EXIT_SUCCESS);
	if (!hook.dry_run) {
		/* Record every call, so that 'vgpu-lease check' knows that libvirt calls the hook. */
		store_note_call(hook.args.root);
		if (!operation)
			return EXIT_SUCCESS;
		log_open("vgpu-lease", hook.args.root, false);
	}
	if (is_guarded(&hook, operation))
		return EXIT_SUCCESS;
	if (run(&hook, operation, &err) < 0) {
		refused = can_fail;
		if (refused) {
			log_refusal(&hook, &err);
			name_refused(prefix, &hook, operation);
			err_print(stderr, prefix, &err);
		} else {
			log_warn("%s: domain %s: %s", hook.op, hook.name, err.text);
		}
	}
	if (hook.concerns && !hook.dry_run && open_host(&hook, &(struct err){ 0 }) == 0)
		counts_add(&hook.host, operation->what, sys_now_ms() - hook.began_ms,
			   refused ? refusal_of(&err) : REFUSAL_NONE);
	domxml_free(hook.doc);
	config_free(&hook.config);
	host_close(&hook.host);
	free(hook.xml);
	log_close();
	return refused ? EXIT_REFUSED : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	int status = serve(argc, argv);

	/*
	 * exit() would run the destructors of libxml2 and its libraries, which make a start with a vGPU a tenth slower.
	 * Nothing is buffered. LeakSanitizer needs exit().
	 */
#ifdef __SANITIZE_ADDRESS__
	return status;
#else
	_exit(status);
#endif
}
