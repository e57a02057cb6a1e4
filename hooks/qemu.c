/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The hook that libvirt calls: /etc/libvirt/hooks/qemu GUEST OP SUBOP EXTRA, the domain's XML on standard input.
 *
 * Order is the safety argument here:
 *   1. standard descriptors are made sure of, so that no file of ours takes the place of one;
 *   2. an operation that is none of ours ends at once;
 *   3. the gate: a domain without a vGPU ends here, before any library is loaded or any state opened;
 *   4. the XML is parsed, the configuration read, the flow run;
 *   5. one line on stderr where prepare or migrate refuses; all other operations end with 0, come what may:
 *      reconnect's failure would kill a running guest, restore's can delete a saved one.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ops/lifecycle.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "survey/hostdev_filter.h"
#include "ops/preview.h"
#include "state/store.h"
#include "base/text.h"

#define USAGE "usage: qemu [--root DIR] [--config FILE] [--dry-run] -- GUEST OP SUBOP EXTRA\n"

enum { SHOWN_NAME = 120, EXIT_REFUSED = 1, EXIT_USAGE = 2 };

struct call {
	const char *root, *config_path;
	bool dry_run;
	const char *guest, *op, *subop;
};

struct hook {
	struct call call;
	struct host host;
	struct config config;
	bool has_config;
	struct policy policy;
	char why_no_config[sizeof(((struct err *)NULL)->text)];
	char *xml; /* as it came */
	size_t len;
	char uuid[UUID_SIZE], name[SHOWN_NAME]; /* of a release, which needs no more */
	struct domxml *doc;
	struct lifecycle lifecycle;
};

struct operation {
	const char *op, *subop;
	int (*flow)(struct hook *hook, struct err *err);
	bool may_refuse;
	bool needs_config;   /* an error in the configuration is its error */
	enum plan_mode mode; /* of its preview */
};

static int write_out(const char *data, size_t len, struct err *err)
{
	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, errno, "the XML cannot be written to standard output");
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int flow_prepare(struct hook *hook, struct err *err)
{
	return lifecycle_prepare(&hook->lifecycle, err);
}

static int hand_over(struct hook *hook, int r, char *xml, size_t len, struct err *err)
{
	if (r == 0 && xml && write_out(xml, len, err) < 0) {
		lifecycle_unreserve(&hook->lifecycle);
		r = -err->code;
	}
	free(xml);
	return r;
}

static int flow_migrate(struct hook *hook, struct err *err)
{
	char *xml = NULL;
	size_t len = 0;
	int r = lifecycle_migrate(&hook->lifecycle, &xml, &len, err);

	return hand_over(hook, r, xml, len, err);
}

static int flow_restore(struct hook *hook, struct err *err)
{
	char *xml = NULL;
	size_t len = 0;
	int r = lifecycle_restore(&hook->lifecycle, &xml, &len, err);

	return hand_over(hook, r, xml, len, err);
}

static int flow_reconnect(struct hook *hook, struct err *err)
{
	return lifecycle_reconnect(&hook->lifecycle, err);
}

static int flow_release(struct hook *hook, struct err *err)
{
	return lifecycle_release(&hook->host, &hook->policy, hook->uuid, hook->name, err);
}

static const struct operation operations[] = {
	{ "prepare", "begin", flow_prepare, true, true, PLAN_PREPARE },
	{ "migrate", "begin", flow_migrate, true, true, PLAN_MIGRATE },
	{ "restore", "begin", flow_restore, false, true, PLAN_RESTORE },
	{ "reconnect", "begin", flow_reconnect, false, false, PLAN_PREPARE },
	{ "release", "end", flow_release, false, false, PLAN_PREPARE },
};

/* start, started, stopped, attach and whatever libvirt may add: nothing to do. */
static const struct operation *find_operation(const struct call *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		if (strcmp(operations[i].op, call->op) == 0 && strcmp(operations[i].subop, call->subop) == 0)
			return &operations[i];
	return NULL;
}

/*
 * Exactly four arguments are libvirt's call, whatever they spell: a domain may be called --dry-run. Otherwise options
 * come first, and "--" before the four.
 */
static bool parse_call(struct call *call, int argc, char **argv)
{
	int i = 1;

	*call = (struct call){ 0 };
	if (argc != 5) {
		for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
			if (strcmp(argv[i], "--dry-run") == 0)
				call->dry_run = true;
			else if (strcmp(argv[i], "--root") == 0 && i + 1 < argc)
				call->root = argv[++i];
			else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
				call->config_path = argv[++i];
			else
				return false;
		}
		i++;
	}
	if (argc - i != 4)
		return false;
	call->guest = argv[i];
	call->op = argv[i + 1];
	call->subop = argv[i + 2];
	return true;
}

/*
 * A closed standard descriptor would be given to the next file that is opened. Reads and writes of these fail, as
 * they should.
 */
static void make_sure_of_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			_exit(EXIT_REFUSED);
}

/* All of it: libvirt, which has it in its memory as well, sets the limit. What is parsed has one of its own. */
static int read_xml(struct hook *hook, struct err *err)
{
	int r = file_slurp(STDIN_FILENO, SIZE_MAX, &hook->xml, &hook->len);

	return r < 0 ? err_sys(err, -r, "the domain's XML cannot be read from standard input") : 0;
}

/* Why nothing may be leased: kept for the refusal of a device that does not exist. Only a wrong file is an error. */
static int read_config(struct hook *hook, struct err *err)
{
	struct err why = { 0 };
	int r;

	config_default(&hook->config);
	hook->policy = hook->config.policy;
	config_free(&hook->config);
	if (!hook->call.root && geteuid() != 0) {
		snprintf(hook->why_no_config, sizeof(hook->why_no_config),
			 "this libvirt does not run as root, and only root can make vGPUs");
		return 0;
	}
	r = config_load(&hook->config, &hook->host, hook->call.config_path, &why);
	if (r == 0) {
		hook->has_config = true;
		hook->policy = hook->config.policy;
		return 0;
	}
	if (r == -ENOENT)
		err_in(&why, "there is no configuration");
	snprintf(hook->why_no_config, sizeof(hook->why_no_config), "%s", why.text);
	if (r == -ENOENT)
		return 0;
	*err = why;
	return r;
}

static int read_host(struct hook *hook, struct err *err)
{
	int r;

	/* The gate has done so already, where it had to. */
	if (hook->host.root >= 0)
		return 0;
	r = host_open(&hook->host, hook->call.root, err);
	return r < 0 ? r : read_config(hook, err);
}

/*
 * Has the domain a lease, though its XML shows no vGPU? A VF need not be named as one; and a command can have been
 * killed between the lease and the attach, or somebody can have detached what was leased.
 */
static bool is_leased(const struct hook *hook)
{
	struct host host = { .root = -1 };
	char uuid[UUID_SIZE];
	struct err ignored;
	bool leased;

	if (host_open(&host, hook->call.root, &ignored) < 0)
		return false;
	leased = hostdev_filter_leased(&host, domxml_peek_uuid(uuid, hook->xml, hook->len) ? uuid : NULL);
	host_close(&host);
	return leased;
}

/*
 * The gate. 1: the domain can concern us; 0: it does not. For its release that is where anything is leased to it. One
 * that has nothing but PCI devices does where the pool has VFs; a mistake in the configuration is none of its business.
 */
static int gate(struct hook *hook, bool by_lease, struct err *err)
{
	if (domxml_concerns(hook->xml, hook->len))
		return 1;
	if (by_lease)
		return is_leased(hook);
	if (!domxml_has_pci(hook->xml, hook->len))
		return 0;
	if (read_host(hook, err) < 0)
		log_warn("%s", err->text);
	if (hook->host.root < 0)
		return 0;
	return hook->has_config && hostdev_filter_possible(&hook->config);
}

/* What is given back is told by the leases alone: neither the rest of the XML nor its size keeps anything. */
static int read_owner(struct hook *hook, struct err *err)
{
	int r;

	text_safe(hook->name, sizeof(hook->name), hook->call.guest);
	if (domxml_peek_uuid(hook->uuid, hook->xml, hook->len))
		return 0;
	r = domxml_parse(&hook->doc, hook->xml, hook->len, DOMXML_IDENTITY, err);
	if (r == 0)
		memcpy(hook->uuid, domxml_request(hook->doc)->uuid, sizeof(hook->uuid));
	return r;
}

/* The hostdevs that are ours, of a domain that may have some. */
static int read_wants(struct hook *hook, const struct operation *operation, struct err *err)
{
	bool large = hook->len > DOMXML_MAX;
	int r = large ? domxml_hostdevs(&hook->doc, hook->xml, hook->len, err)
		      : domxml_parse(&hook->doc, hook->xml, hook->len, DOMXML_ALL_PCI, err);

	if (r < 0 || domxml_request(hook->doc)->nvgpus == 0)
		return r;
	r = read_host(hook, err);
	if (r < 0 && operation->needs_config)
		return r;
	if (r < 0)
		log_warn("%s: %s", operation->op, err->text);
	r = hostdev_filter_keep(hook->doc, &hook->host, hook->has_config ? &hook->config : NULL, NULL, err);
	if (r == 0 && large && domxml_request(hook->doc)->nvgpus > 0)
		return err_set(err, E2BIG, "vGPU %s: the domain's XML is over %d MiB",
			       domxml_request(hook->doc)->vgpus[0].id, DOMXML_MAX >> 20);
	return r;
}

/* 1: the domain concerns us and all is read; 0: it does not. */
static int read_all(struct hook *hook, const struct operation *operation, struct err *err)
{
	bool by_lease = operation->flow == flow_release;
	int r = read_xml(hook, err);

	if (r == 0 && !gate(hook, by_lease, err))
		return 0;
	if (r == 0)
		r = by_lease ? read_owner(hook, err) : read_wants(hook, operation, err);
	if (r < 0)
		return r;
	if (!by_lease && domxml_request(hook->doc)->nvgpus == 0)
		return 0;
	/* What is wrong with the configuration has been said, where it matters. */
	if (by_lease && read_host(hook, err) < 0)
		log_warn("%s: %s", operation->op, err->text);
	hook->lifecycle = (struct lifecycle){ .host = &hook->host,
					      .config = hook->has_config ? &hook->config : NULL,
					      .policy = &hook->policy,
					      .why_no_config = hook->why_no_config,
					      .doc = hook->doc,
					      .request = hook->doc ? domxml_request(hook->doc) : NULL };
	return 1;
}

/* The plan of an operation that leases, and the XML that it would give the domain. */
static int dry_plan(struct hook *hook, const struct operation *operation, struct err *err)
{
	struct preview preview = { 0 };
	const struct rewritten *rewritten = &preview.rewritten;
	int r = preview_make(&preview, &hook->lifecycle, operation->mode, err);

	if (r == 0)
		r = preview_rewrite(&preview, err);
	if (rewritten->xml) {
		preview_print(stderr, &preview, false);
		if (write_out(rewritten->xml, rewritten->len, err) < 0)
			r = -err->code;
	} else if (r == 0) {
		r = write_out(hook->xml, hook->len, err);
	}
	preview_end(&preview);
	return r;
}

/* What would happen, one step a line on stderr; the XML as the domain would get it on stdout. */
static int dry_run(struct hook *hook, const struct operation *operation, struct err *err)
{
	struct store store;
	int r;

	if (operation->needs_config && hook->lifecycle.request)
		return dry_plan(hook, operation, err);
	r = store_open(&store, &hook->host, false, err);
	if (r == 0 && operation->flow == flow_release)
		r = preview_release(stderr, &store, hook->uuid, err);
	store_close(&store);
	return r < 0 ? r : write_out(hook->xml, hook->len, err);
}

static int run(struct hook *hook, const struct operation *operation, struct err *err)
{
	int r = operation ? read_all(hook, operation, err) : read_xml(hook, err);

	if (r < 0)
		return r;
	if (r == 0 || !operation)
		return hook->call.dry_run ? write_out(hook->xml, hook->len, err) : 0;
	return hook->call.dry_run ? dry_run(hook, operation, err) : operation->flow(hook, err);
}

static void hook_free(struct hook *hook)
{
	domxml_free(hook->doc);
	if (hook->has_config)
		config_free(&hook->config);
	host_close(&hook->host);
	free(hook->xml);
}

int main(int argc, char **argv)
{
	struct hook hook = { .host.root = -1 };
	const struct operation *operation;
	struct err err = { 0 };
	char name[SHOWN_NAME], prefix[SHOWN_NAME + 32];
	bool refused = false;
	int r;

	make_sure_of_descriptors();
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return fputs(USAGE, stdout) < 0 ? EXIT_REFUSED : EXIT_SUCCESS;
	if (!parse_call(&hook.call, argc, argv)) {
		fputs(USAGE, stderr);
		return EXIT_USAGE;
	}
	/* Also for what does not concern us: that it is called at all is what libvirt does not tell otherwise. */
	if (!hook.call.dry_run)
		store_note_call(hook.call.root);
	operation = find_operation(&hook.call);
	if (!operation && !hook.call.dry_run)
		return EXIT_SUCCESS;
	if (!hook.call.root && !hook.call.dry_run)
		log_open("vgpu-lease");
	r = run(&hook, operation, &err);
	if (r < 0) {
		text_safe(name, sizeof(name), hook.call.guest);
		snprintf(prefix, sizeof(prefix), "vgpu-lease: domain %s", name);
		log_warn("%s: domain %s: %s", hook.call.op, name, err.text);
		refused = !operation || hook.call.dry_run || operation->may_refuse;
		if (refused)
			err_print(stderr, prefix, &err);
	}
	hook_free(&hook);
	log_close();
	return refused ? EXIT_REFUSED : EXIT_SUCCESS;
}
