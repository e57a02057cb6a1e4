/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A domain's lease element, written anew with facts of this host in it; and the record of what a suspend takes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static struct migration_facts source_of(const struct vgpu_request *req)
{
	struct migration_facts facts = { 0 };

	memcpy(facts.type, req->type, sizeof(facts.type));
	memcpy(facts.name, req->source_name, sizeof(facts.name));
	memcpy(facts.framework, req->source_framework, sizeof(facts.framework));
	memcpy(facts.model, req->source_model, sizeof(facts.model));
	memcpy(facts.driver, req->source_driver, sizeof(facts.driver));
	return facts;
}

/* Is all of the stamp there already? */
static bool has_stamp(const struct vgpu_request *req, const struct migration_facts *facts)
{
	const struct migration_facts source = source_of(req);
	const char *is[FACTS], *shall[FACTS];

	migration_facts_facts(&source, is);
	migration_facts_facts(facts, shall);
	for (size_t i = 0; i < FACTS; i++)
		if (strcmp(is[i], shall[i]) != 0)
			return false;
	return req->has_metadata;
}

static void put_wishes(FILE *f, const struct vgpu_request *req)
{
	if (req->has_placement)
		domxml_put(f, "placement", req->placement == PLACE_PACK ? "pack" : "spread");
	if (req->numa == NUMA_NONE)
		domxml_put(f, "numa", "none");
	else if (req->numa == NUMA_NODE)
		fprintf(f, " numa='%d'", req->numa_node);
	if (req->has_params)
		domxml_put(f, "params", req->params);
}

static void put_device(FILE *f, const struct vgpu_request *req, const struct migration_facts *facts)
{
	const char *values[FACTS];

	migration_facts_facts(facts, values);
	fputs("\n  <device", f);
	domxml_put(f, req->kind == REQUEST_MDEV ? "uuid" : "address", req->id);
	for (size_t i = 0; i < FACTS; i++)
		if (values[i][0])
			domxml_put(f, domxml_facts[i], values[i]);
	put_wishes(f, req);
	fputs("/>", f);
}

static void put_lease(FILE *f, const struct domxml *doc, const struct migration_facts *facts_list)
{
	const struct request *request = &doc->request;

	fputs("<lease", f);
	if (doc->lease_project[0])
		domxml_put(f, "project", doc->lease_project);
	fputc('>', f);
	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct vgpu_request *req = &request->vgpus[i];
		const struct migration_facts as_is = source_of(req);

		if (facts_list[i].type[0] || req->has_metadata)
			put_device(f, req, facts_list[i].type[0] ? &facts_list[i] : &as_is);
	}
	for (size_t i = 0; i < doc->nstrays; i++) {
		const struct migration_facts as_is = source_of(&doc->strays[i]);

		put_device(f, &doc->strays[i], &as_is);
	}
	fputs("\n</lease>", f);
}

int domxml_lease(const struct domxml *doc, const struct migration_facts *facts_list, char **out, size_t *outlen,
		 struct err *err)
{
	bool news = false;
	FILE *f;

	*out = NULL;
	for (size_t i = 0; i < doc->request.nvgpus; i++)
		news |= facts_list[i].type[0] && !has_stamp(&doc->request.vgpus[i], &facts_list[i]);
	if (!news)
		return 0;
	f = open_memstream(out, outlen);
	if (!f)
		return err_sys(err, ENOMEM, "the domain's XML");
	put_lease(f, doc, facts_list);
	if (fclose(f) != 0) {
		free(*out);
		*out = NULL;
		return err_sys(err, ENOMEM, "the domain's XML");
	}
	return 0;
}

int domxml_hostdev(const struct domxml *doc, size_t req, char **out, struct err *err)
{
	struct span whole = doc->marks[req].whole;

	*out = NULL;
	if (!whole.len)
		return err_set(err, EINVAL, "%s: its <hostdev> has a prefix, or no end tag of its own",
			       doc->request.vgpus[req].id);
	*out = strndup(doc->xml + whole.at, whole.len);
	return *out ? 0 : err_sys(err, ENOMEM, "the domain's XML");
}

/* All hostdevs, one after the other. */
static int join_hostdevs(const struct domxml *doc, char **out, struct err *err)
{
	size_t len;
	FILE *f = open_memstream(out, &len);
	int r = 0;

	if (!f)
		return err_sys(err, ENOMEM, "the domain's XML");
	for (size_t i = 0; i < doc->request.nvgpus && r == 0; i++) {
		char *hostdev = NULL;

		r = domxml_hostdev(doc, i, &hostdev, err);
		fputs(hostdev ? hostdev : "", f);
		free(hostdev);
	}
	return fclose(f) == 0 ? r : err_sys(err, ENOMEM, "the domain's XML");
}

int domxml_suspended(const struct domxml *doc, char **out, struct err *err)
{
	char *hostdevs = NULL;
	size_t len;
	int r = join_hostdevs(doc, &hostdevs, err);
	FILE *f = r == 0 ? open_memstream(out, &len) : NULL;

	if (f) {
		fputs("<suspended", f);
		domxml_put(f, "hostdevs", hostdevs);
		fputs("/>", f);
	}
	if (r == 0 && (!f || fclose(f) != 0))
		r = err_sys(err, ENOMEM, "the domain's XML");
	free(hostdevs);
	if (r < 0)
		*out = NULL;
	return r;
}
