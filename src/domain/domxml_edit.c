/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes XML: the document with some bytes replaced, a lease element with new facts, a suspend record. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "internal.h"
#include "base/text.h"

/* Bytes to replace. An insertion has an empty span, a removal has an empty text. */
struct edit {
	struct span span;
	size_t order;     /* order among edits at one place */
	const char *name; /* the attribute to write; NULL: write only a value */
	char text[LABEL_SIZE];
};

struct edits {
	struct edit *list;
	size_t n;
};

enum { EDITS_PER_VGPU = ATTRS + META_UUID - ADDRESS /* a removal and an insertion for each address attribute */ };

static int by_place(const void *a, const void *b)
{
	const struct edit *x = a, *y = b;

	if (x->span.at != y->span.at)
		return x->span.at > y->span.at ? 1 : -1;
	/* Insert before the replacement that starts at this place, because write_edited() only moves forward. */
	if (!x->span.len != !y->span.len)
		return x->span.len ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

static void add_edit(struct edits *edits, struct span span, const char *name, const char *text)
{
	struct edit *edit = &edits->list[edits->n];

	*edit = (struct edit){ .span = span, .order = edits->n++, .name = name };
	text_copy(edit->text, sizeof(edit->text), text);
}

static struct span end_of(struct span span)
{
	return (struct span){ span.at + span.len, 0 };
}

/* Sets an attribute to `text`: "" removes it, and a missing attribute is inserted after attribute `behind`. */
static void set_attr(struct edits *edits, const struct mark *mark, size_t attr, size_t behind, const char *text)
{
	const struct attr *is = &mark->attrs[attr];

	if (is->value.at && text[0])
		add_edit(edits, is->value, NULL, text);
	else if (is->value.at)
		add_edit(edits, is->whole, NULL, "");
	else if (text[0])
		add_edit(edits, end_of(mark->attrs[behind].whole), domxml_attrs[attr].name, text);
}

/* The attributes of an <address>. A PCI address is in libvirt's form: 0x0000 0x41 0x00 0x4. */
static void address_values(char values[ATTRS][ID_SIZE], const char *id, bool is_pci)
{
	char copy[ID_SIZE], *rest = copy;

	text_copy(copy, sizeof(copy), id);
	for (size_t i = ADDRESS; i < FACT; i++)
		values[i][0] = '\0';
	if (!is_pci)
		text_copy(values[ADDRESS], ID_SIZE, id);
	for (size_t i = ADDRESS + 1; i < FACT && is_pci; i++)
		snprintf(values[i], ID_SIZE, "0x%.30s", strsep(&rest, ":."));
}

/* Replaces the address. A change of kind removes the old attributes and inserts the new ones. */
static int set_address(struct edits *edits, const struct mark *mark, const char *was, bool changes_kind,
		       char values[ATTRS][ID_SIZE], struct err *err)
{
	size_t first = ADDRESS;

	while (first < FACT && !mark->attrs[first].value.at)
		first++;
	if (first == FACT)
		return err_set(err, EINVAL, "%s: the hostdev's <source><address> has no attributes", was);
	for (size_t i = ADDRESS; i < FACT; i++) {
		const struct attr *is = &mark->attrs[i];

		if (changes_kind && is->value.at)
			add_edit(edits, is->whole, NULL, "");
		if (changes_kind && values[i][0])
			add_edit(edits, end_of(mark->attrs[first].whole), domxml_attrs[i].name, values[i]);
		if (changes_kind || !values[i][0])
			continue;
		if (!is->value.at)
			return err_set(err, EINVAL,
				       "%s: the hostdev's <source><address> has no %s='...'; specify all four numbers",
				       was, domxml_attrs[i].name);
		add_edit(edits, is->value, NULL, values[i]);
	}
	return 0;
}

static int plan_change(const struct domxml *doc, struct edits *edits, const struct domxml_change *change,
		       const char *id, struct err *err)
{
	static const char *const pci[] = { "pci", "no", "" }, *const mdev[] = { "mdev", "no", "vfio-pci" };
	const struct vgpu_request *req = &doc->request.vgpus[change->req];
	const struct mark *mark = &doc->marks[change->req];
	const struct attr *device = &mark->attrs[req->kind == REQUEST_MDEV ? META_UUID : META_ADDRESS];
	bool to_pci = (req->kind == REQUEST_PCI) != change->changes_framework;
	char address[ATTRS][ID_SIZE];
	int r = 0;

	address_values(address, id, to_pci);
	for (size_t i = TRAIT; change->changes_framework && i < ADDRESS; i++)
		set_attr(edits, mark, i, TRAIT, to_pci ? pci[i] : mdev[i]);
	if (change->changes_framework || change->id[0])
		r = set_address(edits, mark, req->id, change->changes_framework, address, err);
	if (change->changes_framework && device->value.at)
		add_edit(edits, device->whole, domxml_attrs[to_pci ? META_ADDRESS : META_UUID].name, id);
	else if (change->id[0] && device->value.at)
		add_edit(edits, device->value, NULL, id);
	for (size_t i = FACT; device->value.at && change->has_facts && i < META_UUID; i++)
		set_attr(edits, mark, i, (size_t)(device - mark->attrs), domxml_fact(&change->facts, i));
	return r;
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

static void write_edited(const struct domxml *doc, const struct edits *edits, char **out, size_t *outlen)
{
	FILE *f = mem_open(out, outlen);
	size_t at = 0;

	for (EACH(const struct edit *, edit, edits->list, edits->n)) {
		fwrite(doc->xml + at, 1, edit->span.at - at, f);
		put_attr(f, edit->name, edit->text);
		at = edit->span.at + edit->span.len;
	}
	fwrite(doc->xml + at, 1, doc->len - at, f);
	mem_close(f);
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
	autofree struct edit *list = mem_new((size_t)REQUEST_MAX * EDITS_PER_VGPU, sizeof(*list));
	struct edits edits = { list, 0 };
	char ids[REQUEST_MAX][ID_SIZE] = { "" };
	autodomxml struct domxml *parsed = NULL;
	autofree char *result = NULL;
	bool changes_framework = false;

	if (ids_after(doc, changes, nchanges, ids, err) < 0)
		return -err->code;
	for (size_t i = 0; i < nchanges; i++) {
		changes_framework |= changes[i].changes_framework;
		if (plan_change(doc, &edits, &changes[i], ids[changes[i].req], err) < 0)
			return -err->code;
	}
	qsort(edits.list, edits.n, sizeof(*edits.list), by_place);
	write_edited(doc, &edits, &result, outlen);
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

	for (size_t i = FACT; i < META_UUID; i++)
		same &= strcmp(domxml_fact(&req->facts, i), domxml_fact(facts, i)) == 0;
	return same;
}

static void put_preferences(FILE *f, const struct vgpu_request *req)
{
	if (req->has_placement)
		put_attr(f, "placement", req->placement == PLACE_PACK ? "pack" : "spread");
	if (req->numa == NUMA_NONE)
		put_attr(f, "numa", "none");
	else if (req->numa == NUMA_NODE)
		fprintf(f, " numa='%d'", req->numa_node);
	if (req->has_params)
		put_attr(f, "params", req->params);
}

static void put_device(FILE *f, const struct domxml *doc, const struct vgpu_request *req,
		       const struct migration_facts *facts)
{
	fputs("\n  <device", f);
	put_attr(f, req->kind == REQUEST_MDEV ? "uuid" : "address", req->id);
	for (size_t i = FACT; i < META_UUID; i++)
		if (*domxml_fact(facts, i))
			put_attr(f, domxml_attrs[i].name, domxml_fact(facts, i));
	if (*guest_of(doc, req))
		put_attr(f, "guest", guest_of(doc, req));
	put_preferences(f, req);
	fputs("/>", f);
}

static void put_lease(FILE *f, const struct domxml *doc, const struct migration_facts *facts_list)
{
	const struct request *request = &doc->request;

	fputs("<lease", f);
	if (doc->lease_project[0])
		put_attr(f, "project", doc->lease_project);
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

int domxml_hostdev(const struct domxml *doc, const struct vgpu_request *req, char **out, struct err *err)
{
	struct span whole = doc->marks[req - doc->request.vgpus].whole;

	*out = NULL;
	if (!whole.len)
		return err_set(
			err, EINVAL,
			"%s: <hostdev> has a namespace prefix or no end tag (troubleshooting: the-hostdev-cannot-be-changed-to-the-other-type)",
			req->id);
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

		r = domxml_hostdev(doc, &doc->request.vgpus[i], &hostdev, err);
		put_attr(f, NULL, hostdev ? hostdev : "");
	}
	fputs("'/>", f);
	mem_close(f);
	if (r < 0) {
		free(*out);
		*out = NULL;
	}
	return r;
}
