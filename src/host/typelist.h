/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The types of NVIDIA's variant driver: a VF's list of them, what a name says, and what is remembered of a card's
 * model.
 *
 * A VF lists the types that fit now: numbers and names, no more. A card that carries a vGPU of one size no longer lists
 * the others, and a full card lists none. So what numbers mean is remembered, for each board and version of the driver:
 * var/lib/vgpu-lease/types/VENDOR:DEVICE:SUBSYSTEM@DRIVER, in the driver's own form behind one line of ours.
 *
 * Facts (captures of L40S, H200, RTX PRO 6000): "1145  : NVIDIA L40S-1B" a line, under a header that can be missing;
 * numbers can have six digits; names have blanks and dashes, and end in [-SLICES]-SIZE SERIES: "A100-1-5CME" is one
 * slice of a card with 5 GB, "M60-0B" has 512 MiB.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sys/sys.h"

enum {
	TYPELIST_TEXT_MAX = 64 << 10, /* bytes of a list */
	TYPELIST_MAX = 512,           /* types of a model */
	TYPELIST_NAME_SIZE = 128,
	TYPELIST_KEY_SIZE = 96,
};

struct typelist_item {
	int number;                    /* of "nvidia-1145" */
	char name[TYPELIST_NAME_SIZE]; /* printable */
};

struct typelist {
	struct typelist_item *items; /* in the order of the list; each number once */
	size_t n;
	bool whole; /* seen on an empty card that was not in MIG mode: no type of the model is missing */
};

/* The number of a type's id, "nvidia-1145"; false where it is none. */
bool typelist_number(const char *type, int *number);

/* Adds what the text lists, which it takes apart; lines that are no "NUMBER : NAME" are passed over. */
void typelist_parse(struct typelist *list, char *text);

/* Adds one, or gives the one that is there this name. */
void typelist_add(struct typelist *list, int number, const char *name);
const struct typelist_item *typelist_find(const struct typelist *list, int number);
void typelist_free(struct typelist *list);

/* What the end of a name says: MiB of framebuffer, or -1; *slices: of a MIG-backed type, else 0. */
int typelist_framebuffer(const char *name, int *slices);

/* The name of a record: "10de:26b9:10de:1851@550.90.05"; "" where one of its parts cannot be in a name. */
void typelist_key(char key[TYPELIST_KEY_SIZE], const char *vendor, const char *device, const char *subsystem,
		  const char *driver);

/* Adds what is remembered of a model; nothing where there is nothing that can be trusted. */
void typelist_recall(struct typelist *list, const struct host *host, const char *key);

/* Which other version of the driver had this type on this board? False: none, as far as is remembered. */
bool typelist_other_driver(char other[64], const struct host *host, const char *vendor, const char *device,
			   const char *subsystem, const char *driver, int number);

/* The text to remember, NUL-terminated; the caller frees it. */
char *typelist_format(const struct typelist *list);
