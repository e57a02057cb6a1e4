/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pool: the configuration and the host brought together. Which pGPU serves which type, and why one does not.
 *
 * Pure: no I/O. The address of a VF gives that VF to its section. All other VFs of a pGPU, and a pGPU without VFs, have
 * one type, as in Nova, or with pgpu_types = several all that the pGPU is given to; its address goes before matches,
 * matches before the type that has neither, which gets no pGPU of which VFs are named.
 * A card that is otherwise than the file says is not in the pool now, with the reason; it never changes what the
 * other cards serve. Plain VFs are given out by [vf_NAME] sections alone, everything else by all others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "host/inventory.h"

/* Writes into each card of the inventory what it serves. The configuration must outlive it. */
void pool_make(struct inventory *inv, const struct config *config);

/* The section by which a pGPU serves this type, whether it is ready for that or not; NULL: it does not. */
const struct section *pool_serves(const struct inv_pgpu *card, const char *type);

/* Can it serve more than one type? */
bool pool_serves_more(const struct inv_pgpu *card);

/* The type of this parent, the first of several; NULL none. */
const struct section *pool_section_of(const struct inv_parent *parent);

/* Does this parent of a pGPU provide this type, as far as the configuration goes? */
bool pool_gives(const struct inv_parent *parent, const char *type);

/* What the pool has to create a section's type from: cards with mdevs or with VFs, on `parent` or (NULL) on any. */
enum stock { STOCK_NONE, STOCK_UNREADY, STOCK_READY };
enum stock pool_stock(const struct inventory *inv, const struct section *section, bool mdev,
		      const struct inv_parent *parent);

/*
 * Counts the enabled types whose cards are readiest. Types without a card count only if no type has one, and if
 * `parent` is NULL; then all that an mdev can have. *first: the first of them, NULL none.
 */
size_t pool_types(const struct inventory *inv, bool mdev, const struct inv_parent *parent,
		  const struct section **first);

/* What the readiest types have, and is this section's one of those that pool_types() counts by that? */
enum stock pool_best_stock(const struct inventory *inv, bool mdev, const struct inv_parent *parent);
bool pool_has_type(const struct inventory *inv, const struct section *section, bool mdev,
		   const struct inv_parent *parent, enum stock best);

/* Does this parent of its pGPU belong to the pool? */
bool pool_has_parent(const struct inv_parent *parent);

/* Does an address of the file mean the parent or pGPU of this name (also in Nova's form mtty_mtty)? */
bool pool_address_is(const char *address, const char *name);

/* Does one of the addresses of a section name it? */
bool pool_section_names(const struct section *s, const char *name);

/* Has the host no parent or pGPU of this address, of the kind that the section is for? */
bool pool_misses(const struct inventory *inv, const struct section *section, const char *address);

/* Does a section name this card, by its address, its VF's, or a match? Then it belongs in the pool, ready or not. */
bool pool_names(const struct config *config, const struct inv_pgpu *card, const char *vf);

/* Can two sections match one card? Then what it offers of both decides. */
bool pool_matches_twice(const struct config *config);

/* Does an alternative of device_match fit this card? */
bool pool_match(const struct match *match, const struct inv_pgpu *card);

/* The first alternative of a section that fits it; NULL none. */
const struct match *pool_matches(const struct section *s, const struct inv_pgpu *card);

/* The first that would fit it on another NUMA node. */
const struct match *pool_matches_elsewhere(const struct section *s, const struct inv_pgpu *card);

/* For inventory_read(), with a struct config: the types of the sections that name the card, or some of its VFs. */
const char *pool_names_type(const void *config, const struct inv_pgpu *card, size_t i);

/* The same: the [vf_NAME] sections. */
const char *pool_vf_name(const void *config, const struct inv_pgpu *card, size_t i);
