/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds a domain's addresses in the bytes of its XML, and replaces them there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "domxml_impl.h"
#include "text.h"

static const char *const number_names[NUMBERS] = { "domain", "bus", "slot", "function" };
static const char *const fact_names[FACTS] = { "type", "name", "framework", "model", "driver" };

/* An element to be found: the address in the want's hostdev, or its device in the metadata. */
struct sought {
	const struct xml_elem *elem;
	size_t want;
	bool is_device;
};

static int by_index(const void *a, const void *b)
{
	size_t x = xml_index(((const struct sought *)a)->elem), y = xml_index(((const struct sought *)b)->elem);

	return (x > y) - (x < y);
}

/* Where the attribute stands that xml_attr() reads; false where the tag lacks what the element has. */
static bool locate_attr(const char *xml, struct span tag, const struct xml_elem *elem, const char *name,
			struct span *value)
{
	return !xml_attr(elem, name) || scan_attr(xml, tag, xml_attr_prefix(elem, name), name, value);
}

static bool locate_attrs(struct domxml *doc, const struct sought *sought, struct span tag)
{
	struct mark *mark = &doc->marks[sought->want];
	bool mdev = doc->request.wants[sought->want].kind == WANT_MDEV, found = true;

	if (!scan_tag_is(doc->xml, tag, sought->is_device ? "device" : "address"))
		return false;
	if (!sought->is_device && mdev)
		return locate_attr(doc->xml, tag, sought->elem, "uuid", &mark->uuid);
	if (!sought->is_device) {
		for (size_t i = 0; i < NUMBERS; i++)
			found &= locate_attr(doc->xml, tag, sought->elem, number_names[i], &mark->numbers[i]);
		return found;
	}
	for (size_t i = 0; i < FACTS; i++)
		found &= locate_attr(doc->xml, tag, sought->elem, fact_names[i], &mark->facts[i]);
	return found && locate_attr(doc->xml, tag, sought->elem, mdev ? "uuid" : "address", &mark->id);
}

int domxml_locate(struct domxml *doc, size_t count, struct err *err)
{
	struct sought sought[2 * WANT_MAX];
	struct scan scan = { doc->xml, doc->len, 0 };
	size_t n = 0, next = 0, seen;
	struct span tag;
	int r;

	for (size_t i = 0; i < doc->request.nwants; i++) {
		sought[n++] = (struct sought){ doc->marks[i].address, i, false };
		if (doc->marks[i].device)
			sought[n++] = (struct sought){ doc->marks[i].device, i, true };
	}
	qsort(sought, n, sizeof(*sought), by_index);
	for (seen = 0; (r = scan_tag(&scan, &tag)) > 0; seen++)
		if (next < n && xml_index(sought[next].elem) == seen && !locate_attrs(doc, &sought[next++], tag))
			break;
	if (r != 0 || seen != count || next != n)
		return err_set(err, EINVAL,
			       "the domain's XML cannot be edited: its tags are not where libxml2 has its elements");
	return 0;
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

enum { EDITS_PER_WANT = NUMBERS + 1 + FACTS };

static int by_place(const void *a, const void *b)
{
	const struct edit *x = a, *y = b;

	return (x->span.at > y->span.at) - (x->span.at < y->span.at);
}

static void plan_address(struct edits *edits, struct span span, const char *address)
{
	struct edit *edit = &edits->list[edits->n++];

	edit->span = span;
	text_copy(edit->address, sizeof(edit->address), address);
}

/* The new PCI address in libvirt's notation: domain='0x0000' bus='0x41' slot='0x00' function='0x4'. */
static int plan_pci(struct edits *edits, const struct mark *mark, const char *was, const char *id, struct err *err)
{
	char copy[ID_SIZE], number[ID_SIZE];
	char *rest = copy;

	text_copy(copy, sizeof(copy), id);
	for (size_t i = 0; i < NUMBERS; i++) {
		if (!mark->numbers[i].at)
			return err_set(
				err, EINVAL,
				"%s: the <address> in the hostdev's <source> has no %s='...': write all four numbers",
				was, number_names[i]);
		snprintf(number, sizeof(number), "0x%s", strsep(&rest, ":."));
		plan_address(edits, mark->numbers[i], number);
	}
	return 0;
}

static int plan_change(const struct domxml *doc, struct edits *edits, const struct domxml_change *change,
		       const char *id, struct err *err)
{
	const char *const facts[FACTS] = { change->type, change->name, change->framework, change->model,
					   change->driver };
	const struct want *want = &doc->request.wants[change->want];
	const struct mark *mark = &doc->marks[change->want];
	int r = 0;

	if (want->kind == WANT_MDEV)
		plan_address(edits, mark->uuid, id);
	else
		r = plan_pci(edits, mark, want->id, id, err);
	if (mark->id.at)
		plan_address(edits, mark->id, id);
	for (size_t i = 0; i < FACTS; i++)
		if (mark->facts[i].at && facts[i][0])
			edits->list[edits->n++] = (struct edit){ .span = mark->facts[i], .text = facts[i] };
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
