/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The start of a suspended Nova instance. Nova detaches the mdevs, saves the guest, restores it without them, and then
 * attaches them. libvirt calls no hook for an attach, and Nova skips an mdev that no longer exists, so the guest would
 * run without the mdev. Before the restore, missing mdevs are therefore created from the instance's definition.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "sys/log.h"
#include "look/kernel.h"
#include "look/libvirt_files.h"
#include "act/lifecycle.h"
#include "look/hostdev_filter.h"

#define DEFINED LIBVIRT_ETC "/qemu"

/* Reads the domain's definition if it may have a vGPU. The hook runs in libvirt's root directory. */
static bool read_definition(const struct host *host, const char *name, char **xml, size_t *len)
{
	autofree char *path = mem_format(DEFINED "/%s.xml", name);

	return !strchr(name, '/') && libvirt_files_slurp(host->root, path, xml, len) == 0 &&
	       domxml_concerns(*xml, *len);
}

bool lifecycle_may_be_resumed(const struct host *host, const char *name)
{
	autofree char *defined = NULL;
	size_t len;

	return read_definition(host, name, &defined, &len);
}

/* Keeps only the mdevs that do not exist. Returns their number. */
static size_t keep_missing(struct domxml *definition, const struct host *host)
{
	const struct request *request = domxml_request(definition);
	bool keep[REQUEST_MAX] = { false };

	for (size_t i = 0; i < request->nvgpus; i++) {
		const struct vgpu_ref vgpu = kernel_vgpu(request->vgpus[i].id);

		keep[i] = request->vgpus[i].kind == REQUEST_MDEV && !request->vgpus[i].any &&
			  kernel_exists(host, &vgpu) == 0;
	}
	domxml_keep(definition, keep);
	return request->nvgpus;
}

void lifecycle_resumed(const struct lifecycle *lifecycle, const char *name)
{
	autofree char *defined = NULL;
	autodomxml struct domxml *definition = NULL;
	struct lifecycle own = *lifecycle;
	struct err err;
	size_t len;

	if (!read_definition(lifecycle->host, name, &defined, &len) ||
	    domxml_parse(&definition, defined, len, 0, &err) < 0 || !domxml_request(definition)->nova)
		return;
	placeholder_settle(definition, lifecycle->host);
	if (!keep_missing(definition, lifecycle->host))
		return;
	own.doc = definition;
	own.request = domxml_request(definition);
	if (lifecycle_prepare(&own, &err) == 0)
		return;
	log_warn(
		"prepare: domain %s: starts without the vGPU that Nova's suspend detached: %s; fix this, then hard-reboot the instance",
		own.request->name, err.text);
}
