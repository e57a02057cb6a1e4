/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The owner of a vGPU decides who removes it after its domain has released it.
 *
 * An mdev belongs to another manager if mdevctl has a definition of its UUID or a Nova instance names it. The hook
 * creates such an mdev if it is missing but never removes it: Nova would count the remaining definition as a device,
 * pick it for the next instance and fail, and would resume a suspended instance without its vGPU. An mdev that no
 * domain names belongs to Nova if its pGPU is in the pool and the pool comes from a nova.conf: Nova counts it, whatever
 * its type, and never removes it. A VF has no definition, and no manager counts a type that stays set on a VF, so the
 * software that set the type resets it.
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>

#include "model/lease.h"

enum owner { OWNER_HOOK, OWNER_NOVA, OWNER_MDEVCTL, OWNER_OTHER };

struct owner_facts {
	enum framework framework;
	bool created; /* by the hook */
	bool defined; /* mdevctl has a definition of the UUID, or may have one */
	bool nova;    /* the domain that names it is a Nova instance; or no domain names it, and Nova counts it */
};

enum owner owner_of(const struct owner_facts *facts);

/* The origin for its lease: `created` is removed at release, `adopted` is kept. */
enum lease_origin owner_origin(enum owner owner);

/* A word for people and programs; NULL if the owner is unknown. */
const char *owner_word(enum owner owner);

/* Why the vGPU is kept, as a clause of a message. NULL: it is not kept, or it existed before its lease. */
const char *owner_why_kept(enum owner owner);
