/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The request: our <vgpu:lease> and Nova's instance in <metadata>, the hostdevs that are vGPUs, and the pinned CPUs and
 * memory nodes of the domain.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "base/mem.h"
#include "base/text.h"

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

static const struct meta_device *find_device(const struct domxml *doc, const char *id)
{
	return text_find(doc->devices, doc->ndevices, sizeof(*doc->devices), id);
}

static int read_devices(struct domxml *doc, const struct xml_elem *lease, struct err *err)
{
	const struct xml_elem *elem = xml_child(lease, DOMXML_NS, "device");

	for (; elem; elem = xml_next(elem, DOMXML_NS, "device")) {
		struct meta_device device = { .elem = elem };

		if (read_id(&device, err) < 0)
			return -err->code;
		if (find_device(doc, device.request.id))
			return err_set(err, EINVAL, "metadata: two <vgpu:device> name %s; remove one",
				       device.request.id);
		if (doc->ndevices == REQUEST_MAX)
			return err_set(err, EINVAL, "metadata: more than %d <vgpu:device>", REQUEST_MAX);
		*(struct meta_device *)mem_add(&doc->devices, &doc->ndevices, sizeof(device)) = device;
	}
	return 0;
}

static int read_metadata(struct domxml *doc, const struct xml_elem *domain, struct err *err)
{
	const struct xml_elem *metadata = xml_child(domain, "", "metadata");
	const struct xml_elem *lease = xml_child(metadata, DOMXML_NS, "lease");

	if (!metadata)
		return 0;
	doc->suspended = xml_child(metadata, DOMXML_SUSPENDED_NS, "suspended") != NULL;
	/* Read only the first lease, because libvirt keeps only the first element of a namespace. */
	if (lease && read_devices(doc, lease, err) < 0)
		return -err->code;
	return read_owner(doc, metadata, lease, err);
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

static int apply_device(const struct meta_device *device, struct vgpu_request *req, struct err *err)
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

enum { NODE_MAX = 64 };

static bool attr_is(const struct xml_elem *elem, const char *attr, const char *value)
{
	const char *got = xml_attr(elem, attr);

	return got && strcmp(got, value) == 0;
}

/* For an mdev, libvirt uses the first <address> in any <source>. */
static const struct xml_elem *mdev_source(const struct xml_elem *hostdev)
{
	const struct xml_elem *source = xml_child(hostdev, "", "source"), *address = NULL;

	for (; source && !address; source = xml_next(source, "", "source"))
		address = xml_child(source, "", "address");
	return address;
}

/* Reads a number as libvirt does, with strtoul() and base 0: 0x41, 65 or 0101. A missing number is 0. */
static bool pci_number(const struct xml_elem *address, const char *attr, unsigned long max, unsigned long *out)
{
	const char *value = xml_attr(address, attr);
	char *end;

	*out = 0;
	if (!value)
		return true;
	errno = 0;
	*out = strtoul(value, &end, 0);
	return errno == 0 && end != value && *end == '\0' && !strchr(value, '-') && *out <= max;
}

static bool pci_address(char out[ID_SIZE], const struct xml_elem *address)
{
	unsigned long domain, bus, slot, function;

	if (!pci_number(address, "domain", UINT32_MAX, &domain) || !pci_number(address, "bus", 0xff, &bus) ||
	    !pci_number(address, "slot", 0x1f, &slot) || !pci_number(address, "function", 7, &function))
		return false;
	snprintf(out, ID_SIZE, "%04lx:%02lx:%02lx.%lx", domain, bus, slot, function);
	return true;
}

/* 1: the hostdev is in the request, and `req` and `address` are set; 0: it is not; -EINVAL: an mdev without a UUID. */
static int read_hostdev(const struct xml_elem *hostdev, const struct domxml *doc, bool all_pci,
			struct vgpu_request *req, const struct xml_elem **address, struct err *err)
{
	const char *mode = xml_attr(hostdev, "mode");

	/* To libvirt, a missing mode means subsystem. */
	if (mode && strcmp(mode, "subsystem") != 0)
		return 0;
	if (attr_is(hostdev, "type", "pci")) {
		req->kind = REQUEST_PCI;
		/* With <driver model='nvidia'>, a managed VF keeps that driver (libvirt 10.0). */
		req->managed = attr_is(hostdev, "managed", "yes") &&
			       !attr_is(xml_child(hostdev, "", "driver"), "model", "nvidia");
		/* Here libvirt uses only the first <source>. It refuses an unreadable address, so skip it. */
		*address = xml_child(xml_child(hostdev, "", "source"), "", "address");
		return *address && pci_address(req->id, *address) && (all_pci || find_device(doc, req->id));
	}
	if (!attr_is(hostdev, "type", "mdev") || !attr_is(hostdev, "model", "vfio-pci"))
		return 0;
	req->kind = REQUEST_MDEV;
	*address = mdev_source(hostdev);
	if (!*address || !xml_attr(*address, "uuid"))
		return err_set(err, EINVAL,
			       "domain XML: mdev <hostdev> without <source><address uuid='...'/></source>");
	if (!domxml_uuid(req->id, xml_attr(*address, "uuid")))
		return err_set(err, EINVAL, "domain XML: mdev <hostdev>: '%.64s' is not a UUID",
			       xml_attr(*address, "uuid"));
	req->any = uuid_is_placeholder(req->id);
	return 1;
}

static int add_vgpu(struct domxml *doc, const struct vgpu_request *req, const struct mark *mark, struct err *err)
{
	struct request *request = &doc->request;
	size_t n = request->nvgpus;

	if (request_find(request, req->id))
		return err_set(err, EINVAL, "domain XML: two <hostdev> have the same %s %s; give each its own",
			       req->kind == REQUEST_MDEV ? "UUID" : "address", req->id);
	if (n == REQUEST_MAX)
		return err_set(err, EINVAL, "domain XML: more than %d vGPUs and PCI devices", REQUEST_MAX);
	*(struct mark *)mem_add(&doc->marks, &n, sizeof(*mark)) = *mark;
	*(struct vgpu_request *)mem_add(&request->vgpus, &request->nvgpus, sizeof(*req)) = *req;
	return 0;
}

static int read_hostdevs(struct domxml *doc, const struct xml_elem *devices, bool all_pci, struct err *err)
{
	const struct xml_elem *hostdev = xml_child(devices, "", "hostdev");

	for (; hostdev; hostdev = xml_next(hostdev, "", "hostdev")) {
		const struct xml_elem *guest = xml_child(hostdev, "", "address");
		const char *alias = xml_attr(xml_child(hostdev, "", "alias"), "name");
		const struct xml_elem *address;
		struct mark mark = { 0 };
		struct vgpu_request req = { .numa = NUMA_AUTO };
		int r = read_hostdev(hostdev, doc, all_pci, &req, &address, err);

		if (r < 0)
			return r;
		if (r == 0)
			continue;
		/* An alias that does not fit is the user's, so it is ignored. libvirt refuses an unreadable address. */
		text_copy(req.alias, sizeof(req.alias), alias ? alias : "");
		if (attr_is(guest, "type", "pci") && !pci_address(req.guest, guest))
			req.guest[0] = '\0';
		if (domxml_mark(&mark, PART_HOSTDEV, hostdev, err) < 0 ||
		    domxml_mark(&mark, PART_ADDRESS, address, err) < 0 || add_vgpu(doc, &req, &mark, err) < 0)
			return -err->code;
	}
	return 0;
}

/* True if both devices have the same facts and preferences. */
static bool are_alike(const struct meta_device *a, const struct meta_device *b)
{
	static const char *const names[] = { "type",   "name",      "framework", "model",
					     "driver", "placement", "numa",      "params" };

	for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
		const char *x = xml_attr(a->elem, names[n]), *y = xml_attr(b->elem, names[n]);

		if (x && y ? strcmp(x, y) != 0 : x != y)
			return false;
	}
	return true;
}

/*
 * Matches mdev hostdevs without a <vgpu:device> with devices without a hostdev: the only ones that have this guest
 * address. "": all hostdevs, in document order, with the devices that have no guest address. That needs as many devices
 * as hostdevs, or more devices that are all alike.
 */
static void follow_at(struct domxml *doc, const char *guest)
{
	const struct vgpu_request *hostdevs[REQUEST_MAX];
	struct meta_device *devices[REQUEST_MAX];
	size_t nhostdevs = 0, ndevices = 0;
	bool alike = !*guest;

	for (EACH(const struct vgpu_request *, req, doc->request.vgpus, doc->request.nvgpus))
		if (req->kind == REQUEST_MDEV && !find_device(doc, req->id) &&
		    (!*guest || strcmp(req->guest, guest) == 0))
			hostdevs[nhostdevs++] = req;
	for (EACH(struct meta_device *, device, doc->devices, doc->ndevices))
		if (device->request.kind == REQUEST_MDEV && strcmp(device->request.guest, guest) == 0 &&
		    !request_find(&doc->request, device->request.id)) {
			devices[ndevices++] = device;
			alike = alike && are_alike(devices[0], device);
		}
	if ((*guest && nhostdevs > 1) || (ndevices != nhostdevs && !(ndevices > nhostdevs && alike)))
		return;
	for (size_t i = 0; i < nhostdevs; i++) {
		text_copy(devices[i]->request.id, ID_SIZE, hostdevs[i]->id);
		doc->followed = true;
	}
}

/*
 * For a live migration, Nova gives each mdev hostdev the UUID of the target's device, but leaves our metadata and the
 * guest address unchanged. If no hostdev has a device's guest address, the device's vGPU is gone.
 */
static void follow_hostdevs(struct domxml *doc)
{
	for (size_t i = 0; i < doc->request.nvgpus; i++)
		if (*doc->request.vgpus[i].guest)
			follow_at(doc, doc->request.vgpus[i].guest);
	follow_at(doc, "");
}

/* <vcpu cpuset> applies to vCPUs without a <vcpupin>. An invalid list is ignored, because libvirt refuses it. */
static void read_cpus(struct request *request, const struct xml_elem *domain)
{
	const struct xml_elem *vcpu = xml_child(domain, "", "vcpu");
	const struct xml_elem *pin = xml_child(xml_child(domain, "", "cputune"), "", "vcpupin");
	const char *cpuset = xml_attr(vcpu, "cpuset");
	autofree uint64_t *cpus = mem_new(CPU_WORDS, sizeof(*cpus));
	long vcpus = LONG_MAX, pins = 0;
	bool pinned = false;
	char text[32];

	for (; pin; pin = xml_next(pin, "", "vcpupin"), pins++)
		if (xml_attr(pin, "cpuset"))
			pinned |= text_cpuset(xml_attr(pin, "cpuset"), cpus, CPUS_MAX);
	if (vcpu && xml_text(vcpu, text, sizeof(text)) && !text_number(text_strip(text), 1, LONG_MAX - 1, &vcpus))
		vcpus = LONG_MAX;
	if (cpuset && pins < vcpus)
		pinned |= text_cpuset(cpuset, cpus, CPUS_MAX);
	if (pinned)
		request->cpus = steal_ptr(&cpus);
}

/* Errors in a <vgpu:device> without a hostdev are ignored, because the domain does not have its vGPU. */
static int apply_devices(struct domxml *doc, struct err *err)
{
	struct request *request = &doc->request;
	struct err ignored;

	for (EACH(struct meta_device *, device, doc->devices, doc->ndevices)) {
		struct vgpu_request *req = text_find(request->vgpus, request->nvgpus, sizeof(*req), device->request.id);

		device->stray = !req;
		if (device->stray) {
			domxml_exclude(request, device->request.id);
			apply_device(device, &device->request, &ignored);
			continue;
		}
		if (domxml_mark(&doc->marks[req - request->vgpus], PART_DEVICE, device->elem, err) < 0 ||
		    apply_device(device, req, err) < 0)
			return -err->code;
	}
	return 0;
}

int request_read(struct domxml *doc, const struct xml_elem *domain, const struct xml_elem *holder, bool all_pci,
		 struct err *err)
{
	const struct xml_elem *devices = xml_child(holder, "", "devices");
	const char *nodes = xml_attr(xml_child(xml_child(domain, "", "numatune"), "", "memory"), "nodeset");

	if (read_metadata(doc, domain, err) < 0)
		return -err->code;
	/* libvirt reads every <devices> element (./devices/hostdev). */
	for (; devices; devices = xml_next(devices, "", "devices"))
		if (read_hostdevs(doc, devices, all_pci, err) < 0)
			return -err->code;
	if (doc->request.nova && !doc->suspended)
		follow_hostdevs(doc);
	if (apply_devices(doc, err) < 0)
		return -err->code;
	if (nodes)
		text_cpuset(nodes, &doc->request.memory_nodes, NODE_MAX);
	read_cpus(&doc->request, domain);
	return 0;
}
