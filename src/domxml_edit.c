/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds a domain's addresses in the bytes of its XML, and replaces them there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "domxml_impl.h"
#include "text.h"

/* An element to be found: its place in the document, its name, and where its tag goes. */
struct sought {
	size_t index;
	const char *name;
	struct span *tag;
};

static int by_index(const void *a, const void *b)
{
	const struct sought *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

static int differs(struct err *err)
{
	return err_set(err, EINVAL,
		       "the domain's XML cannot be edited: its tags are not where libxml2 has its elements");
}

int domxml_locate(struct domxml *doc, size_t count, struct err *err)
{
	struct sought sought[2 * WANT_MAX];
	struct scan scan = { doc->xml, doc->len, 0 };
	size_t n = 0, next = 0, seen;
	struct span tag;
	int r = 0;

	for (size_t i = 0; i < doc->request.nwants; i++) {
		struct mark *mark = &doc->marks[i];

		sought[n++] = (struct sought){ mark->address_index, "address", &mark->address };
		if (mark->device_index != NO_ELEM)
			sought[n++] = (struct sought){ mark->device_index, "device", &mark->device };
	}
	qsort(sought, n, sizeof(*sought), by_index);
	for (seen = 0; (r = scan_tag(&scan, &tag)) > 0; seen++) {
		if (next == n || sought[next].index != seen)
			continue;
		if (!scan_tag_is(doc->xml, tag, sought[next].name))
			return differs(err);
		*sought[next++].tag = tag;
	}
	return r < 0 || seen != count || next != n ? differs(err) : 0;
}

/* Bytes to be replaced: by an address, or by a text that is still to be escaped. */
struct edit {
	struct span span;
	char address[ID_SIZE];
	const char *text; /* NULL: the address */
};

struct edits {
	struct edit *list;
	size_t n;
};

enum { EDITS_PER_WANT = 10 }; /* a PCI address's four numbers, the id in the metadata, five facts */

static int by_place(const void *a, const void *b)
{
	const struct edit *x = a, *y = b;

	return (x->span.at > y->span.at) - (x->span.at < y->span.at);
}

/* Plans the replacement of one attribute; false where the tag has none of this name. */
static bool plan_edit(const struct domxml *doc, struct edits *edits, struct span tag, const char *attr,
		      const char *address, const char *text)
{
	struct edit *edit = &edits->list[edits->n];

	if (!scan_attr(doc->xml, tag, attr, &edit->span))
		return false;
	edit->text = text;
	if (!text)
		text_copy(edit->address, sizeof(edit->address), address);
	edits->n++;
	return true;
}

/* The new PCI address in libvirt's notation: domain='0x0000' bus='0x41' slot='0x00' function='0x4'. */
static int plan_pci(const struct domxml *doc, struct edits *edits, struct span tag, const char *was, const char *id,
		    struct err *err)
{
	static const char *const attrs[] = { "domain", "bus", "slot", "function" };
	char copy[ID_SIZE], number[ID_SIZE];
	char *rest = copy;

	text_copy(copy, sizeof(copy), id);
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
		snprintf(number, sizeof(number), "0x%s", strsep(&rest, ":."));
		if (!plan_edit(doc, edits, tag, attrs[i], number, NULL))
			return err_set(
				err, EINVAL,
				"%s: the <address> in the hostdev's <source> has no %s='...': write all four numbers",
				was, attrs[i]);
	}
	return 0;
}

static void plan_facts(const struct domxml *doc, struct edits *edits, struct span tag,
		       const struct domxml_change *change)
{
	const struct {
		const char *attr, *value;
	} facts[] = {
		{ "type", change->type },   { "name", change->name },     { "framework", change->framework },
		{ "model", change->model }, { "driver", change->driver },
	};

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (facts[i].value[0])
			plan_edit(doc, edits, tag, facts[i].attr, NULL, facts[i].value);
}

static int plan_change(const struct domxml *doc, struct edits *edits, const struct domxml_change *change,
		       const char *id, struct err *err)
{
	const struct want *want = &doc->request.wants[change->want];
	const struct mark *mark = &doc->marks[change->want];
	bool mdev = want->kind == WANT_MDEV;
	int r = 0;

	if (!mdev)
		r = plan_pci(doc, edits, mark->address, want->id, id, err);
	else if (!plan_edit(doc, edits, mark->address, "uuid", id, NULL))
		r = differs(err);
	if (r < 0 || mark->device.len == 0)
		return r;
	if (!plan_edit(doc, edits, mark->device, mdev ? "uuid" : "address", id, NULL))
		return differs(err);
	plan_facts(doc, edits, mark->device, change);
	return 0;
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

static int write_edited(const struct domxml *doc, const struct edits *edits, char **out, size_t *outlen)
{
	FILE *f = open_memstream(out, outlen);
	size_t at = 0;

	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < edits->n; i++) {
		const struct edit *edit = &edits->list[i];

		fwrite(doc->xml + at, 1, edit->span.at - at, f);
		put_escaped(f, edit->text ? edit->text : edit->address);
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

	for (size_t i = 0; i < nchanges; i++) {
		const struct domxml_change *change = &changes[i];
		const struct want *want = change->want < request->nwants ? &request->wants[change->want] : NULL;

		if (!want || ids[change->want][0])
			return err_set(err, EINVAL,
				       "a vGPU that the domain has not, or twice the same, is to be changed");
		if (want->kind == WANT_MDEV ? !uuid_parse(ids[change->want], change->id)
					    : !pci_parse(ids[change->want], change->id))
			return err_set(err, EINVAL, "%s: '%s' cannot take its place: that is no %s", want->id,
				       change->id, want->kind == WANT_MDEV ? "UUID" : "PCI address");
	}
	for (size_t i = 0; i < request->nwants; i++) {
		if (!ids[i][0])
			text_copy(ids[i], sizeof(ids[i]), request->wants[i].id);
		for (size_t other = 0; other < i; other++)
			if (strcmp(ids[i], ids[other]) == 0)
				return err_set(err, EINVAL, "two of the domain's vGPUs would become %s", ids[i]);
		for (size_t stray = 0; stray < doc->nstrays; stray++)
			if (strcmp(ids[i], doc->strays[stray]) == 0)
				return err_set(
					err, EINVAL,
					"a vGPU would become %s, which a <vgpu:device> without a <hostdev> names: remove that",
					ids[i]);
	}
	return 0;
}

int domxml_rewrite(const struct domxml *doc, const struct domxml_change *changes, size_t nchanges, char **out,
		   size_t *outlen, struct err *err)
{
	autofree struct edit *list = calloc((size_t)WANT_MAX * EDITS_PER_WANT, sizeof(*list));
	struct edits edits = { list, 0 };
	char ids[WANT_MAX][ID_SIZE] = { "" };
	char *result = NULL;
	int r;

	if (!list)
		return err_sys(err, ENOMEM, "the domain's XML");
	r = ids_after(doc, changes, nchanges, ids, err);
	for (size_t i = 0; i < nchanges && r == 0; i++)
		r = plan_change(doc, &edits, &changes[i], ids[changes[i].want], err);
	if (r < 0)
		return r;
	qsort(edits.list, edits.n, sizeof(*edits.list), by_place);
	if (write_edited(doc, &edits, &result, outlen) < 0)
		return err_sys(err, ENOMEM, "the domain's XML");
	*out = result;
	return 0;
}
