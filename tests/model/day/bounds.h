/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What could be served at most: all cards of all hosts as one pool, in which each card has one framebuffer size at a
 * time. Nothing of the program's own is used.
 */
#pragma once

#include <stdbool.h>

/*
 * NO_MOVES: the fullest card of the size, else the smallest empty one, on whatever host, and no vGPU ever moves.
 * REPACKING: first come, first served; everything moves whenever that makes capacity.
 */
enum bound { NO_MOVES, REPACKING, BOUNDS };

struct bounds_pool {
	enum bound bound;
	struct bounds_card {
		int gib, most; /* its framebuffer; so many vGPUs of any size */
		int size, used;
	} cards[32];
	int ncards;
	int sizes[48 + 1]; /* how many of each size, in GiB, are served */
};

/* Adds the cards of a host. */
void bounds_add(struct bounds_pool *pool, const char *model);

/* A domain arrives with one vGPU of that size: its card, or -1 where it is refused. It leaves. */
int bounds_arrive(struct bounds_pool *pool, int size);
void bounds_leave(struct bounds_pool *pool, int card, int size);
