/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The owner of a vGPU. */
#include "model/owner.h"

#include <stddef.h>

enum owner owner_of(const struct owner_facts *facts)
{
	if (facts->framework == FW_MDEV && facts->nova)
		return OWNER_NOVA;
	if (facts->framework == FW_MDEV && facts->defined)
		return OWNER_MDEVCTL;
	return facts->created ? OWNER_HOOK : OWNER_OTHER;
}

enum lease_origin owner_origin(enum owner owner)
{
	return owner == OWNER_HOOK ? LEASE_CREATED : LEASE_ADOPTED;
}

const char *owner_word(enum owner owner)
{
	switch (owner) {
	case OWNER_HOOK:
		return "vgpu-lease";
	case OWNER_NOVA:
		return "nova";
	case OWNER_MDEVCTL:
		return "mdevctl";
	case OWNER_OTHER:
		break;
	}
	return NULL;
}

const char *owner_why_kept(enum owner owner)
{
	switch (owner) {
	case OWNER_NOVA:
		return "the domain is a Nova instance";
	case OWNER_MDEVCTL:
		return "it has an mdevctl definition";
	case OWNER_HOOK:
	case OWNER_OTHER:
		break;
	}
	return NULL;
}
