/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease plan FILE: what would happen to a domain's vGPUs, and why; nothing is written. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "cli/cmd.h"
#include "cli/diff.h"
#include "cli/json_out.h"
#include "survey/hostdev_filter.h"
#include "ops/preview.h"
#include "survey/remark.h"

/* A plan in the making, and all that it rests on. */
struct planning {
	struct cmd *cmd;
	const char *op;
	enum plan_mode mode;
	struct lifecycle lifecycle;
	struct preview preview;
	char *xml; /* as it came */
	size_t len;
};

static const struct {
	const char *op;
	enum plan_mode mode;
} operations[] = {
	{ "prepare", PLAN_PREPARE },
	{ "migrate", PLAN_MIGRATE },
	{ "restore", PLAN_RESTORE },
};

static bool find_operation(struct planning *p, const char *op)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		if (strcmp(operations[i].op, op ? op : "prepare") != 0)
			continue;
		p->op = operations[i].op;
		p->mode = operations[i].mode;
		return true;
	}
	return false;
}

static void print_diff(const struct planning *p, FILE *to)
{
	const struct rewritten *rewritten = &p->preview.rewritten;
	const char *file = cmd_shown(p->cmd->call->operands[0]);
	char is_name[64];

	snprintf(is_name, sizeof(is_name), "as %s would have it", p->op);
	if (rewritten->changed)
		diff_print(to, file, p->xml, p->len, is_name, rewritten->xml, rewritten->len);
}

static void print_text(const struct planning *p)
{
	const struct request *request = p->lifecycle.request;

	preview_print(stdout, &p->preview, true);
	if (p->preview.plan.kind == PLAN_REMOVE && p->preview.plan.nsteps < request->nvgpus)
		cmd_say("%zu more: planned when that is removed", request->nvgpus - p->preview.plan.nsteps);
	print_diff(p, stdout);
}

static void print_steps(const struct planning *p, struct json_out *json)
{
	json_out_array(json, "steps");
	for (size_t i = 0; i < p->preview.plan.nsteps; i++) {
		const struct step *step = &p->preview.plan.steps[i];
		const char *asked = p->lifecycle.request->vgpus[i].id;

		json_out_object(json, NULL);
		json_out_string(json, "action", preview_word(&p->preview, step));
		json_out_string(json, "id", step->vgpu.id);
		json_out_string(json, "instead_of", strcmp(asked, step->vgpu.id) == 0 ? NULL : asked);
		json_out_string(json, "type", step->vgpu.type);
		json_out_string(json, "parent", step->vgpu.parent);
		json_out_string(json, "pgpu", step->vgpu.pgpu);
		json_out_known(json, "numa_node", step->numa);
		json_out_string(json, "reason", step->why);
		json_out_close(json);
	}
	json_out_close(json);
}

static void print_verdicts(const struct planning *p, struct json_out *json)
{
	json_out_array(json, "passed_over");
	for (size_t i = 0; p->lifecycle.request && i < p->lifecycle.request->nvgpus; i++) {
		for (size_t g = 0; g < p->preview.survey.inv.npgpus; g++) {
			char why[PREVIEW_WHY_SIZE];

			if (!preview_not_chosen(&p->preview, i, g, why))
				continue;
			json_out_object(json, NULL);
			json_out_string(json, "id", p->lifecycle.request->vgpus[i].id);
			json_out_string(json, "pgpu", p->preview.survey.inv.pgpus[g].address);
			json_out_string(json, "reason", why);
			json_out_close(json);
		}
	}
	json_out_close(json);
}

static void add_warning(void *arg, const char *text, const char *fix)
{
	char line[512];

	snprintf(line, sizeof(line), "%s: %s", text, fix);
	json_out_string(arg, NULL, line);
}

/* `refusal`: NULL where it would do. Without a domain, where the file is none that can be understood. */
static void print_json(const struct planning *p, const char *refusal)
{
	const struct request *request = p->lifecycle.request;
	struct json_out json;
	char *diff = NULL;
	size_t len;
	FILE *memory = open_memstream(&diff, &len);

	if (!memory)
		abort();
	print_diff(p, memory);
	fclose(memory);
	cmd_json_begin(&json, NULL);
	if (request) {
		json_out_object(&json, "domain");
		json_out_text(&json, "uuid", request->uuid);
		json_out_string(&json, "name", request->name);
		json_out_close(&json);
	} else {
		json_out_string(&json, "domain", NULL);
	}
	json_out_string(&json, "operation", p->op);
	json_out_bool(&json, "possible", !refusal);
	json_out_string(&json, "refusal", refusal);
	json_out_array(&json, "remove_first");
	for (size_t i = 0; p->preview.plan.kind == PLAN_REMOVE && i < p->preview.plan.nremoves; i++)
		json_out_string(&json, NULL, p->preview.plan.removes[i]);
	json_out_close(&json);
	print_steps(p, &json);
	print_verdicts(p, &json);
	json_out_array(&json, "warnings");
	if (p->lifecycle.doc)
		remark_domain(p->lifecycle.doc, &p->cmd->host, add_warning, &json);
	json_out_close(&json);
	json_out_text(&json, "diff", diff);
	json_out_end(&json);
	free(diff);
}

/*
 * Decides as the hook does, in its order: what is no domain's XML; a domain without a vGPU, which no mistake in the
 * configuration concerns; that mistake; then the plan. `doc` is freed by the caller.
 */
static int decide(struct planning *p, struct domxml **doc, struct err *err)
{
	struct cmd *cmd = p->cmd;

	if (domxml_parse(doc, p->xml, p->len, DOMXML_FILE | DOMXML_ALL_PCI | DOMXML_REMARKS, err) < 0)
		return -err->code;
	p->lifecycle = (struct lifecycle){ .host = &cmd->host,
					   .config = cmd->has_config ? &cmd->config : NULL,
					   .policy = &cmd->config.policy,
					   .why_no_config = cmd->why_no_config,
					   .doc = *doc,
					   .request = domxml_request(*doc) };
	if (p->lifecycle.request->nvgpus && cmd->wrong_config && domxml_concerns(p->xml, p->len))
		return err_set(err, EINVAL, "%s", cmd->why_no_config);
	if (hostdev_filter_keep(*doc, &cmd->host, p->lifecycle.config, NULL, err) < 0)
		return -err->code;
	if (!p->lifecycle.request->nvgpus)
		return 0;
	if (preview_make(&p->preview, &p->lifecycle, p->mode, err) < 0)
		return -err->code;
	/* Why it would be refused is in the error; what can be told of it is there in any case. */
	return preview_rewrite(&p->preview, err);
}

static void warn(void *arg, const char *text, const char *fix)
{
	cmd_warn("%s: %s: %s", (const char *)arg, text, fix);
}

/* What the decision is, on standard output; why the domain would be refused is main()'s to print. */
static void print(const struct planning *p, const char *refusal)
{
	const struct request *request = p->lifecycle.request;

	if (p->lifecycle.doc && !p->cmd->call->json)
		remark_domain(p->lifecycle.doc, &p->cmd->host, warn, (char *)cmd_shown(p->cmd->call->operands[0]));
	if (p->cmd->call->json)
		print_json(p, refusal);
	else if (request && request->nvgpus == 0)
		cmd_say("domain %s has no vGPU: nothing to do", request->name);
	else if (!refusal && p->preview.plan.nsteps == 0)
		cmd_say("domain %s: %s leaves its vGPUs as they are: %s", request->name, p->op, p->cmd->why_no_config);
	else if (request && p->preview.survey.request)
		print_text(p);
	/* What has been printed comes before what is wrong with it. */
	fflush(stdout);
}

static int plan(struct planning *p, struct err *err)
{
	struct domxml *doc = NULL;
	int r = decide(p, &doc, err);

	print(p, r < 0 ? err->text : NULL);
	if (r < 0 && p->lifecycle.request)
		r = err_in(err, "domain %s: %s would be refused", p->lifecycle.request->name, p->op);
	else if (r < 0)
		r = err_in(err, "%s: %s would be refused", cmd_shown(p->cmd->call->operands[0]), p->op);
	preview_end(&p->preview);
	domxml_free(doc);
	return r;
}

static int run(const struct cmd_call *call, struct err *err)
{
	struct cmd cmd;
	struct planning p = { .cmd = &cmd };
	int r;

	if (!find_operation(&p, call->op)) {
		err_set(err, EINVAL, "--op %s: neither prepare, migrate nor restore", call->op);
		return CMD_USAGE;
	}
	if (cmd_read_xml(call->operands[0], &p.xml, &p.len, err) < 0)
		return CMD_USAGE;
	r = cmd_open(&cmd, call, CMD_CONFIG_OWN, false, err);
	if (r == 0)
		r = plan(&p, err);
	cmd_close(&cmd);
	free(p.xml);
	return r;
}

const struct command cmd_plan = {
	.name = "plan",
	.operand = "FILE",
	.options = CMD_JSON | CMD_OP,
	.summary = "says what would happen to a domain's vGPUs, and why",
	.help = "FILE is a domain's XML ('virsh dumpxml --inactive' prints it), - is standard input. Prints the steps, why each\n"
		"other pGPU was not chosen, and what of the XML would change. Fails where the domain would be refused, with all\n"
		"the reasons. Nothing is written.\n",
	.run = run,
};
