/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The domain's lease element with facts of this host, and the suspend record. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "internal.h"

/* The guest address, recorded only for Nova instances: the only part of a hostdev that Nova's migration keeps. */
static const char *guest_of(const struct domxml *doc, const struct vgpu_request *req)
{
	return doc->request.nova && req->kind == REQUEST_MDEV ? req->guest : "";
}

static bool has_facts(const struct domxml *doc, const struct vgpu_request *req, const struct migration_facts *facts)
{
	bool same = req->has_metadata && (req->has_guest || !*guest_of(doc, req));

	for (size_t i = FACT; i < META_UUID; i++)
		same &= strcmp(domxml_fact(&req->facts, i), domxml_fact(facts, i)) == 0;
	return same;
}

static void put_preferences(FILE *f, const struct vgpu_request *req)
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

static void put_device(FILE *f, const struct domxml *doc, const struct vgpu_request *req,
		       const struct migration_facts *facts)
{
	fputs("\n  <device", f);
	domxml_put(f, req->kind == REQUEST_MDEV ? "uuid" : "address", req->id);
	for (size_t i = FACT; i < META_UUID; i++)
		if (*domxml_fact(facts, i))
			domxml_put(f, domxml_attrs[i].name, domxml_fact(facts, i));
	if (*guest_of(doc, req))
		domxml_put(f, "guest", guest_of(doc, req));
	put_preferences(f, req);
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

		if (facts_list[i].type[0] || req->has_metadata)
			put_device(f, doc, req, facts_list[i].type[0] ? &facts_list[i] : &req->facts);
	}
	for (size_t i = 0; i < doc->nstrays; i++)
		put_device(f, doc, &doc->strays[i], &doc->strays[i].facts);
	fputs("\n</lease>", f);
}

char *domxml_lease(const struct domxml *doc, const struct migration_facts *facts_list)
{
	bool news = false;
	char *out = NULL;
	size_t len;
	FILE *f;

	for (size_t i = 0; i < doc->request.nvgpus; i++)
		news |= facts_list[i].type[0] &&
			(doc->followed || !has_facts(doc, &doc->request.vgpus[i], &facts_list[i]));
	if (!news)
		return NULL;
	f = mem_open(&out, &len);
	put_lease(f, doc, facts_list);
	mem_close(f);
	return out;
}

int domxml_hostdev(const struct domxml *doc, size_t req, char **out, struct err *err)
{
	struct span whole = doc->marks[req].whole;

	*out = NULL;
	if (!whole.len)
		return err_set(
			err, EINVAL,
			"%s: <hostdev> has a namespace prefix or no end tag (troubleshooting: the-hostdev-cannot-be-changed-to-the-other-type)",
			doc->request.vgpus[req].id);
	*out = mem_strndup(doc->xml + whole.at, whole.len);
	return 0;
}

int domxml_suspended(const struct domxml *doc, char **out, struct err *err)
{
	size_t len;
	FILE *f = mem_open(out, &len);
	int r = 0;

	fputs("<suspended hostdevs='", f);
	for (size_t i = 0; i < doc->request.nvgpus && r == 0; i++) {
		autofree char *hostdev = NULL;

		r = domxml_hostdev(doc, i, &hostdev, err);
		domxml_put(f, NULL, r == 0 ? hostdev : "");
	}
	fputs("'/>", f);
	mem_close(f);
	if (r < 0) {
		free(*out);
		*out = NULL;
	}
	return r;
}
