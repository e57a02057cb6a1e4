/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A migration from one framework to another. */
#include "survey/crossing.h"

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

/* No host has this VF: whoever arrives with it is given another. */
#define NO_VF "ffff:ff:1f.7"

/* What the type is called, on the source or by who wrote the metadata; "" where nobody says. */
static const char *name_of(const struct want *want)
{
	return *want->source_name ? want->source_name : want->type;
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

static int may_cross(const struct want *want, const char *type, const struct config *config, const struct host *host,
		     struct err *err)
{
	const char *was = want->kind == WANT_MDEV ? "an mdev" : "a VF",
		   *is = want->kind == WANT_MDEV ? "a VF" : "an mdev";
	int libvirt = libvirt_files_libvirt(host);

	if (!config->policy.cross_framework)
		return err_set(err, EPERM,
			       "vGPU %s: %s is %s on the source and %s here (%s): set cross_framework = yes to let it "
			       "become one, where both hosts have libvirt 11.0 or later",
			       want->id, name_of(want), was, is, type);
	if (libvirt && libvirt < LIBVIRT_CROSSES)
		return err_set(
			err, EPERM,
			"vGPU %s: %s is %s on the source and %s here (%s), and this host's libvirt %d.%d.%d cannot "
			"change that: 11.0 or later is needed",
			want->id, name_of(want), was, is, type, libvirt / 1000000, libvirt / 1000 % 1000,
			libvirt % 1000);
	return 0;
}

static void cross(struct want *want, size_t i)
{
	text_copy(want->type, sizeof(want->type), name_of(want));
	want->managed = false;
	if (want->kind == WANT_MDEV) {
		want->kind = WANT_PCI;
		want->placeholder = false;
		text_copy(want->id, sizeof(want->id), NO_VF);
	} else {
		want->kind = WANT_MDEV;
		want->placeholder = true;
		snprintf(want->id, sizeof(want->id), "00000000-0000-0000-0000-0000000000%02x", (unsigned char)i);
	}
}

static int look_at(struct want *want, size_t i, const struct config *config, const struct host *host, struct err *err)
{
	unsigned int own = resolve_frameworks(want);
	char type[TYPE_SIZE];
	int r;

	if (!*name_of(want))
		return 0;
	r = find_type(type, host, own, name_of(want), err);
	if (r < 0 || *type)
		return r;
	r = find_type(type, host, INV_ALL & ~own, name_of(want), err);
	if (r < 0 || !*type)
		return r;
	r = may_cross(want, type, config, host, err);
	if (r == 0)
		cross(want, i);
	return r;
}

int crossing_make(struct crossing *crossing, const struct request *request, const struct config *config,
		  const struct host *host, struct err *err)
{
	int r = 0;

	*crossing = (struct crossing){ .request = *request };
	crossing->wants = calloc(request->nwants + 1, sizeof(*crossing->wants));
	if (!crossing->wants)
		abort();
	for (size_t i = 0; i < request->nwants; i++)
		crossing->wants[i] = request->wants[i];
	crossing->request.wants = crossing->wants;
	for (size_t i = 0; i < request->nwants && r == 0; i++)
		r = look_at(&crossing->wants[i], i, config, host, err);
	return r;
}

void crossing_free(struct crossing *crossing)
{
	free(crossing->wants);
	*crossing = (struct crossing){ 0 };
}
