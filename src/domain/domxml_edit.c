/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes XML: the document with some bytes replaced, a lease element with new facts, a suspend record. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "base/text.h"

/* Bytes to replace. An insertion has an empty span, a removal has an empty text. */
struct edit {
	struct span span;
	const char *name; /* the attribute to write; NULL: write only a value */
	char text[LABEL_SIZE];
};

struct edits {
	struct edit *list; /* by place; an insertion before the replacement that starts there */
	size_t n;
};

static void add_edit(struct edits *edits, struct span span, const char *name, const char *text)
{
	const struct edit edit = { .span = span, .name = name };
	size_t i = edits->n;

	mem_add(&edits->list, &edits->n, sizeof(edit));
	for (; i > 0; i--) {
		const struct span before = edits->list[i - 1].span;

		if (before.from < span.from ||
		    (before.from == span.from && (before.to == before.from || span.to > span.from)))
			break;
		edits->list[i] = edits->list[i - 1];
	}
	edits->list[i] = edit;
	text_copy(edits->list[i].text, LABEL_SIZE, text);
}

/* The attribute behind which others of its element are inserted: the first of domxml_attrs. ATTRS: it has none. */
static size_t first_attr(const struct mark *mark, enum part part)
{
	size_t i = 0;

	while (i < ATTRS && (domxml_attrs[i].part != part || !mark->attrs[i].value.from))
		i++;
	return i;
}

/* Sets an attribute to `text`: "" removes it. */
static void set_attr(struct edits *edits, const struct mark *mark, size_t attr, const char *text)
{
	const struct xml_place *is = &mark->attrs[attr];
	size_t first = first_attr(mark, domxml_attrs[attr].part);

	if (is->value.from && text[0])
		add_edit(edits, is->value, NULL, text);
	else if (is->value.from)
		add_edit(edits, is->whole, NULL, "");
	else if (text[0] && first < ATTRS)
		add_edit(edits, (struct span){ mark->attrs[first].whole.to, mark->attrs[first].whole.to },
			 domxml_attrs[attr].name, text);
}

static int plan_change(const struct domxml *doc, struct edits *edits, const struct domxml_change *change,
		       const char *id, struct err *err)
{
	static const char *const traits[][ADDRESS] = {
		[REQUEST_MDEV] = { "mdev", "no", "vfio-pci" }, [REQUEST_PCI] = { "pci", "no", "" }
	};
	const struct vgpu_request *req = &doc->request.vgpus[change->req];
	const struct mark *mark = &doc->marks[change->req];
	bool other = change->changes_framework, pci = (req->kind == REQUEST_PCI) != other;
	bool moves = other || change->id[0];
	const char *values[ATTRS] = { NULL }; /* NULL: unchanged */
	char numbers[META][ID_SIZE], copy[ID_SIZE], *rest = copy;

	if (moves && first_attr(mark, PART_ADDRESS) == ATTRS)
		return err_set(err, EINVAL, "%s: the hostdev's <source><address> has no attributes", req->id);
	text_copy(copy, sizeof(copy), id);
	for (size_t i = 0; other && i < FACT; i++)
		values[i] = i < ADDRESS ? traits[pci][i] : "";
	if (moves)
		values[pci ? META + 1 : META] = id;
	if (moves && !pci)
		values[ADDRESS] = id;
	/* libvirt's form of an address: 0x0000 0x41 0x00 0x4 */
	for (size_t i = ADDRESS + 1; moves && pci && i < META; i++) {
		snprintf(numbers[i], ID_SIZE, "0x%.30s", strsep(&rest, ":."));
		values[i] = numbers[i];
		if (!other && !mark->attrs[i].value.from)
			return err_set(err, EINVAL,
				       "%s: the hostdev's <source><address> has no %s='...'; specify all four numbers",
				       req->id, domxml_attrs[i].name);
	}
	for (size_t i = FACT; change->has_facts && i < ATTRS; i++)
		values[i] = domxml_fact(&change->facts, i);
	for (size_t i = 0; i < ATTRS; i++)
		if (values[i])
			set_attr(edits, mark, i, values[i]);
	return 0;
}

static void put_attr(FILE *out, const char *name, const char *text)
{
	static const char special[] = "&<'\"", *const escaped[] = { "&amp;", "&lt;", "&apos;", "&quot;" };

	if (name)
		fprintf(out, " %s='", name);
	for (; *text; text++) {
		const char *found = strchr(special, *text);

		if (found)
			fputs(escaped[found - special], out);
		else
			putc(*text, out);
	}
	if (name)
		putc('\'', out);
}

/* Sets `ids` to each vGPU's canonical id after all changes. -EINVAL: an invalid change, or an id that is in use. */
static int ids_after(const struct domxml *doc, const struct domxml_change *changes, size_t nchanges,
		     char (*ids)[ID_SIZE], struct err *err)
{
	const struct request *request = &doc->request;

	for (EACH(const struct domxml_change *, change, changes, nchanges)) {
		const struct vgpu_request *req = &request->vgpus[change->req];
		bool mdev = (req->kind == REQUEST_MDEV) != change->changes_framework;

		if (!change->id[0] && !change->changes_framework)
			continue;
		if (mdev ? !uuid_parse(ids[change->req], change->id) : !pci_parse(ids[change->req], change->id))
			return err_set(err, EINVAL, "%s: cannot be replaced by '%s': not a %s", req->id, change->id,
				       mdev ? "UUID" : "PCI address");
	}
	for (size_t i = 0; i < request->nvgpus; i++) {
		if (!ids[i][0])
			text_copy(ids[i], sizeof(ids[i]), request->vgpus[i].id);
		for (size_t other = 0; other < i; other++)
			if (strcmp(ids[i], ids[other]) == 0)
				return err_set(err, EINVAL, "domain XML: two vGPUs would become %s", ids[i]);
		if (request_excludes(request, ids[i]))
			return err_set(
				err, EINVAL,
				"domain XML: a vGPU would become %s, which another <hostdev> or <vgpu:device> names; remove that one",
				ids[i]);
	}
	return 0;
}

int domxml_rewrite(const struct domxml *doc, const struct domxml_change *changes, size_t nchanges, char **out,
		   size_t *outlen, struct err *err)
{
	const char *at = doc->xml;
	struct edits edits = { 0 };
	FILE *f;
	int r = 0;
	char ids[REQUEST_MAX][ID_SIZE] = { "" };
	autodomxml struct domxml *parsed = NULL;
	autofree char *result = NULL;
	bool changes_framework = false;

	if (ids_after(doc, changes, nchanges, ids, err) < 0)
		return -err->code;
	for (size_t i = 0; i < nchanges && r == 0; i++) {
		changes_framework |= changes[i].changes_framework;
		r = plan_change(doc, &edits, &changes[i], ids[changes[i].req], err);
	}
	f = mem_open(&result, outlen);
	for (EACH(const struct edit *, edit, edits.list, edits.n)) {
		fwrite(at, 1, (size_t)(edit->span.from - at), f);
		put_attr(f, edit->name, edit->text);
		at = edit->span.to;
	}
	fwrite(at, 1, (size_t)(doc->xml + doc->len - at), f);
	mem_close(f);
	free(edits.list);
	if (r < 0)
		return r;
	/* In a hostile document, an inserted attribute can repeat an existing name. */
	if (changes_framework && domxml_parse(&parsed, result, *outlen, DOMXML_ALL_PCI | DOMXML_FILE, err) < 0)
		return err_in(err, "%s: the hostdev cannot be changed to the other type", doc->request.name);
	*out = steal_ptr(&result);
	return 0;
}

/* The guest address to record. Only Nova needs it: after its migration, nothing else identifies a hostdev. */
static const char *guest_of(const struct domxml *doc, const struct vgpu_request *req)
{
	return doc->request.nova && req->kind == REQUEST_MDEV ? req->guest : "";
}

static bool has_facts(const struct domxml *doc, const struct vgpu_request *req, const struct migration_facts *facts)
{
	bool same = req->has_metadata && (req->has_guest || !*guest_of(doc, req));

	for (size_t i = FACT; i < ATTRS; i++)
		same &= strcmp(domxml_fact(&req->facts, i), domxml_fact(facts, i)) == 0;
	return same;
}

static void put_device(FILE *f, const struct domxml *doc, const struct vgpu_request *req,
		       const struct migration_facts *facts)
{
	fputs("\n  <device", f);
	put_attr(f, req->kind == REQUEST_MDEV ? "uuid" : "address", req->id);
	for (size_t i = FACT; i < ATTRS; i++)
		if (*domxml_fact(facts, i))
			put_attr(f, domxml_attrs[i].name, domxml_fact(facts, i));
	if (*guest_of(doc, req))
		put_attr(f, "guest", guest_of(doc, req));
	if (req->has_placement)
		put_attr(f, "placement", req->placement == PLACE_PACK ? "pack" : "spread");
	if (req->numa == NUMA_NONE)
		put_attr(f, "numa", "none");
	else if (req->numa == NUMA_NODE)
		fprintf(f, " numa='%d'", req->numa_node);
	if (req->has_params)
		put_attr(f, "params", req->params);
	fputs("/>", f);
}

char *domxml_lease(const struct domxml *doc, const struct migration_facts *facts_list)
{
	const struct request *request = &doc->request;
	bool news = false;
	char *out = NULL;
	size_t len;
	FILE *f;

	for (size_t i = 0; i < request->nvgpus; i++)
		news |= facts_list[i].type[0] && (doc->followed || !has_facts(doc, &request->vgpus[i], &facts_list[i]));
	if (!news)
		return NULL;
	f = mem_open(&out, &len);
	fputs("<lease", f);
	if (doc->lease_project[0])
		put_attr(f, "project", doc->lease_project);
	fputc('>', f);
	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct vgpu_request *req = &request->vgpus[i];

		if (facts_list[i].type[0] || req->has_metadata)
			put_device(f, doc, req, facts_list[i].type[0] ? &facts_list[i] : &req->facts);
	}
	for (EACH(const struct meta_device *, device, doc->devices, doc->ndevices))
		if (device->stray)
			put_device(f, doc, &device->request, &device->request.facts);
	fputs("\n</lease>", f);
	mem_close(f);
	return out;
}

int domxml_hostdev(const struct domxml *doc, const struct vgpu_request *req, char **out, struct err *err)
{
	const char *type = doc->marks[req - doc->request.vgpus].attrs[TRAIT].whole.from;
	const char *from = memrchr(doc->xml, '<', (size_t)(type - doc->xml)), *to;

	*out = NULL;
	/* The next </hostdev> ends the hostdev, because hostdevs do not nest and libvirt prints no comments. */
	to = memmem(from, (size_t)(doc->xml + doc->len - from), "</hostdev>", strlen("</hostdev>"));
	if (!to)
		return err_set(
			err, EINVAL,
			"%s: <hostdev> has a namespace prefix or no end tag (troubleshooting: the-hostdev-cannot-be-changed-to-the-other-type)",
			req->id);
	*out = mem_strndup(from, (size_t)(to - from) + strlen("</hostdev>"));
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

		r = domxml_hostdev(doc, &doc->request.vgpus[i], &hostdev, err);
		put_attr(f, NULL, hostdev ? hostdev : "");
	}
	fputs("'/>", f);
	mem_close(f);
	if (r < 0)
		free(steal_ptr(out));
	return r;
}
