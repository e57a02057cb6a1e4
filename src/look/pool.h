/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pool combines the configuration and the host: which pGPU serves which type, and why a pGPU serves none.
 *
 * A section that names a VF gets this VF. The other VFs of a pGPU, or a pGPU without VFs, have one type, as in Nova.
 * With pgpu_types = several, they have all types that are configured for the pGPU.
 *
 * A section that names the pGPU has precedence over a section that matches it (device_match). The first section without
 * addresses and matches comes last, and gets no pGPU whose VFs are named. [vf_NAME] sections provide only plain VFs. A
 * card that contradicts the configuration is kept out of the pool, with a reason; other cards are not affected.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "look/inventory.h"

/* Sets what each card of the inventory serves. The configuration must outlive the inventory. */
void pool_make(struct inventory *inv, const struct config *config);

/* The section by which a pGPU, ready or not, serves this type; NULL none. */
const struct section *pool_serves(const struct inv_pgpu *card, const char *type);

bool pool_serves_more(const struct inv_pgpu *card);

/* The section of this parent's type, or of the first of several types; NULL none. */
const struct section *pool_section_of(const struct inv_parent *parent);

/* Is this parent configured for this type? */
bool pool_gives(const struct inv_parent *parent, const char *type);

/*
 * The readiness of the section's best card, of those with mdevs (`mdev`) or with VFs. With `parent`, only the parent's
 * card counts.
 */
enum stock { STOCK_NONE, STOCK_UNREADY, STOCK_READY };
enum stock pool_stock(const struct inventory *inv, const struct section *section, bool mdev,
		      const struct inv_parent *parent);

/*
 * Lists the sections with the best stock, then NULL. If no section has a card, lists all sections except [vf_NAME] for
 * mdevs without a `parent`, or none. The caller frees the list.
 */
const struct section **pool_types(const struct inventory *inv, bool mdev, const struct inv_parent *parent);

bool pool_has_parent(const struct inv_parent *parent);

/* Does the section list the parent or pGPU of this name? */
bool pool_section_names(const struct section *s, const char *name);

/* True if the host has no parent or pGPU of the section's kind at this address. */
bool pool_misses(const struct inventory *inv, const struct section *section, const char *address);

/* The first section that names the card, names its VF `vf`, or matches the card, ready or not; NULL none. */
const struct section *pool_names(const struct config *config, const struct inv_pgpu *card, const char *vf);

/* Do several sections have a device_match? If two sections match a card, the types that the card offers decide. */
bool pool_matches_twice(const struct config *config);

bool pool_match(const struct match *match, const struct inv_pgpu *card);

/* The first entry of the section's device_match that fits the card; NULL none. */
const struct match *pool_matches(const struct section *s, const struct inv_pgpu *card);

/* Would the section match the card without numa=NODE in device_match? If so, `why` says what to do. */
bool pool_is_elsewhere(const struct section *s, const struct inv_pgpu *card, char why[REASON_SIZE]);

/*
 * A callback of inventory_read(). Returns the type (in [vf_NAME], the name) of the n-th section of `config` (a struct
 * config, or NULL) that names or matches the card, or names one of its VFs; NULL: no more.
 */
const char *pool_name(const void *config, const struct inv_pgpu *card, size_t n);
