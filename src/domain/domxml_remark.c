/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds ignored metadata: unknown attributes, other namespaces, <vgpu:device> elements without a hostdev. None of them
 * stops a start, because a newer version may have written it. Also finds devices that <qemu:commandline> passes to
 * QEMU.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "base/text.h"

#define QEMU_NS "http://libvirt.org/schemas/domain/qemu/1.0"

enum { REMARKS_MAX = 32, PAST_MAX = 32, WORD_SIZE = 64 };

void remark_add(struct remarks *remarks, const char *fix, const char *fmt, ...)
{
	struct remark *remark = mem_add(&remarks->list, &remarks->n, sizeof(*remark));
	va_list ap;

	va_start(ap, fmt);
	*remark = (struct remark){ mem_vformat(fmt, ap), mem_strdup(fix) };
	va_end(ap);
}

void remarks_free(struct remarks *remarks)
{
	for (size_t i = 0; i < remarks->n; i++) {
		free(remarks->list[i].text);
		free(remarks->list[i].fix);
	}
	free(remarks->list);
	*remarks = (struct remarks){ 0 };
}

/* Limit the remarks, because a hostile document can cause millions. */
static bool is_full(const struct domxml *doc)
{
	return doc->remarks.n >= REMARKS_MAX;
}

/* Copies a name of the document, cut to fit, and without an undeclared prefix. */
static const char *shown(char buf[WORD_SIZE], const char *name)
{
	const char *colon = strrchr(name, ':');

	text_cut(buf, WORD_SIZE, colon ? colon + 1 : name);
	return buf;
}

/* `words` are the known attributes, with a blank before and after each. */
static void look_at_attributes(struct domxml *doc, const struct xml_elem *elem, const char *words, const char *fix,
			       const char *whose)
{
	char word[WORD_SIZE], known[WORD_SIZE + 2];
	const void *attr = NULL;
	const char *name;

	while ((name = xml_next_attr(elem, &attr)) && !is_full(doc)) {
		snprintf(known, sizeof(known), " %s ", name);
		if (!strstr(words, known))
			remark_add(&doc->remarks, fix, "%s: unknown attribute '%s'", whose, shown(word, name));
	}
}

static void look_at_device(struct domxml *doc, const struct xml_elem *device)
{
	const char *uuid = xml_attr(device, "uuid"), *address = xml_attr(device, "address");
	char whose[WORD_SIZE];

	snprintf(whose, sizeof(whose), "<vgpu:device> of %s", uuid ? uuid : address);
	look_at_attributes(doc, device, " uuid address type placement numa params name framework model driver guest ",
			   "use type, placement, numa, params", whose);
}

static void look_at_lease(struct domxml *doc, const struct xml_elem *lease)
{
	const struct xml_elem *child = xml_child(lease, NULL, NULL);
	char word[WORD_SIZE];

	look_at_attributes(doc, lease, " project ", "use project", "<vgpu:lease>");
	for (; child && !is_full(doc); child = xml_next(child, NULL, NULL)) {
		if (strcmp(xml_ns(child), DOMXML_NS) != 0)
			remark_add(&doc->remarks, "write <vgpu:device>, with the prefix of its <lease>",
				   "<%s> in <vgpu:lease> is ignored: it is in another namespace",
				   shown(word, xml_name(child)));
		else if (strcmp(xml_name(child), "device") != 0)
			remark_add(&doc->remarks, "write <vgpu:device>", "<vgpu:lease>: unknown element <vgpu:%s>",
				   shown(word, xml_name(child)));
		else
			look_at_device(doc, child);
	}
}

/* Is it meant for vgpu-lease, by the start of its namespace (many can share a long one), or as a <lease>? */
static bool is_meant(const struct xml_elem *elem, const char *ns)
{
	char word[WORD_SIZE];

	if (strcasestr(ns, "vgpu-lease"))
		return true;
	return strcmp(shown(word, xml_name(elem)), "lease") == 0 &&
	       (xml_child(elem, NULL, "device") || xml_child(elem, NULL, "vgpu:device"));
}

static void look_at_metadata(struct domxml *doc, const struct xml_elem *metadata)
{
	const struct xml_elem *child = xml_child(metadata, NULL, NULL);
	bool seen = false;
	char word[WORD_SIZE], ns[2 * WORD_SIZE];

	for (; child && !is_full(doc); child = xml_next(child, NULL, NULL)) {
		bool ours = strcmp(xml_ns(child), DOMXML_NS) == 0;

		if (strcmp(xml_ns(child), DOMXML_SUSPENDED_NS) == 0)
			continue;
		text_cut(ns, sizeof(ns), xml_ns(child));
		if (ours && strcmp(xml_name(child), "lease") != 0) {
			remark_add(&doc->remarks, "write <vgpu:lease>", "<metadata>: unknown element <vgpu:%s>",
				   shown(word, xml_name(child)));
		} else if (ours && seen) {
			remark_add(&doc->remarks, "keep one", "a second <vgpu:lease> is ignored");
		} else if (ours) {
			seen = true;
			look_at_lease(doc, child);
		} else if (is_meant(child, ns)) {
			remark_add(&doc->remarks, "write xmlns:vgpu='" DOMXML_NS "'",
				   "<%s> in <metadata> is ignored: its namespace is '%s'", shown(word, xml_name(child)),
				   ns);
		}
	}
}

/*
 * Finds the device in an argument such as vfio-pci,sysfsdev=/sys/bus/mdev/devices/UUID or vfio-pci,host=41:00.4, also
 * in JSON. The last UUID or address counts, because the path of an mdev can contain its parent's address.
 */
static bool vfio_device(const char *arg, char id[ID_SIZE])
{
	static const char between[] = ",=/\"{} ";
	char word[ID_SIZE], found[ID_SIZE];
	bool any = false;

	if (!strstr(arg, "vfio-pci"))
		return false;
	for (size_t len; arg += strspn(arg, between), len = strcspn(arg, between); arg += len) {
		if (len >= sizeof(word))
			continue;
		memcpy(word, arg, len);
		word[len] = '\0';
		if (id_parse(found, word) || pci_guess(found, word))
			any = text_copy(id, ID_SIZE, found);
	}
	return any;
}

static void look_at_commandline(struct domxml *doc, const struct xml_elem *line)
{
	const struct xml_elem *arg = xml_child(line, QEMU_NS, "arg");
	char id[ID_SIZE];

	for (; arg && doc->request.npast < PAST_MAX; arg = xml_next(arg, QEMU_NS, "arg")) {
		const char *value = xml_attr(arg, "value");

		if (value && vfio_device(value, id))
			text_copy(mem_add(&doc->request.past, &doc->request.npast, ID_SIZE), ID_SIZE, id);
	}
}

void domxml_look(struct domxml *doc, const struct xml_elem *domain)
{
	const struct xml_elem *metadata = xml_child(domain, "", "metadata");

	look_at_metadata(doc, metadata);
	look_at_commandline(doc, xml_child(domain, QEMU_NS, "commandline"));
	if (xml_child(domain, DOMXML_NS, "lease") && !is_full(doc))
		remark_add(&doc->remarks, "put it into <metadata>", "a <vgpu:lease> outside <metadata> is ignored");
	/* Not after a suspend, because a resume attaches these hostdevs again. */
	for (EACH(const struct meta_device *, device, doc->devices, doc->ndevices))
		if (device->stray && !doc->suspended && !is_full(doc))
			remark_add(&doc->remarks, "correct the <hostdev>, or remove the <vgpu:device>",
				   "<vgpu:device> of %s: no <hostdev> of the domain has this %s", device->request.id,
				   device->request.kind == REQUEST_MDEV ? "UUID" : "address");
}
