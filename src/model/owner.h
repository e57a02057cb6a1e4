/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whose a vGPU is: who may remove it once its domain has released it.
 *
 * An mdev that another manager has defined (an mdevctl definition of its UUID), or that an instance of Nova names, is
 * that manager's: the hook creates it where it is missing, and leaves it standing. Nova counts a definition without its
 * device as a device, picks it for the next instance, and fails; and it resumes a suspended instance without its vGPU
 * if the mdev is gone. One that no domain names is Nova's if its pGPU is in the pool, which is that of a nova.conf:
 * Nova counts it, whatever its type, and never removes it. A VF has no definition, and a type that is left on it is
 * capacity that nobody counts: whoever set the type resets it.
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
	bool defined; /* mdevctl has a definition of the UUID, or that cannot be told */
	bool nova;    /* the domain that names it is an instance of Nova; where none does, Nova counts it as its own */
};

enum owner owner_of(const struct owner_facts *facts);

/* What its lease says: `created` is removed at release, `adopted` is kept. */
enum lease_origin owner_origin(enum owner owner);

/* A word for people and programs; NULL: the owner is not known. */
const char *owner_word(enum owner owner);

/* Why it is kept, as a clause for people; NULL: it is not, or was there before. */
const char *owner_why_kept(enum owner owner);
