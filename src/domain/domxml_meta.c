/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A domain's <metadata>: our <vgpu:lease>, and the instance's name and project from Nova. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "base/text.h"

/*
 * Copies an attribute; "" if it is missing or invalid. -EINVAL: too long, or not printable ASCII, as sysfs and records
 * need it.
 */
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

static int read_id(struct meta_device *device, struct err *err)
{
	const char *uuid = xml_attr(device->elem, "uuid"), *address = xml_attr(device->elem, "address"),
		   *guest = xml_attr(device->elem, "guest");

	if (!uuid == !address)
		return err_set(err, EINVAL, "<vgpu:device>: expected either uuid='...' or address='...'");
	device->request.kind = uuid ? REQUEST_MDEV : REQUEST_PCI;
	if (uuid ? !domxml_uuid(device->request.id, uuid) : !pci_parse(device->request.id, address))
		return err_set(err, EINVAL, "<vgpu:device %s='%.64s'>: not a %s", uuid ? "uuid" : "address",
			       uuid ? uuid : address, uuid ? "UUID" : "PCI address such as 0000:41:00.4");
	if (!guest || !pci_parse(device->request.guest, guest))
		device->request.guest[0] = '\0';
	return 0;
}

static int read_devices(struct meta *meta, const struct xml_elem *lease, struct err *err)
{
	const struct xml_elem *elem = xml_child(lease, DOMXML_NS, "device");

	for (; elem; elem = xml_next(elem, DOMXML_NS, "device")) {
		struct meta_device device = { .elem = elem };

		if (read_id(&device, err) < 0)
			return -err->code;
		if (meta_find(meta, device.request.id))
			return err_set(err, EINVAL, "metadata: two <vgpu:device> name %s; remove one",
				       device.request.id);
		if (meta->n == REQUEST_MAX)
			return err_set(err, EINVAL, "metadata: more than %d <vgpu:device>", REQUEST_MAX);
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
	/* Read only the first lease, because libvirt keeps only the first element of a namespace. */
	if (lease && read_devices(&doc->meta, lease, err) < 0)
		return -err->code;
	return read_owner(doc, metadata, lease, err);
}

const struct meta_device *meta_find(const struct meta *meta, const char *id)
{
	return text_find(meta->devices, meta->n, sizeof(*meta->devices), id);
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
	req->has_guest = strcmp(device->request.guest, req->guest) == 0;
	req->has_params = xml_attr(elem, "params") != NULL;
	for (size_t i = FACT; i < ATTRS; i++)
		if (take_attr((char *)&req->facts + domxml_attrs[i].fact, domxml_attrs[i].size, elem,
			      domxml_attrs[i].name, req->id, err) < 0)
			return -err->code;
	if (take_attr(req->params, sizeof(req->params), elem, "params", req->id, err) < 0 ||
	    read_placement(req, xml_attr(elem, "placement"), err) < 0)
		return -err->code;
	return read_numa(req, xml_attr(elem, "numa"), err);
}
