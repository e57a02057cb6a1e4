/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The edit of a domain's XML: bytes that are replaced, put in or taken out; all others stay. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "internal.h"
#include "base/text.h"

/* Bytes to be replaced; none of them where something is put in, by nothing where something is taken out. */
struct edit {
	struct span span;
	size_t order;      /* among those at one place */
	const char *name;  /* the attribute that is written anew; NULL: only a value is */
	const char *text;  /* still to be escaped; NULL: what is in `own` */
	char own[ID_SIZE]; /* an address, or a number of one */
};

struct edits {
	struct edit *list;
	size_t n;
};

enum { EDITS_PER_WANT = TRAITS + 1 + 2 * NUMBERS + 1 + FACTS };

static int by_place(const void *a, const void *b)
{
	const struct edit *x = a, *y = b;

	if (x->span.at != y->span.at)
		return x->span.at > y->span.at ? 1 : -1;
	/* What is put in at a place goes before what is replaced from there on. */
	if (!x->span.len != !y->span.len)
		return x->span.len ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

static struct edit *add(struct edits *edits, struct span span, const char *name, const char *text)
{
	struct edit *edit = &edits->list[edits->n];

	*edit = (struct edit){ .span = span, .order = edits->n++, .name = name, .text = text };
	return edit;
}

static void add_own(struct edits *edits, struct span span, const char *name, const char *own)
{
	text_copy(add(edits, span, name, NULL)->own, ID_SIZE, own);
}

static struct span end_of(struct span span)
{
	return (struct span){ span.at + span.len, 0 };
}

/* The attribute gets this value, is put in behind the one that ends at `behind`, or, where the text is "", goes. */
static void set(struct edits *edits, const struct attr *attr, struct span behind, const char *name, const char *text)
{
	if (attr->value.at && text[0])
		add(edits, attr->value, NULL, text);
	else if (attr->value.at)
		add(edits, attr->whole, NULL, "");
	else if (text[0])
		add(edits, end_of(behind), name, text);
}

/* The numbers of a PCI address in libvirt's notation: 0x0000 0x41 0x00 0x4. */
static void split_address(const char *id, char numbers[NUMBERS][ID_SIZE])
{
	char copy[ID_SIZE];
	char *rest = copy;

	text_copy(copy, sizeof(copy), id);
	for (size_t i = 0; i < NUMBERS; i++)
		snprintf(numbers[i], ID_SIZE, "0x%.30s", strsep(&rest, ":."));
}

static int plan_pci(struct edits *edits, const struct mark *mark, const char *was, const char *id, struct err *err)
{
	char numbers[NUMBERS][ID_SIZE];

	split_address(id, numbers);
	for (size_t i = 0; i < NUMBERS; i++) {
		if (!mark->numbers[i].value.at)
			return err_set(
				err, EINVAL,
				"%s: the <address> in the hostdev's <source> has no %s='...': write all four numbers",
				was, domxml_numbers[i]);
		add_own(edits, mark->numbers[i].value, NULL, numbers[i]);
	}
	return 0;
}

static int plan_address(struct edits *edits, const struct mark *mark, const struct vgpu_request *req, const char *id,
			struct err *err)
{
	if (mark->id.value.at)
		add_own(edits, mark->id.value, NULL, id);
	if (req->kind == REQUEST_PCI)
		return plan_pci(edits, mark, req->id, id, err);
	add_own(edits, mark->uuid.value, NULL, id);
	return 0;
}

/* An address of the other kind, in place of the first attribute of the one that there was; the others go. */
static int plan_crossed_address(struct edits *edits, const struct mark *mark, const struct vgpu_request *req,
				const char *id, struct err *err)
{
	const struct attr *first = mark->uuid.value.at ? &mark->uuid : NULL;
	char numbers[NUMBERS][ID_SIZE];

	for (size_t i = 0; i < NUMBERS; i++) {
		if (!mark->numbers[i].value.at)
			continue;
		if (!first)
			first = &mark->numbers[i];
		else
			add(edits, mark->numbers[i].whole, NULL, "");
	}
	if (!first)
		return err_set(err, EINVAL, "%s: the <address> in the hostdev's <source> has no attributes", req->id);
	if (req->kind == REQUEST_PCI) {
		add_own(edits, first->whole, "uuid", id);
		return 0;
	}
	split_address(id, numbers);
	for (size_t i = 0; i < NUMBERS; i++)
		add_own(edits, i ? end_of(first->whole) : first->whole, domxml_numbers[i], numbers[i]);
	return 0;
}

/* The hostdev's own attributes, in the order of domxml_traits. */
static void plan_traits(struct edits *edits, const struct mark *mark, bool to_pci)
{
	static const char *const pci[TRAITS] = { "pci", "no", "" };
	static const char *const mdev[TRAITS] = { "mdev", "no", "vfio-pci" };

	for (size_t i = 0; i < TRAITS; i++)
		set(edits, &mark->traits[i], mark->traits[0].whole, domxml_traits[i], to_pci ? pci[i] : mdev[i]);
}

static int plan_crossing(struct edits *edits, const struct mark *mark, const struct vgpu_request *req, const char *id,
			 struct err *err)
{
	bool to_pci = req->kind == REQUEST_MDEV;

	plan_traits(edits, mark, to_pci);
	if (mark->id.value.at)
		add_own(edits, mark->id.whole, to_pci ? "address" : "uuid", id);
	return plan_crossed_address(edits, mark, req, id, err);
}

static int plan_change(const struct domxml *doc, struct edits *edits, const struct domxml_change *change,
		       const char *id, struct err *err)
{
	const struct vgpu_request *req = &doc->request.vgpus[change->req];
	const struct mark *mark = &doc->marks[change->req];
	const char *values[FACTS];
	int r = 0;

	if (change->changes_framework)
		r = plan_crossing(edits, mark, req, id, err);
	else if (change->id[0])
		r = plan_address(edits, mark, req, id, err);
	if (!mark->id.value.at)
		return r;
	migration_facts_facts(&change->facts, values);
	for (size_t i = 0; change->has_facts && i < FACTS; i++)
		set(edits, &mark->values[i], mark->id.whole, domxml_facts[i], values[i]);
	return r;
}

static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '\'':
			fputs("&apos;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			putc(*text, out);
		}
	}
}

void domxml_put(FILE *out, const char *name, const char *text)
{
	if (name)
		fprintf(out, " %s='", name);
	put_escaped(out, text);
	if (name)
		putc('\'', out);
}

static int write_edited(const struct domxml *doc, const struct edits *edits, char **out, size_t *outlen)
{
	FILE *f = open_memstream(out, outlen);
	size_t at = 0;

	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < edits->n; i++) {
		const struct edit *edit = &edits->list[i];

		fwrite(doc->xml + at, 1, edit->span.at - at, f);
		domxml_put(f, edit->name, edit->text ? edit->text : edit->own);
		at = edit->span.at + edit->span.len;
	}
	fwrite(doc->xml + at, 1, doc->len - at, f);
	if (fclose(f) != 0) {
		free(*out);
		return -ENOMEM;
	}
	return 0;
}

/* What each want is called when all changes are made, in canonical form; no two may end with one id. */
static int ids_after(const struct domxml *doc, const struct domxml_change *changes, size_t nchanges,
		     char (*ids)[ID_SIZE], struct err *err)
{
	const struct request *request = &doc->request;
	bool changed[REQUEST_MAX] = { false };

	for (size_t i = 0; i < nchanges; i++) {
		const struct domxml_change *change = &changes[i];
		const struct vgpu_request *req = change->req < request->nvgpus ? &request->vgpus[change->req] : NULL;
		bool mdev;

		if (!req || changed[change->req])
			return err_set(err, EINVAL,
				       "a vGPU that the domain has not, or twice the same, is to be changed");
		changed[change->req] = true;
		if (!change->id[0] && !change->changes_framework)
			continue;
		mdev = (req->kind == REQUEST_MDEV) != change->changes_framework;
		if (mdev ? !uuid_parse(ids[change->req], change->id) : !pci_parse(ids[change->req], change->id))
			return err_set(err, EINVAL, "%s: '%s' cannot take its place: that is no %s", req->id,
				       change->id, mdev ? "UUID" : "PCI address");
	}
	for (size_t i = 0; i < request->nvgpus; i++) {
		if (!ids[i][0])
			text_copy(ids[i], sizeof(ids[i]), request->vgpus[i].id);
		for (size_t other = 0; other < i; other++)
			if (strcmp(ids[i], ids[other]) == 0)
				return err_set(err, EINVAL, "two of the domain's vGPUs would become %s", ids[i]);
		if (request_has_taken(request, ids[i]))
			return err_set(
				err, EINVAL,
				"a vGPU would become %s, which another <hostdev>, or a <vgpu:device> without one, "
				"names: remove that",
				ids[i]);
	}
	return 0;
}

/*
 * A crossing adds attributes. Where a hostile document has others of the same names under prefixes that only it knows,
 * what comes of it may be no document any more: that is found out here, not by libvirt.
 */
static int check_result(const struct domxml *doc, const char *xml, size_t len, struct err *err)
{
	struct domxml *result = NULL;
	int r = domxml_parse(&result, xml, len, DOMXML_ALL_PCI | DOMXML_FILE, err);

	domxml_free(result);
	return r < 0 ? err_in(err, "%s: it cannot become a device of the other kind", doc->request.name) : 0;
}

static bool any_crosses(const struct domxml_change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (changes[i].changes_framework)
			return true;
	return false;
}

int domxml_rewrite(const struct domxml *doc, const struct domxml_change *changes, size_t nchanges, char **out,
		   size_t *outlen, struct err *err)
{
	autofree struct edit *list = calloc((size_t)REQUEST_MAX * EDITS_PER_WANT, sizeof(*list));
	struct edits edits = { list, 0 };
	char ids[REQUEST_MAX][ID_SIZE] = { "" };
	char *result = NULL;
	int r;

	if (!list)
		return err_sys(err, ENOMEM, "the domain's XML");
	r = ids_after(doc, changes, nchanges, ids, err);
	for (size_t i = 0; i < nchanges && r == 0; i++)
		r = plan_change(doc, &edits, &changes[i], ids[changes[i].req], err);
	if (r < 0)
		return r;
	qsort(edits.list, edits.n, sizeof(*edits.list), by_place);
	if (write_edited(doc, &edits, &result, outlen) < 0)
		return err_sys(err, ENOMEM, "the domain's XML");
	if (any_crosses(changes, nchanges) && check_result(doc, result, *outlen, err) < 0) {
		free(result);
		return -err->code;
	}
	*out = result;
	return 0;
}
