/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What can be removed to make capacity: orphans, and leased devices whose domain is gone or whose release is pending.
 * A plan that finds no capacity needs these marks, and so does the text of its refusal.
 */
#pragma once

#include "look/world.h"

/*
 * Marks in a wide `world` what can be removed; for the text of a refusal, also what 'retype' could remove: it ignores
 * reclaim and reclaim_grace. Under the store's lock, records when each orphan was first seen free.
 */
void reclaimable_mark(struct world *world);

/* After survey_see(): makes the world wide, and marks it. */
int reclaimable_look(struct world *world, struct err *err);
