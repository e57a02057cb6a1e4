/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * vgpu-lease rewrite FILE|DOMAIN: replace placeholders with UUIDs, and add their migration facts to the metadata.
 * plan FILE: show what would happen to a domain's vGPUs, and why.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/preview.h"
#include "act/rewrite.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "domain/domxml.h"
#include "look/hostdev_filter.h"

enum { FILE_MAX = 64 << 20 };

static const char *file_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Reads a domain's XML of at most `max` bytes; "-": standard input. Returns 0 or CMD_USAGE. */
static int read_xml(const char *path, size_t max, char **xml, size_t *len, struct err *err)
{
	autoclose int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : sys_slurp(fd, max, xml, len);

	if (r == 0)
		return 0;
	if (r == -EFBIG)
		err_set(err, EFBIG, "%s: larger than %zu MiB: not a domain XML", file_name(path), max >> 20);
	else
		err_sys(err, -r, "%s", file_name(path));
	return CMD_USAGE;
}

/* Declare a rewrite after its XML: cleanups run in reverse order, and the rewrite refers to the XML. */
#define autorewrite __attribute__((cleanup(rewrite_end)))

/* Replaces the file, or the target of the link, atomically. Keeps its owner and mode. */
static int replace_file(const char *file, const struct stat *was, const struct rewrite *r, struct err *err)
{
	autofree char *path = realpath(file, NULL);
	autofree char *fresh = path ? mem_format("%.*s/.vgpu-lease.XXXXXX", (int)(strrchr(path, '/') - path), path)
				    : NULL;
	autoclose int fd = fresh ? mkostemp(fresh, O_CLOEXEC) : -1;
	int n;

	if (fd < 0)
		return err_sys(err, errno, "%s: not changed", file);
	n = sys_write_all(fd, r->rewritten, r->rewritten_len);
	if (n == 0 && (was->st_uid != geteuid() || was->st_gid != getegid()) &&
	    fchown(fd, was->st_uid, was->st_gid) < 0)
		n = -errno;
	if (n == 0 && (fchmod(fd, was->st_mode & 07777) < 0 || fsync(fd) < 0 || rename(fresh, path) < 0))
		n = -errno;
	if (n < 0) {
		unlink(fresh);
		return err_sys(err, -n, "%s: not changed", file);
	}
	if (strncmp(path, "/" LIBVIRT_ETC "/", strlen("/" LIBVIRT_ETC "/")) == 0 ||
	    strncmp(path, "/run/libvirt/", strlen("/run/libvirt/")) == 0)
		out_warn("libvirt does not notice changes to its own files; run 'virsh define %s'", path);
	return 0;
}

/* Prints a document; on a terminal, without unprintable characters. */
static void print_document(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\t\n");
		autofree char *part = mem_strndup(text, n), *safe = term_safe(part);

		printf("%s%.1s", term_stdout()->width ? safe : part, text + n);
		text += text[n] ? n + 1 : n;
	}
}

/* Does the operand name a domain? False for "-", a path, NAME.xml or an existing file, and with --in-place. */
static bool is_domain(const struct cmd_call *call)
{
	const char *word = call->args.operands[0];
	size_t len = strlen(word);

	return !call->in_place && strcmp(word, "-") != 0 && !strchr(word, '/') &&
	       !(len > 4 && strcmp(word + len - 4, ".xml") == 0) && access(word, F_OK) < 0;
}

/* Redefines the domain. An edit between the comparison and virt_define() is lost, because libvirt cannot compare. */
static int define_if_same(const struct hotplug *hp, const struct rewrite *r, struct err *err)
{
	autofree char *now = NULL;

	if (virt_xml(hp->virt, hp->domain.uuid, VIRT_CONFIG, &now, err) < 0)
		return -err->code;
	if (strcmp(now, r->xml) != 0)
		return err_set(
			err, ESTALE,
			"domain %s: not changed, because its definition was edited meanwhile; run this command again",
			hp->domain.name);
	return virt_define(hp->virt, r->rewritten, err);
}

static int read_definition(struct cmd *cmd, char **xml, size_t *len, struct err *err)
{
	const struct virt_domain *domain = &cmd->hp.domain;

	if (cmd_open(cmd, CMD_LIBVIRT, err) < 0)
		return -err->code;
	if (!domain->persistent)
		return err_set(err, EPERM, "domain %s: transient, so it has no definition to change", domain->name);
	if (virt_xml(cmd->hp.virt, domain->uuid, VIRT_CONFIG, xml, err) < 0)
		return -err->code;
	*len = strlen(*xml);
	return 0;
}

static int run_rewrite(struct cmd *cmd, struct err *err)
{
	const char *file = cmd->call->args.operands[0];
	const bool in_place = cmd->call->in_place, domain = is_domain(cmd->call);
	autofree char *xml = NULL;
	autorewrite struct rewrite rewrite = { .all = cmd->call->all };
	struct stat was = { .st_mode = 0600 }; /* a file that appears after the stat() below */
	struct err why;
	int r;

	if (in_place && strcmp(file, "-") == 0) {
		err_set(err, EINVAL, "--in-place requires a file, not standard input");
		return CMD_USAGE;
	}
	if (in_place && stat(file, &was) == 0 && !S_ISREG(was.st_mode)) {
		err_set(err, EOPNOTSUPP, "%s: not a regular file", file);
		return CMD_USAGE;
	}
	r = domain ? read_definition(cmd, &xml, &rewrite.len, err)
		   : read_xml(file, DOMXML_MAX, &xml, &rewrite.len, err);
	if (r != 0)
		return r;
	/* Without the host, the XML of a file gets no migration facts. */
	if (!domain && cmd_open(cmd, 0, &why) < 0)
		rewrite.unread = why;
	rewrite.xml = xml;
	rewrite.host = cmd->host.root >= 0 ? &cmd->host : NULL;
	if (rewrite_definition(&rewrite, rewrite.unread.code ? NULL : &cmd->config, err) < 0)
		return domain ? err_in(err, "domain %s", cmd->hp.domain.name) : err_in(err, "%s", file_name(file));
	if (rewrite.unread.code && domxml_request(rewrite.doc)->nvgpus)
		out_warn("%s; the XML gets no migration facts, and may keep a placeholder", rewrite.unread.text);
	if (!domain && !in_place) {
		print_document(rewrite.rewritten);
		return CMD_DONE;
	}
	if (rewrite.nchanges &&
	    (domain ? define_if_same(&cmd->hp, &rewrite, err) : replace_file(file, &was, &rewrite, err)) < 0)
		return -err->code;
	for (EACH(const struct domxml_change *, change, rewrite.changes, rewrite.nchanges))
		out_say("%s -> %s", domxml_request(rewrite.doc)->vgpus[change->req].id, change->id);
	return CMD_DONE;
}

const struct command cmd_rewrite = {
	.name = "rewrite",
	.operands = { "FILE|DOMAIN" },
	.options = CMD_ALL | CMD_IN_PLACE | CMD_CONNECT,
	.summary = "Replace the placeholders in a domain XML with UUIDs",
	.help = "FILE is a domain XML; - is standard input. If the argument is not a file but a\n"
		"DOMAIN of libvirt, change its definition, and print each replacement.\n"
		"\n"
		"A placeholder is 00000000-0000-0000-0000-0000000000NN and means \"lease a vGPU\n"
		"for this domain\", if the UUID has no device, mdevctl definition or lease on this\n"
		"host, and has had no lease. <vgpu:device> gets the facts for a migration, and a\n"
		"free VF in place of one with which the domain cannot start on this host.\n",
	.needs = CMD_BARE,
	.run = run_rewrite,
};

struct planning {
	struct cmd *cmd;
	enum plan_mode mode;
	const char *file; /* the name of FILE in messages */
	struct lifecycle lifecycle;
	struct preview preview;
	struct remarks remarks;
	const char *xml;
	size_t len;
	const char *who; /* "domain NAME", or `file` if the domain is unknown */
};

static const char *const operations[] = { "prepare", "migrate", "restore" }; /* indexed by enum plan_mode */

static int parse(const struct planning *p, struct domxml **doc, struct err *err)
{
	return domxml_parse(doc, p->xml, p->len, DOMXML_FILE | DOMXML_ALL_PCI | DOMXML_LARGE, err);
}

/* Finds remarks, even if the domain can start. Parses the XML again, because the request has only our hostdevs. */
static void find_remarks(struct planning *p)
{
	const struct host *host = &p->cmd->host;
	const struct inventory *inv = &p->preview.world.inv;
	autodomxml struct domxml *all = NULL;
	struct err ignored;

	if (p->lifecycle.doc)
		remark_domain(&p->remarks, p->lifecycle.doc, host);
	/* Check hostdevs only for a start, because an arriving domain has the addresses of its source host. */
	if (p->lifecycle.doc && p->mode == PLAN_PREPARE && parse(p, &all, &ignored) == 0) {
		if (config_is_valid(&p->cmd->config) && !inv->config && cmd_survey(p->cmd, &ignored) == 0)
			inv = &p->cmd->world.inv;
		remark_hostdevs(&p->remarks, all, host, inv->config ? inv : NULL);
	}
	if (!*p->preview.unleased || p->cmd->call->json)
		preview_remarks(&p->remarks, &p->preview, operations[p->mode]);
}

static void json_steps(struct json_out *json, const struct planning *p)
{
	const struct request *request = p->lifecycle.request;

	json_out_array(json, "steps");
	for (size_t i = 0; request && i < p->preview.plan.nsteps; i++) {
		const struct step *step = &p->preview.plan.steps[i];
		const char *asked = request->vgpus[i].id;

		json_out_object(json, NULL);
		json_out_string(json, "action", plan_word(step, p->preview.world.mode));
		row_vgpu(&(struct rows){ .json = json }, &step->vgpu);
		json_out_string(json, "instead_of", strcmp(asked, step->vgpu.id) == 0 ? NULL : asked);
		json_out_number(json, "numa_node", step->numa);
		json_out_string(json, "reason", step->why);
		json_out_string(json, "kept_at_release",
				step->kind == STEP_CREATE ? owner_why_kept(step->owner) : NULL);
		json_out_close(json);
	}
	json_out_close(json);
}

static void json_verdicts(struct json_out *json, const struct planning *p)
{
	const struct inventory *inv = &p->preview.world.inv;
	const struct request *request = p->lifecycle.request;
	char why[PLAN_WHY_SIZE];

	json_out_array(json, "passed_over");
	for (size_t i = 0; request && i < request->nvgpus; i++) {
		for (size_t g = 0; g < inv->npgpus; g++) {
			if (!plan_not_chosen(&p->preview.plan, &p->preview.world, i, inv->pgpus[g], why))
				continue;
			json_out_object(json, NULL);
			json_out_string(json, "id", request->vgpus[i].id);
			json_out_string(json, "pgpu", inv->pgpus[g]->address);
			json_out_string(json, "reason", why);
			json_out_close(json);
		}
	}
	json_out_close(json);
}

/* `refusal`: why the operation would be refused; NULL: it is possible. */
static void print_json(const struct planning *p, const char *refusal)
{
	const struct plan *plan = &p->preview.plan;
	const struct request *request = p->lifecycle.request;
	const struct rewritten *rewritten = &p->preview.rewritten;
	struct json_out *json = cmd_json(p->cmd);

	if (request && request->name[0])
		out_json_domain(json, request->uuid, request->name);
	else
		json_out_string(json, "domain", NULL);
	json_out_string(json, "operation", operations[p->mode]);
	json_out_bool(json, "possible", !refusal);
	json_out_string(json, "refusal", refusal);
	json_out_array(json, "remove_first");
	for (size_t i = 0; i < plan->nremoves; i++)
		json_out_string(json, NULL, plan->removes[i]);
	json_out_close(json);
	json_steps(json, p);
	json_verdicts(json, p);
	json_out_array(json, "warnings");
	for (EACH(const struct remark *, remark, p->remarks.list, p->remarks.n)) {
		autofree char *line = mem_format("%s: %s", remark->text, remark->fix);

		json_out_string(json, NULL, line);
	}
	json_out_close(json);
	json_out_string(json, "xml", rewritten->changed ? rewritten->xml : NULL);
}

/* Decides as the hook would: the XML first, because the configuration does not matter to a domain without vGPUs. */
static int decide(struct planning *p, struct domxml **doc, struct err *err)
{
	struct cmd *cmd = p->cmd;
	bool asks;
	int r;

	if (parse(p, doc, err) < 0)
		return -err->code;
	p->lifecycle = (struct lifecycle){
		.host = &cmd->host, .config = &cmd->config, .doc = *doc, .request = domxml_request(*doc)
	};
	asks = p->lifecycle.request->nvgpus && domxml_concerns(p->xml, p->len);
	r = hostdev_filter_request(*doc, &cmd->host, p->lifecycle.config, p->mode == PLAN_PREPARE, err);
	/* The hook can read the configuration even if this user cannot, so a plan without it would be wrong. */
	if ((r > 0 || (r == 0 && asks)) && err_denied(cmd->config.why.code))
		return err_set(err, EACCES, "%s", cmd->config.why.text);
	/* After a refusal, p->preview has the results of the steps before the refusal. */
	return r <= 0 ? r : preview_decide(&p->preview, &p->lifecycle, p->mode, err);
}

/* Prints the decision on standard output. main() prints the refusal. */
static void print(const struct planning *p, const char *refusal)
{
	const struct plan *plan = &p->preview.plan;
	const struct request *request = p->lifecycle.request;
	const struct config *config = &p->cmd->config;

	if (p->cmd->call->json) {
		print_json(p, refusal);
		return;
	}
	for (EACH(const struct remark *, remark, p->remarks.list, p->remarks.n))
		out_warn("%s: %s; %s", p->file, remark->text, remark->fix);
	if (request && request->nvgpus == 0 && !config_is_valid(config) && domxml_has_pci(p->xml, p->len)) {
		out_say("%s has no known vGPU: nothing to do; a plain VF of the pool cannot be recognized: %s%s",
			p->who, config->why.text, config_fix(config));
	} else if (request && request->nvgpus == 0) {
		out_say("%s has no vGPU: nothing to do", p->who);
	} else if (!refusal && *p->preview.unleased) {
		out_say("domain %s: starts without a lease; %s", request->name, p->preview.unleased);
	} else if (!refusal && plan->nsteps == 0 && plan->kind != PLAN_WAIT) {
		out_say("domain %s: vGPUs not changed by %s: %s", request->name, operations[p->mode],
			p->cmd->config.why.text);
	} else if (request && p->preview.world.request) {
		plan_print(cmd_lines(p->cmd), &p->preview.plan, &p->preview.world, true);
	}
}

static int run_plan(struct cmd *cmd, struct err *err)
{
	const char *path = cmd->call->args.operands[0];
	struct planning p = { .cmd = cmd, .mode = cmd->call->mode, .file = file_name(path) };
	autodomxml struct domxml *doc = NULL;
	autofree char *xml = NULL, *who = NULL;
	bool unknown;
	int r;

	if (read_xml(path, FILE_MAX, &xml, &p.len, err) != 0) {
		if (err->code == ENOENT && !strpbrk(path, "/."))
			text_add(err->text, sizeof(err->text),
				 "; for a domain, run: virsh dumpxml --inactive %s | vgpu-lease plan -",
				 text_operand(p.file, "DOMAIN"));
		return CMD_USAGE;
	}
	p.xml = xml;
	r = decide(&p, &doc, err);
	if (p.lifecycle.request && p.lifecycle.request->name[0])
		who = mem_format("domain %s", p.lifecycle.request->name);
	p.who = who ? who : p.file;
	find_remarks(&p);
	unknown = err_denied(-r);
	/* With --json, print nothing but the error if the result is unknown. */
	if (!unknown || !cmd->call->json)
		print(&p, r < 0 ? err->text : NULL);
	if (r < 0)
		err_in(err, unknown ? "%s: cannot tell whether %s would be refused" : "%s: %s would be refused", p.who,
		       operations[p.mode]);
	remarks_free(&p.remarks);
	preview_end(&p.preview);
	return r;
}

static int check_call(struct cmd_call *call, struct err *err)
{
	for (call->mode = PLAN_PREPARE; call->op && strcmp(operations[call->mode], call->op) != 0; call->mode++)
		if (call->mode == PLAN_RESTORE)
			return err_set(err, EINVAL, "invalid value '%s' of --op: expected prepare, migrate or restore",
				       call->op);
	return 0;
}

const struct command cmd_plan = {
	.name = "plan",
	.operands = { "FILE" },
	.options = CMD_JSON | CMD_OP,
	.summary = "Show what starting a domain would do, and why",
	.help = "FILE is a domain XML, as from 'virsh dumpxml --inactive'; - is standard input.\n"
		"Print the steps, and why each other pGPU was not chosen.\n"
		"If the hook would refuse the domain, the exit status is 1, and the error gives\n"
		"all reasons. Nothing is changed.\n",
	.needs = CMD_CONFIG_OWN,
	.check = check_call,
	.run = run_plan,
};
