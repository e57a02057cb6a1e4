/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease plan FILE: show what would happen to a domain's vGPUs, and why. Writes nothing. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "act/preview.h"
#include "look/hostdev_filter.h"

enum { FILE_MAX = 64 << 20 };

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

static int run(struct cmd *cmd, struct err *err)
{
	const char *path = cmd->call->args.operands[0];
	struct planning p = { .cmd = cmd, .mode = cmd->call->mode, .file = cmd_file_name(path) };
	autodomxml struct domxml *doc = NULL;
	autofree char *xml = NULL, *who = NULL;
	bool unknown;
	int r;

	if (cmd_read_xml(path, FILE_MAX, &xml, &p.len, err) != 0) {
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
	.run = run,
};
