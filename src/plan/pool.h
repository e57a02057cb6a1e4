/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pool combines the configuration and the host: which pGPU serves which type, and why a pGPU serves none.
 *
 * Pure: no I/O. A section with the address of a VF gets that VF. All other VFs of a pGPU, and a pGPU without VFs, have
 * one type, as in Nova, or with pgpu_types = several all types that are configured for the pGPU. Sections with the
 * pGPU's address take precedence over sections that match it, and these over the first section with neither, which gets
 * no pGPU with named VFs. A card that differs from the configuration is not in the pool now, with a reason; it never
 * changes what other cards serve. Only [vf_NAME] sections provide plain VFs; all other sections provide everything
 * else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "host/inventory.h"

/* Sets what each card of the inventory serves. The configuration must outlive the inventory. */
void pool_make(struct inventory *inv, const struct config *config);

/* The section by which a pGPU serves this type, whether the pGPU is ready or not; NULL: it does not serve the type. */
const struct section *pool_serves(const struct inv_pgpu *card, const char *type);

/* Can the pGPU serve more than one type? */
bool pool_serves_more(const struct inv_pgpu *card);

/* The type of this parent, or the first of several; NULL none. */
const struct section *pool_section_of(const struct inv_parent *parent);

/* Does this parent provide this type, according to the configuration? */
bool pool_gives(const struct inv_parent *parent, const char *type);

/* How ready the pool's cards are for a section's type: cards with mdevs or with VFs, on `parent` or (NULL) on any. */
enum stock { STOCK_NONE, STOCK_UNREADY, STOCK_READY };
enum stock pool_stock(const struct inventory *inv, const struct section *section, bool mdev,
		      const struct inv_parent *parent);

/*
 * Counts the enabled types whose cards are readiest, and sets *first to the first of them, or NULL. If no type has a
 * card and `parent` is NULL, counts all types that an mdev can have.
 */
size_t pool_types(const struct inventory *inv, bool mdev, const struct inv_parent *parent,
		  const struct section **first);

/* Returns how ready the readiest types are. pool_has_type(): does pool_types() count this section, given `best`? */
enum stock pool_best_stock(const struct inventory *inv, bool mdev, const struct inv_parent *parent);
bool pool_has_type(const struct inventory *inv, const struct section *section, bool mdev,
		   const struct inv_parent *parent, enum stock best);

/* Is this parent in the pool? */
bool pool_has_parent(const struct inv_parent *parent);

/* Does an address in the configuration mean the parent or pGPU of this name? Nova's form mtty_mtty is accepted. */
bool pool_address_is(const char *address, const char *name);

/* Does one of the section's addresses mean this name? */
bool pool_section_names(const struct section *s, const char *name);

/* Is there no parent or pGPU with this address on the host, of the kind that the section is for? */
bool pool_misses(const struct inventory *inv, const struct section *section, const char *address);

/* Does a section name this card by its address or its VF's, or match it? Then it belongs in the pool, ready or not. */
bool pool_names(const struct config *config, const struct inv_pgpu *card, const char *vf);

/* Can two sections match one card? Then the card's offers decide. */
bool pool_matches_twice(const struct config *config);

/* Does an alternative of device_match fit this card? */
bool pool_match(const struct match *match, const struct inv_pgpu *card);

/* The first alternative of a section that fits the card; NULL none. */
const struct match *pool_matches(const struct section *s, const struct inv_pgpu *card);

/* The first alternative that would fit the card on another NUMA node; NULL none. */
const struct match *pool_matches_elsewhere(const struct section *s, const struct inv_pgpu *card);

/* For inventory_read(), with a struct config: the i-th type whose section names or matches the card, or names a VF. */
const char *pool_names_type(const void *config, const struct inv_pgpu *card, size_t i);

/* Likewise for the [vf_NAME] sections. */
const char *pool_vf_name(const void *config, const struct inv_pgpu *card, size_t i);
