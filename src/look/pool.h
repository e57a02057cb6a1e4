/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pool combines the configuration and the host: which pGPU serves which type, and why a pGPU serves none.
 *
 * A VF belongs to the section that names its address. All other VFs of a pGPU, or a pGPU without VFs, have one type, as
 * in Nova. With pgpu_types = several, they have all types that are configured for the pGPU.
 *
 * A section that names a pGPU has precedence over a section that matches it (device_match). The first section without
 * addresses and matches (with pgpu_types = several, each one) gets the other pGPUs, except a pGPU whose VFs are named.
 * [vf_NAME] sections are only for plain VFs. A card that contradicts the configuration is not in the pool.
 */
#pragma once

#include <stdbool.h>

#include "config/config.h"
#include "look/inventory.h"

/* Sets what each card of the inventory serves, for inventory_read(). The configuration must outlive the inventory. */
void pool_make(struct inventory *inv, const struct config *config);

/* The section by which the pGPU serves this type, even if the pGPU is not ready; NULL: none. */
const struct section *pool_serves(const struct inv_pgpu *card, const char *type);

bool pool_serves_more(const struct inv_pgpu *card);

/* The section that names this parent or, without one, the section of its whole card; NULL: none. */
const struct section *pool_section_of(const struct inv_parent *parent);

bool pool_gives(const struct inv_parent *parent, const char *type);

/* How ready is the section's best card? Considers mdev cards (`mdev`) or others, and only `parent`'s card if set. */
enum stock { STOCK_NONE, STOCK_UNREADY, STOCK_READY };
enum stock pool_stock(const struct inventory *inv, const struct section *section, bool mdev,
		      const struct inv_parent *parent);

/*
 * Lists the sections with the best stock, NULL-terminated; the caller frees the list. If no section has a card, the
 * list is empty. But for mdevs without a `parent`, it then has all sections except [vf_NAME] sections.
 */
const struct section **pool_types(const struct inventory *inv, bool mdev, const struct inv_parent *parent);

bool pool_has_parent(const struct inv_parent *parent);

bool pool_section_names(const struct section *s, const char *name);

/* The first section that names the card, names its VF `vf`, or matches the card; NULL: none. */
const struct section *pool_names(const struct config *config, const struct inv_pgpu *card, const char *vf);

/* Is an NVIDIA type configured? `rest`: in a section without addresses and matches. */
bool pool_enables_nvidia(const struct config *config, bool rest);

bool pool_match(const struct match *match, const struct inv_pgpu *card);

/* The first device_match of the section that fits the card; NULL: none. */
const struct match *pool_matches(const struct section *s, const struct inv_pgpu *card);

/* The first address of the section that names the card or one of its VFs, or the match that fits it; NULL: none. */
const struct location *pool_means(const struct section *s, const struct inv_pgpu *card);

/* Did the section first use the address for another device than the present card? Sets the reason, with the fix. */
bool pool_moved(const struct section *s, const struct inv_pgpu *card, char reason[REASON_SIZE]);

/* Is numa=NODE in device_match the only reason why the section does not match the card? Sets `why`, with the fix. */
bool pool_is_elsewhere(const struct section *s, const struct inv_pgpu *card, char why[REASON_SIZE]);
