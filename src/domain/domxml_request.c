/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The request: the hostdevs that are vGPUs, with their metadata, and the pinned CPUs and memory nodes of the domain. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "base/mem.h"
#include "base/text.h"

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

/* Reads numbers as libvirt does, with strtoul() and base 0: 0x41, 65 or 0101. A missing number is 0. */
static bool pci_address(char out[ID_SIZE], const struct xml_elem *address)
{
	static const struct {
		const char *name;
		unsigned long max;
	} parts[] = { { "domain", UINT32_MAX }, { "bus", 0xff }, { "slot", 0x1f }, { "function", 7 } };
	unsigned long n[ARRAY_SIZE(parts)] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const char *value = xml_attr(address, parts[i].name);
		char *end;

		if (!value)
			continue;
		errno = 0;
		n[i] = strtoul(value, &end, 0);
		if (errno || end == value || *end || strchr(value, '-') || n[i] > parts[i].max)
			return false;
	}
	snprintf(out, ID_SIZE, "%04lx:%02lx:%02lx.%lx", n[0], n[1], n[2], n[3]);
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
		return *address && pci_address(req->id, *address) && (all_pci || domxml_device(doc, req->id));
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

static int add_vgpu(struct domxml *doc, const struct vgpu_request *req, const struct xml_elem *hostdev,
		    const struct xml_elem *address, struct err *err)
{
	const struct xml_elem *guest = xml_child(hostdev, "", "address");
	const char *alias = xml_attr(xml_child(hostdev, "", "alias"), "name");
	struct request *request = &doc->request;
	size_t n = request->nvgpus;
	struct mark *mark = mem_add(&doc->marks, &n, sizeof(*mark));
	struct vgpu_request *vgpu;

	if (domxml_mark(mark, PART_HOSTDEV, hostdev, err) < 0 || domxml_mark(mark, PART_ADDRESS, address, err) < 0)
		return -err->code;
	if (request_find(request, req->id))
		return err_set(err, EINVAL, "domain XML: two <hostdev> have the same %s %s; give each its own",
			       req->kind == REQUEST_MDEV ? "UUID" : "address", req->id);
	if (request->nvgpus == REQUEST_MAX)
		return err_set(err, EINVAL, "domain XML: more than %d vGPUs and PCI devices", REQUEST_MAX);
	vgpu = mem_add(&request->vgpus, &request->nvgpus, sizeof(*vgpu));
	*vgpu = *req;
	/* An alias that does not fit is the user's, so it is ignored. libvirt refuses an unreadable address. */
	text_copy(vgpu->alias, sizeof(vgpu->alias), alias ? alias : "");
	if (attr_is(guest, "type", "pci") && !pci_address(vgpu->guest, guest))
		vgpu->guest[0] = '\0';
	return 0;
}

static int read_hostdevs(struct domxml *doc, const struct xml_elem *devices, bool all_pci, struct err *err)
{
	const struct xml_elem *hostdev = xml_child(devices, "", "hostdev"), *address;

	for (; hostdev; hostdev = xml_next(hostdev, "", "hostdev")) {
		struct vgpu_request req = { .numa = NUMA_AUTO };
		int r = read_hostdev(hostdev, doc, all_pci, &req, &address, err);

		if (r < 0 || (r > 0 && add_vgpu(doc, &req, hostdev, address, err) < 0))
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
		if (req->kind == REQUEST_MDEV && !domxml_device(doc, req->id) &&
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

int request_read(struct domxml *doc, const struct xml_elem *domain, const struct xml_elem *holder, bool all_pci,
		 struct err *err)
{
	const struct xml_elem *devices = xml_child(holder, "", "devices");
	const char *nodes = xml_attr(xml_child(xml_child(domain, "", "numatune"), "", "memory"), "nodeset");

	if (domxml_read_metadata(doc, domain, err) < 0)
		return -err->code;
	/* libvirt reads every <devices> element (./devices/hostdev). */
	for (; devices; devices = xml_next(devices, "", "devices"))
		if (read_hostdevs(doc, devices, all_pci, err) < 0)
			return -err->code;
	if (doc->request.nova && !doc->suspended)
		follow_hostdevs(doc);
	if (domxml_apply_devices(doc, err) < 0)
		return -err->code;
	if (nodes)
		text_cpuset(nodes, &doc->request.memory_nodes, NODE_MAX);
	read_cpus(&doc->request, domain);
	return 0;
}
