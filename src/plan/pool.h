/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pool combines the configuration and the host: which pGPU serves which type, and why a pGPU serves none.
 *
 * A section that names a VF gets that VF. A pGPU's other VFs, or a pGPU without VFs, have one type, as in
 * Nova; with pgpu_types = several they have all types that are configured for the pGPU. Sections that name the pGPU
 * take precedence over sections that match it, and both over the first section without addresses and matches, which
 * gets no pGPU whose VFs are named. A card that contradicts the configuration is kept out of the pool, with a reason,
 * but never changes what other cards serve. [vf_NAME] sections provide plain VFs and nothing else.
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

bool pool_serves_more(const struct inv_pgpu *card);

/* The section of this parent's type, or of the first of several types; NULL none. */
const struct section *pool_section_of(const struct inv_parent *parent);

/* Does this parent provide this type, according to the configuration? */
bool pool_gives(const struct inv_parent *parent, const char *type);

/* The readiness of the section's readiest card with mdevs (`mdev`) or VFs; with `parent`, only of the parent's card. */
enum stock { STOCK_NONE, STOCK_UNREADY, STOCK_READY };
enum stock pool_stock(const struct inventory *inv, const struct section *section, bool mdev,
		      const struct inv_parent *parent);

/*
 * Lists the sections of the enabled types whose cards are readiest, then NULL. If no type has a card, lists all mdev
 * types if `mdev` is true and `parent` NULL, else none. The caller frees the list.
 */
const struct section **pool_types(const struct inventory *inv, bool mdev, const struct inv_parent *parent);

bool pool_has_parent(const struct inv_parent *parent);

/* Does the section list the parent or pGPU of this name? */
bool pool_section_names(const struct section *s, const char *name);

/* True if the host has no parent or pGPU of the section's kind at this address. */
bool pool_misses(const struct inventory *inv, const struct section *section, const char *address);

/* The first section that names the card or its VF `vf`, or matches the card, even if it is not ready; NULL none. */
const struct section *pool_names(const struct config *config, const struct inv_pgpu *card, const char *vf);

/* True if several sections have a device_match. If two match a card, the types that it offers decide. */
bool pool_matches_twice(const struct config *config);

/* Does this entry of device_match fit the card? */
bool pool_match(const struct match *match, const struct inv_pgpu *card);

/* The first entry of the section's device_match that fits the card; NULL none. */
const struct match *pool_matches(const struct section *s, const struct inv_pgpu *card);

/* True if only numa=NODE of device_match keeps the card from the section. `why` says what to do. */
bool pool_is_elsewhere(const struct section *s, const struct inv_pgpu *card, char why[REASON_SIZE]);

/*
 * For inventory_read(): the type of the n-th section of `config` (a struct config, or NULL) that names or matches the
 * card, or names a VF of it; for a card with plain VFs the name of the n-th such [vf_NAME] section. NULL: no more.
 */
const char *pool_name(const void *config, const struct inv_pgpu *card, size_t n);
