/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A migration from one framework to another. */
#include "survey/framework_change.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "host/inventory.h"
#include "host/libvirt_files.h"
#include "base/text.h"
#include "survey/resolve.h"

enum { LIBVIRT_CROSSES = 11000000 };

/* What the type is called, on the source or by who wrote the metadata; "" where nobody says. */
static const char *name_of(const struct vgpu_request *req)
{
	return *req->facts.name ? req->facts.name : req->facts.type;
}

/* The first type of these frameworks with this name; "" none. */
static int find_type(char type[TYPE_SIZE], const struct host *host, unsigned int frameworks, const char *name,
		     struct err *err)
{
	autofree char **ids = NULL;
	int r = inventory_types_named(host, frameworks, name, &ids, err);

	type[0] = '\0';
	if (r == 0 && ids && ids[0])
		text_copy(type, TYPE_SIZE, ids[0]);
	return r;
}

static int may_cross(const struct vgpu_request *req, const char *type, const struct config *config,
		     const struct host *host, struct err *err)
{
	const char *was = req->kind == REQUEST_MDEV ? "an mdev" : "a VF",
		   *is = req->kind == REQUEST_MDEV ? "a VF" : "an mdev";
	int libvirt = libvirt_files_libvirt(host);

	if (!config->policy.cross_framework)
		return err_set(err, EPERM,
			       "vGPU %s: %s is %s on the source and %s here (%s): set cross_framework = yes to let it "
			       "become one, where both hosts have libvirt 11.0 or later",
			       req->id, name_of(req), was, is, type);
	if (libvirt && libvirt < LIBVIRT_CROSSES)
		return err_set(
			err, EPERM,
			"vGPU %s: %s is %s on the source and %s here (%s), and this host's libvirt %d.%d.%d cannot "
			"change that: 11.0 or later is needed",
			req->id, name_of(req), was, is, type, libvirt / 1000000, libvirt / 1000 % 1000, libvirt % 1000);
	return 0;
}

/* Its ID names a device of the source, of the other kind. */
static void cross(struct vgpu_request *req)
{
	text_copy(req->facts.type, sizeof(req->facts.type), name_of(req));
	req->managed = false;
	req->kind = req->kind == REQUEST_MDEV ? REQUEST_PCI : REQUEST_MDEV;
	req->any = true;
}

static int look_at(struct vgpu_request *req, const struct config *config, const struct host *host, struct err *err)
{
	unsigned int own = resolve_frameworks(req);
	char type[TYPE_SIZE];
	int r;

	if (!*name_of(req))
		return 0;
	r = find_type(type, host, own, name_of(req), err);
	if (r < 0 || *type)
		return r;
	r = find_type(type, host, INV_ALL & ~own, name_of(req), err);
	if (r < 0 || !*type)
		return r;
	r = may_cross(req, type, config, host, err);
	if (r == 0)
		cross(req);
	return r;
}

int framework_change_make(struct framework_change *framework_change, const struct request *request,
			  const struct config *config, const struct host *host, struct err *err)
{
	int r = 0;

	*framework_change = (struct framework_change){ .request = *request };
	framework_change->vgpus = calloc(request->nvgpus + 1, sizeof(*framework_change->vgpus));
	if (!framework_change->vgpus)
		abort();
	for (size_t i = 0; i < request->nvgpus; i++)
		framework_change->vgpus[i] = request->vgpus[i];
	framework_change->request.vgpus = framework_change->vgpus;
	for (size_t i = 0; i < request->nvgpus && r == 0; i++)
		r = look_at(&framework_change->vgpus[i], config, host, err);
	return r;
}

void framework_change_free(struct framework_change *framework_change)
{
	free(framework_change->vgpus);
	*framework_change = (struct framework_change){ 0 };
}
