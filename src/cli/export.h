/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What OpenStack is given of this host: texts of Nova's own formats.
 */
#pragma once

#include <stdio.h>

#include "cli/cmd.h"
#include "plan/nova_inventory.h"

enum { EXPORT_HOST_SIZE = 256, PROVIDER_SIZE = EXPORT_HOST_SIZE + NOVA_DEVICE_SIZE };

/* What is exported, and the name that Nova has for this host: of plain ASCII without blanks. */
struct export
{
	const struct world *world;
	const struct nova_inventory *nova;
	const char *host;
};

/* The provider's name in Placement. */
const char *export_provider(char buf[PROVIDER_SIZE], const struct export *export, const struct nova_provider *provider);

/*
 * A provider configuration file for nova-compute: traits for each provider that Nova creates itself, and may have
 * created: one that is full has gone from Placement if its parent is a VF.
 */
void export_provider_config(FILE *to, const struct export *export);

/* The lines of [pci] for the VFs of the pool: as many of each card as it has capacity for. */
void export_pci(FILE *to, const struct export *export);

/* The table of `export placement`, or its JSON. */
extern const struct table_layout export_placement_layout;
void export_placement(const struct cmd *cmd, const struct export *export);
