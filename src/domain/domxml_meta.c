/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A domain's <metadata>: our <vgpu:lease>, and the instance's name and project from Nova.
 *
 * Also finds metadata that is ignored: unknown attributes, other namespaces, <vgpu:device> elements without a hostdev.
 * None of these stops a start, because a newer version may have written them. And finds devices that <qemu:commandline>
 * gives to QEMU past libvirt.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "base/text.h"

/* Copies an attribute; "" if missing. It is written to sysfs, records and messages, so it must be printable ASCII. */
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

/* Returns the first child with this name in Nova's namespace of any version. */
static const struct xml_elem *nova_child(const struct xml_elem *elem, const char *name)
{
	const struct xml_elem *child = xml_child(elem, NULL, name);

	while (child && strncmp(xml_ns(child), DOMXML_NOVA_NS_PREFIX, strlen(DOMXML_NOVA_NS_PREFIX)) != 0)
		child = xml_next(child, NULL, name);
	return child;
}

/* Reads Nova's instance and the project. Nova's project replaces that of <vgpu:lease>, which may then be invalid. */
static int read_owner(struct domxml *doc, const struct xml_elem *metadata, const struct xml_elem *lease,
		      struct err *err)
{
	struct request *request = &doc->request;
	const struct xml_elem *instance = nova_child(metadata, "instance");
	const struct xml_elem *nova = nova_child(nova_child(instance, "owner"), "project");
	const struct xml_elem *name = nova_child(instance, "name"), *flavor = nova_child(instance, "flavor");
	int r = 0, own = 0;

	request->nova = instance != NULL;
	/* The name is only displayed, so a name that is too long is dropped, not refused. */
	if (name)
		(void)xml_text(name, request->instance, sizeof(request->instance));
	if (xml_attr(flavor, "name"))
		text_copy(request->flavor, sizeof(request->flavor), xml_attr(flavor, "name"));
	if (lease)
		own = take_attr(doc->lease_project, PROJECT_SIZE, lease, "project", "<vgpu:lease>", err);
	if (own < 0)
		doc->lease_project[0] = '\0';
	if (nova)
		r = take_attr(request->project, PROJECT_SIZE, nova, "uuid", "Nova's project", err);
	if (r < 0 || request->project[0])
		return r;
	text_copy(request->project, PROJECT_SIZE, doc->lease_project);
	return own;
}

static int read_id(struct meta_device *device, struct err *err)
{
	const char *uuid = xml_attr(device->elem, "uuid"), *address = xml_attr(device->elem, "address"),
		   *guest = xml_attr(device->elem, "guest");

	if (!uuid == !address)
		return err_set(err, EINVAL, "<vgpu:device>: expected either uuid='...' or address='...'");
	device->kind = uuid ? REQUEST_MDEV : REQUEST_PCI;
	if (uuid ? !domxml_uuid(device->id, uuid) : !pci_parse(device->id, address))
		return err_set(err, EINVAL, "<vgpu:device %s='%.64s'>: not a %s", uuid ? "uuid" : "address",
			       uuid ? uuid : address, uuid ? "UUID" : "PCI address such as 0000:41:00.4");
	if (!guest || !pci_parse(device->guest, guest))
		device->guest[0] = '\0';
	return 0;
}

static int read_devices(struct meta *meta, const struct xml_elem *lease, struct err *err)
{
	const struct xml_elem *elem = xml_child(lease, DOMXML_NS, "device");

	for (; elem; elem = xml_next(elem, DOMXML_NS, "device")) {
		struct meta_device device = { .elem = elem };

		if (read_id(&device, err) < 0)
			return -err->code;
		if (meta_find(meta, device.id))
			return err_set(err, EINVAL, "metadata: two <vgpu:device> name %s; remove one", device.id);
		if (meta->n == META_MAX)
			return err_set(err, EINVAL, "metadata: more than %d <vgpu:device>", META_MAX);
		*(struct meta_device *)mem_add(&meta->devices, &meta->n, sizeof(device)) = device;
	}
	return 0;
}

int meta_read(struct domxml *doc, const struct xml_elem *domain, struct err *err)
{
	const struct xml_elem *metadata = xml_child(domain, "", "metadata");
	const struct xml_elem *lease = xml_child(metadata, DOMXML_NS, "lease");

	if (!metadata)
		return 0;
	doc->meta.suspended = xml_child(metadata, DOMXML_SUSPENDED_NS, "suspended") != NULL;
	/* Read only the first lease, because libvirt drops all but the first element of a namespace. */
	if (lease && read_devices(&doc->meta, lease, err) < 0)
		return -err->code;
	return read_owner(doc, metadata, lease, err);
}

const struct meta_device *meta_find(const struct meta *meta, const char *id)
{
	for (size_t i = 0; i < meta->n; i++)
		if (strcmp(meta->devices[i].id, id) == 0)
			return &meta->devices[i];
	return NULL;
}

static int read_placement(struct vgpu_request *req, const char *value, struct err *err)
{
	if (!value)
		return 0;
	req->has_placement = true;
	if (strcmp(value, "pack") == 0)
		req->placement = PLACE_PACK;
	else if (strcmp(value, "spread") == 0)
		req->placement = PLACE_SPREAD;
	else
		return err_set(err, EINVAL, "%s: invalid placement='%.64s' in the metadata: expected pack or spread",
			       req->id, value);
	return 0;
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

int meta_apply(const struct meta_device *device, struct vgpu_request *req, struct err *err)
{
	const struct xml_elem *elem = device->elem;

	req->has_metadata = true;
	req->has_guest = strcmp(device->guest, req->guest) == 0;
	req->has_params = xml_attr(elem, "params") != NULL;
	for (size_t i = FACT; i < META_UUID; i++)
		if (take_attr((char *)&req->facts + domxml_attrs[i].fact, domxml_attrs[i].size, elem,
			      domxml_attrs[i].name, req->id, err) < 0)
			return -err->code;
	if (take_attr(req->params, sizeof(req->params), elem, "params", req->id, err) < 0 ||
	    read_placement(req, xml_attr(elem, "placement"), err) < 0)
		return -err->code;
	return read_numa(req, xml_attr(elem, "numa"), err);
}

#define QEMU_NS "http://libvirt.org/schemas/domain/qemu/1.0"

enum { REMARKS_MAX = 32, PAST_MAX = 32, WORD_SIZE = 64 };

/* Keep only the first remarks: a hostile document can cause millions. */
__attribute__((format(printf, 3, 4))) static void note(struct domxml *doc, const char *fix, const char *fmt, ...)
{
	struct remark *remark;
	va_list ap;

	if (doc->nremarks == REMARKS_MAX)
		return;
	remark = mem_add(&doc->remarks, &doc->nremarks, sizeof(*remark));
	text_copy(remark->fix, sizeof(remark->fix), fix);
	va_start(ap, fmt);
	vsnprintf(remark->text, sizeof(remark->text), fmt, ap);
	va_end(ap);
}

/* Copies a name from the document, cut to fit and without an undeclared prefix. */
static const char *shown(char buf[WORD_SIZE], const char *name)
{
	const char *colon = strrchr(name, ':');

	text_cut(buf, WORD_SIZE, colon ? colon + 1 : name);
	return buf;
}

/* `words`: the known attributes, with a blank before and after each. */
static void look_at_attributes(struct domxml *doc, const struct xml_elem *elem, const char *words, const char *fix,
			       const char *whose)
{
	char word[WORD_SIZE], known[WORD_SIZE + 2];
	const char *name;

	for (size_t i = 0; (name = xml_attr_name(elem, i)) && doc->nremarks < REMARKS_MAX; i++) {
		snprintf(known, sizeof(known), " %s ", name);
		if (!strstr(words, known))
			note(doc, fix, "%s: unknown attribute '%s'", whose, shown(word, name));
	}
}

static void look_at_device(struct domxml *doc, const struct xml_elem *device)
{
	const char *uuid = xml_attr(device, "uuid"), *address = xml_attr(device, "address");
	char id[WORD_SIZE], whose[2 * WORD_SIZE];

	text_cut(id, sizeof(id), uuid ? uuid : address ? address : "");
	snprintf(whose, sizeof(whose), "<vgpu:device> of %s", id);
	look_at_attributes(doc, device, " uuid address type placement numa params name framework model driver guest ",
			   "use type, placement, numa, params", whose);
}

static void look_at_lease(struct domxml *doc, const struct xml_elem *lease)
{
	const struct xml_elem *child = xml_child(lease, NULL, NULL);
	char word[WORD_SIZE];

	look_at_attributes(doc, lease, " project ", "use project", "<vgpu:lease>");
	for (; child && doc->nremarks < REMARKS_MAX; child = xml_next(child, NULL, NULL)) {
		if (strcmp(xml_ns(child), DOMXML_NS) != 0)
			note(doc, "write <vgpu:device>, with the prefix of its <lease>",
			     "<%s> in <vgpu:lease> is ignored: it is in another namespace",
			     shown(word, xml_name(child)));
		else if (strcmp(xml_name(child), "device") != 0)
			note(doc, "write <vgpu:device>", "<vgpu:lease>: unknown element <vgpu:%s>",
			     shown(word, xml_name(child)));
		else
			look_at_device(doc, child);
	}
}

/* Is the element meant for vgpu-lease, judging by its namespace or content? */
static bool is_meant(const struct xml_elem *elem)
{
	char word[WORD_SIZE];

	if (strcasestr(xml_ns(elem), "vgpu-lease"))
		return true;
	return strcmp(shown(word, xml_name(elem)), "lease") == 0 &&
	       (xml_child(elem, NULL, "device") || xml_child(elem, NULL, "vgpu:device"));
}

static void look_at_metadata(struct domxml *doc, const struct xml_elem *metadata)
{
	const struct xml_elem *child = xml_child(metadata, NULL, NULL);
	bool seen = false;
	char word[WORD_SIZE], ns[2 * WORD_SIZE];

	for (; child && doc->nremarks < REMARKS_MAX; child = xml_next(child, NULL, NULL)) {
		bool ours = strcmp(xml_ns(child), DOMXML_NS) == 0;

		if (strcmp(xml_ns(child), DOMXML_SUSPENDED_NS) == 0)
			continue;
		text_cut(ns, sizeof(ns), xml_ns(child));
		if (ours && strcmp(xml_name(child), "lease") != 0) {
			note(doc, "write <vgpu:lease>", "<metadata>: unknown element <vgpu:%s>",
			     shown(word, xml_name(child)));
		} else if (ours && seen) {
			note(doc, "keep one", "a second <vgpu:lease> is ignored");
		} else if (ours) {
			seen = true;
			look_at_lease(doc, child);
		} else if (is_meant(child)) {
			note(doc, "write xmlns:vgpu='" DOMXML_NS "'",
			     "<%s> in <metadata> is ignored: its namespace is '%s'", shown(word, xml_name(child)), ns);
		}
	}
}

/*
 * The device in an argument such as vfio-pci,sysfsdev=/sys/bus/mdev/devices/UUID, vfio-pci,host=41:00.4, or the same in
 * JSON. The last UUID or address counts, because the path of an mdev can contain its parent's address.
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
	if (xml_child(domain, DOMXML_NS, "lease"))
		note(doc, "put it into <metadata>", "a <vgpu:lease> outside <metadata> is ignored");
	/* A suspended domain gets its hostdevs back when it resumes. */
	for (size_t i = 0; !doc->meta.suspended && i < doc->nstrays; i++)
		note(doc, "correct the <hostdev>, or remove the <vgpu:device>",
		     "<vgpu:device> of %s: no <hostdev> of the domain has this %s", doc->strays[i].id,
		     doc->strays[i].kind == REQUEST_MDEV ? "UUID" : "address");
}
