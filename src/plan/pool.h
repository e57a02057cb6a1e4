/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pool: the configuration and the host brought together. Which pGPU serves which type, and why one does not.
 *
 * Pure: no I/O. One type per pGPU, as in Nova, or with pgpu_types = several all that it is given to; addresses go
 * before matches, matches before the type that has neither.
 * A card that is otherwise than the file says is not in the pool now, with the reason; it never changes what the
 * other cards serve. Plain VFs are given out by [vf_NAME] sections alone, everything else by all others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "host/inventory.h"

/* How a section comes to a card; the lower ones count where none comes by a higher one. */
enum claim { CLAIM_NONE, CLAIM_DEFAULT, CLAIM_MATCH, CLAIM_VFS, CLAIM_ADDRESS };

struct pool_card {
	const struct section *section; /* the type that it serves, the first of several; NULL none */
	enum claim claim;              /* by which those come to it that it serves */
	bool in_pool;
	bool contested;           /* two sections claim it: it is in neither */
	bool limited;             /* only the VFs that the section names belong to the pool */
	char reason[REASON_SIZE]; /* not in the pool: why */
};

struct pool {
	const struct config *config;
	const struct inventory *inv;
	struct pool_card *cards; /* one for each inv->pgpus, same index */
};

/* Brings both together; they must outlive the pool. */
void pool_make(struct pool *pool, const struct config *config, const struct inventory *inv);
void pool_free(struct pool *pool);

/* The section by which a pGPU serves this type, whether it is ready for that or not; NULL: it does not. */
const struct section *pool_serves(const struct pool *pool, int pgpu, const char *type);

/*
 * What the pool has to make a section's type from, of the cards for mdevs or of those for VFs; `pgpu`: of this card
 * alone, or UNKNOWN.
 */
enum stock { STOCK_NONE, STOCK_UNREADY, STOCK_READY };
enum stock pool_stock(const struct pool *pool, const struct section *section, bool mdev, int pgpu);

/*
 * Of the enabled types, those of the best stock: a type without a card is none where another has one. Returns how many
 * they are; *first the first of them, NULL none. Where no type has a card, and `pgpu` is UNKNOWN, all that an mdev can
 * have.
 */
size_t pool_types(const struct pool *pool, bool mdev, int pgpu, const struct section **first);

/* Is this section's type one of those that pool_types() counts? */
bool pool_has_type(const struct pool *pool, const struct section *section, bool mdev, int pgpu);

/* Does this parent of its pGPU belong to the pool? */
bool pool_has_parent(const struct pool *pool, int parent);

/*
 * Is there a parent or pGPU of this name (also in Nova's form mtty_mtty)? An address of the file for which there is
 * none is one that the host does not have.
 */
bool pool_address_is(const char *address, const char *name);

/* Does one of the addresses of a section name it? */
bool pool_section_names(const struct section *s, const char *name);

/* Is the parent or pGPU, of the kind that the section gives out, that it names by this address missing? */
bool pool_misses(const struct pool *pool, const struct section *section, const char *address);

/*
 * Does a section name this card, by its address, by that of its VF, or by what it is? Then it is meant to be in the
 * pool, whether it is ready or not.
 */
bool pool_names(const struct config *config, const struct inv_pgpu *card, const char *vf);

/* Does an alternative of device_match fit this card? */
bool pool_match(const struct match *match, const struct inv_pgpu *card);

/* For inventory_read(), with a struct config: the types of the sections that name the card, or some of its VFs. */
const char *pool_names_type(const void *config, const struct inv_pgpu *card, const struct inv_parent *vfs, size_t nvfs,
			    size_t i);

/* The same: the first [vf_NAME] section that names the card or some of its VFs. */
const char *pool_vf_name(const void *config, const struct inv_pgpu *card, const struct inv_parent *vfs, size_t nvfs);
