/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For a live migration Nova gives each mdev hostdev the UUID of the target's device, but leaves our metadata unchanged.
 * This file matches each <vgpu:device> with its hostdev again, if only one match is possible.
 */
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "internal.h"

/* mdev hostdevs without a <vgpu:device>, and <vgpu:device> elements of mdevs without a hostdev. */
struct loose {
	size_t hostdevs[REQUEST_MAX], nhostdevs; /* indexes in the request */
	struct meta_device *devices[META_MAX];
	size_t ndevices;
};

static void find_loose(struct loose *loose, const struct request *request, struct meta *meta)
{
	for (size_t i = 0; i < request->nvgpus; i++)
		if (request->vgpus[i].kind == REQUEST_MDEV && !request->vgpus[i].has_metadata)
			loose->hostdevs[loose->nhostdevs++] = i;
	for (size_t i = 0; i < meta->n; i++)
		if (meta->devices[i].kind == REQUEST_MDEV && !request_find(request, meta->devices[i].id))
			loose->devices[loose->ndevices++] = &meta->devices[i];
}

static int follow_hostdev(struct domxml *doc, size_t hostdev, struct meta_device *device, struct err *err)
{
	struct vgpu_request *req = &doc->request.vgpus[hostdev];

	text_copy(device->id, sizeof(device->id), req->id);
	doc->marks[hostdev].elems[PART_DEVICE] = device->elem;
	doc->followed = true;
	return meta_apply(device, req, err);
}

/* Returns the <vgpu:device> with this guest address; NULL unless exactly one device and one hostdev have it. */
static struct meta_device *device_at(const struct loose *loose, const struct request *request, const char *guest)
{
	struct meta_device *found = NULL;
	size_t ndevices = 0, nhostdevs = 0;

	for (size_t i = 0; i < loose->nhostdevs; i++)
		nhostdevs += strcmp(request->vgpus[loose->hostdevs[i]].guest, guest) == 0;
	for (size_t i = 0; i < loose->ndevices; i++)
		if (strcmp(loose->devices[i]->guest, guest) == 0) {
			found = loose->devices[i];
			ndevices++;
		}
	return ndevices == 1 && nhostdevs == 1 ? found : NULL;
}

/* Matches by guest address, which Nova keeps. If no hostdev has a device's guest address, the device's vGPU is gone. */
static int follow_guest(struct domxml *doc, struct loose *loose, struct err *err)
{
	struct loose rest = { .nhostdevs = 0 };

	for (size_t i = 0; i < loose->nhostdevs; i++) {
		const char *guest = doc->request.vgpus[loose->hostdevs[i]].guest;
		struct meta_device *device = *guest ? device_at(loose, &doc->request, guest) : NULL;

		if (!device)
			rest.hostdevs[rest.nhostdevs++] = loose->hostdevs[i];
		else if (follow_hostdev(doc, loose->hostdevs[i], device, err) < 0)
			return -err->code;
	}
	for (size_t i = 0; i < loose->ndevices; i++)
		if (!*loose->devices[i]->guest)
			rest.devices[rest.ndevices++] = loose->devices[i];
	*loose = rest;
	return 0;
}

static bool is_same(const struct meta_device *a, const struct meta_device *b, const char *name)
{
	const char *x = xml_attr(a->elem, name), *y = xml_attr(b->elem, name);

	return x && y ? strcmp(x, y) == 0 : x == y;
}

/* Do all devices have the same facts and preferences? */
static bool are_alike(const struct loose *loose)
{
	static const char *const preferences[] = { "placement", "numa", "params" };

	for (size_t i = 1; i < loose->ndevices; i++) {
		for (size_t attr = FACT; attr < META_UUID; attr++)
			if (!is_same(loose->devices[0], loose->devices[i], domxml_attrs[attr].name))
				return false;
		for (size_t attr = 0; attr < ARRAY_SIZE(preferences); attr++)
			if (!is_same(loose->devices[0], loose->devices[i], preferences[attr]))
				return false;
	}
	return true;
}

int follow_hostdevs(struct domxml *doc, struct meta *meta, struct err *err)
{
	struct loose loose = { .nhostdevs = 0 };

	find_loose(&loose, &doc->request, meta);
	if (follow_guest(doc, &loose, err) < 0)
		return -err->code;
	if (loose.ndevices < loose.nhostdevs || (loose.ndevices > loose.nhostdevs && !are_alike(&loose)))
		return 0;
	for (size_t i = 0; i < loose.nhostdevs; i++)
		if (follow_hostdev(doc, loose.hostdevs[i], loose.devices[i], err) < 0)
			return -err->code;
	return 0;
}
