/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The metadata: our <vgpu:lease> and Nova's instance. Also what is ignored: unknown attributes, other namespaces,
 * <vgpu:device> elements without a hostdev. None of them stops a start, because a newer version may have written it.
 * Also finds devices that <qemu:commandline> passes to QEMU.
 */
#include <errno.h>
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

/* Copies an attribute; "": missing or invalid. -EINVAL: too long, or not printable ASCII, as records need it. */
static int take_attr(char *dst, size_t size, const struct xml_elem *elem, const char *attr, const char *whose,
		     struct err *err)
{
	const char *value = xml_attr(elem, attr);

	dst[0] = '\0';
	if (!value)
		return 0;
	for (const char *p = value; *p; p++)
		if (*p < ' ' || *p > '~')
			return err_set(err, EINVAL, "%s: %s='...' in the metadata: not printable ASCII", whose, attr);
	if (!text_copy(dst, size, value))
		return err_set(err, EINVAL, "%s: %s='...' in the metadata: longer than %zu characters", whose, attr,
			       size - 1);
	return 0;
}

/* Returns the first child with this name in a namespace of Nova, of any version. */
static const struct xml_elem *nova_child(const struct xml_elem *elem, const char *name)
{
	const struct xml_elem *child = xml_child(elem, NULL, name);

	while (child && strncmp(xml_ns(child), DOMXML_NOVA_NS_PREFIX, strlen(DOMXML_NOVA_NS_PREFIX)) != 0)
		child = xml_next(child, NULL, name);
	return child;
}

/* Reads Nova's instance, and the project. Nova's project replaces that of <vgpu:lease>, even an invalid one. */
static int read_owner(struct domxml *doc, const struct xml_elem *metadata, const struct xml_elem *lease,
		      struct err *err)
{
	struct request *request = &doc->request;
	const struct xml_elem *instance = nova_child(metadata, "instance");
	const struct xml_elem *nova = nova_child(nova_child(instance, "owner"), "project");
	const struct xml_elem *name = nova_child(instance, "name"), *flavor = nova_child(instance, "flavor");
	int r = 0, own = 0;

	request->nova = instance != NULL;
	/* The name is only shown, so one that does not fit is dropped. */
	if (name)
		(void)xml_text(name, request->instance, sizeof(request->instance));
	if (xml_attr(flavor, "name"))
		text_copy(request->flavor, sizeof(request->flavor), xml_attr(flavor, "name"));
	if (lease)
		own = take_attr(doc->lease_project, PROJECT_SIZE, lease, "project", "<vgpu:lease>", err);
	if (nova)
		r = take_attr(request->project, PROJECT_SIZE, nova, "uuid", "Nova's project", err);
	if (r < 0 || request->project[0])
		return r;
	text_copy(request->project, PROJECT_SIZE, doc->lease_project);
	return own;
}

const struct meta_device *domxml_device(const struct domxml *doc, const char *id)
{
	return text_find(doc->devices, doc->ndevices, sizeof(*doc->devices), id);
}

static int read_device(struct domxml *doc, const struct xml_elem *elem, struct err *err)
{
	const char *uuid = xml_attr(elem, "uuid"), *address = xml_attr(elem, "address");
	const char *guest = xml_attr(elem, "guest"), *given = uuid ? uuid : address;
	struct meta_device device = { .request.kind = uuid ? REQUEST_MDEV : REQUEST_PCI, .elem = elem };
	char whose[WORD_SIZE];

	if (!uuid == !address)
		return err_set(err, EINVAL, "<vgpu:device>: expected either uuid='...' or address='...'");
	if (uuid ? !domxml_uuid(device.request.id, uuid) : !pci_parse(device.request.id, address))
		return err_set(err, EINVAL, "<vgpu:device %s='%.64s'>: not a %s", uuid ? "uuid" : "address", given,
			       uuid ? "UUID" : "PCI address such as 0000:41:00.4");
	if (!guest || !pci_parse(device.request.guest, guest))
		device.request.guest[0] = '\0';
	if (domxml_device(doc, device.request.id))
		return err_set(err, EINVAL, "metadata: two <vgpu:device> name %s; remove one", device.request.id);
	if (doc->ndevices == REQUEST_MAX)
		return err_set(err, EINVAL, "metadata: more than %d <vgpu:device>", REQUEST_MAX);
	*(struct meta_device *)mem_add(&doc->devices, &doc->ndevices, sizeof(device)) = device;
	snprintf(whose, sizeof(whose), "<vgpu:device> of %s", given);
	look_at_attributes(doc, elem, " uuid address type placement numa params name framework model driver guest ",
			   "use type, placement, numa, params", whose);
	return 0;
}

static int read_lease(struct domxml *doc, const struct xml_elem *lease, struct err *err)
{
	const struct xml_elem *child = xml_child(lease, NULL, NULL);
	char word[WORD_SIZE];

	look_at_attributes(doc, lease, " project ", "use project", "<vgpu:lease>");
	for (; child; child = xml_next(child, NULL, NULL)) {
		bool ours = strcmp(xml_ns(child), DOMXML_NS) == 0;

		if (ours && strcmp(xml_name(child), "device") == 0) {
			if (read_device(doc, child, err) < 0)
				return -err->code;
		} else if (ours && !is_full(doc)) {
			remark_add(&doc->remarks, "write <vgpu:device>", "<vgpu:lease>: unknown element <vgpu:%s>",
				   shown(word, xml_name(child)));
		} else if (!is_full(doc)) {
			remark_add(&doc->remarks, "write <vgpu:device>, with the prefix of its <lease>",
				   "<%s> in <vgpu:lease> is ignored: it is in another namespace",
				   shown(word, xml_name(child)));
		}
	}
	return 0;
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

int domxml_read_metadata(struct domxml *doc, const struct xml_elem *domain, struct err *err)
{
	const struct xml_elem *metadata = xml_child(domain, "", "metadata"), *child = xml_child(metadata, NULL, NULL);
	const struct xml_elem *lease = NULL;
	char word[WORD_SIZE], ns[2 * WORD_SIZE];

	for (; child; child = xml_next(child, NULL, NULL)) {
		bool ours = strcmp(xml_ns(child), DOMXML_NS) == 0;

		text_cut(ns, sizeof(ns), xml_ns(child));
		if (strcmp(xml_ns(child), DOMXML_SUSPENDED_NS) == 0) {
			doc->suspended |= strcmp(xml_name(child), "suspended") == 0;
		} else if (ours && !lease && strcmp(xml_name(child), "lease") == 0) {
			/* Read only the first lease, because libvirt keeps only the first element of a namespace. */
			lease = child;
			if (read_lease(doc, lease, err) < 0)
				return -err->code;
		} else if (is_full(doc)) {
			continue;
		} else if (ours && strcmp(xml_name(child), "lease") == 0) {
			remark_add(&doc->remarks, "keep one", "a second <vgpu:lease> is ignored");
		} else if (ours) {
			remark_add(&doc->remarks, "write <vgpu:lease>", "<metadata>: unknown element <vgpu:%s>",
				   shown(word, xml_name(child)));
		} else if (is_meant(child, ns)) {
			remark_add(&doc->remarks, "write xmlns:vgpu='" DOMXML_NS "'",
				   "<%s> in <metadata> is ignored: its namespace is '%s'", shown(word, xml_name(child)),
				   ns);
		}
	}
	if (xml_child(domain, DOMXML_NS, "lease") && !is_full(doc))
		remark_add(&doc->remarks, "put it into <metadata>", "a <vgpu:lease> outside <metadata> is ignored");
	look_at_commandline(doc, xml_child(domain, QEMU_NS, "commandline"));
	return read_owner(doc, metadata, lease, err);
}

static int read_numa(struct vgpu_request *req, const char *value, struct err *err)
{
	long node;

	req->numa = NUMA_AUTO;
	if (!value || strcmp(value, "auto") == 0)
		return 0;
	if (strcmp(value, "none") == 0) {
		req->numa = NUMA_NONE;
		return 0;
	}
	if (!text_number(value, 0, 1023, &node))
		return err_set(err, EINVAL,
			       "%s: invalid numa='%.64s' in the metadata: expected auto, none or a node number",
			       req->id, value);
	req->numa = NUMA_NODE;
	req->numa_node = (int)node;
	return 0;
}

static int apply_device(const struct meta_device *device, struct vgpu_request *req, struct err *err)
{
	const struct xml_elem *elem = device->elem;
	const char *placement = xml_attr(elem, "placement");

	req->has_metadata = true;
	req->has_guest = strcmp(device->request.guest, req->guest) == 0;
	req->has_params = xml_attr(elem, "params") != NULL;
	for (size_t i = FACT; i < ATTRS; i++)
		if (take_attr((char *)&req->facts + domxml_attrs[i].fact, domxml_attrs[i].size, elem,
			      domxml_attrs[i].name, req->id, err) < 0)
			return -err->code;
	if (take_attr(req->params, sizeof(req->params), elem, "params", req->id, err) < 0)
		return -err->code;
	req->has_placement = placement != NULL;
	req->placement = placement && strcmp(placement, "spread") == 0 ? PLACE_SPREAD : PLACE_PACK;
	if (placement && req->placement == PLACE_PACK && strcmp(placement, "pack") != 0)
		return err_set(err, EINVAL, "%s: invalid placement='%.64s' in the metadata: expected pack or spread",
			       req->id, placement);
	return read_numa(req, xml_attr(elem, "numa"), err);
}

/* Errors in a <vgpu:device> without a hostdev are ignored, because the domain does not have its vGPU. */
int domxml_apply_devices(struct domxml *doc, struct err *err)
{
	struct request *request = &doc->request;
	struct err ignored;

	for (EACH(struct meta_device *, device, doc->devices, doc->ndevices)) {
		struct vgpu_request *req = text_find(request->vgpus, request->nvgpus, sizeof(*req), device->request.id);

		device->stray = !req;
		if (device->stray) {
			domxml_exclude(request, device->request.id);
			apply_device(device, &device->request, &ignored);
			/* Not after a suspend, because a resume attaches these hostdevs again. */
			if (!doc->suspended && !is_full(doc))
				remark_add(&doc->remarks, "correct the <hostdev>, or remove the <vgpu:device>",
					   "<vgpu:device> of %s: no <hostdev> of the domain has this %s",
					   device->request.id,
					   device->request.kind == REQUEST_MDEV ? "UUID" : "address");
			continue;
		}
		if (domxml_mark(&doc->marks[req - request->vgpus], PART_DEVICE, device->elem, err) < 0 ||
		    apply_device(device, req, err) < 0)
			return -err->code;
	}
	return 0;
}
