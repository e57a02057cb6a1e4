/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The types of NVIDIA's variant driver: the list of a VF, the meaning of names, and the records of card models.
 *
 * A VF lists only the types that fit now, as numbers and names. A card with a vGPU of one size lists no other sizes,
 * and a full card lists nothing. So the types of a board are recorded for each driver version in
 * var/lib/vgpu-lease/types/VENDOR:DEVICE:SUBSYSTEM@DRIVER: one line of ours, then lines in the driver's format.
 *
 * Sources: captures of L40S, H200 and RTX PRO 6000. A line is "1145  : NVIDIA L40S-1B". The header above the lines can
 * be missing. A number can have six digits. A name contains blanks and dashes, and ends in [-SLICES]-SIZE and a series:
 * "A100-1-5CME" is one slice of an A100 with 5 GB, and "M60-0B" has 512 MiB.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/ident.h"
#include "model/vgpu.h"
#include "sys/sys.h"

enum {
	TYPELIST_TEXT_MAX = 64 << 10,
	TYPELIST_MAX = 512, /* most types of a model */
	TYPELIST_KEY_SIZE = 96,
};

struct typelist_item {
	char type[TYPE_SIZE]; /* the ID: "nvidia-" and the driver's number */
	char name[TYPE_NAME_SIZE];
};

struct typelist {
	struct typelist_item *items; /* each type once; the caller frees them */
	size_t n;
	bool whole; /* complete, except perhaps for MIG-backed types */
};

/* The driver's number of a type: "1145" for "nvidia-1145". NULL: not a type of NVIDIA's driver. */
const char *typelist_number(const char *type);

/* Modifies the text; skips lines that are not "NUMBER : NAME". */
void typelist_parse(struct typelist *list, char *text);

/* Order for mem_sort(): type IDs, or structs that begin with one. nvidia-9 comes before nvidia-10. */
int typelist_order(const void *a, const void *b);

/* Adds a type, or renames it. Ignores types beyond TYPELIST_MAX. */
void typelist_add(struct typelist *list, const char *type, const char *name);
const struct typelist_item *typelist_find(const struct typelist *list, const char *type);

/* Reads the framebuffer in MiB from a type's name; -1: not stated. *slices: GPU slices; 0: not MIG-backed. */
int typelist_framebuffer(const char *name, int *slices);

/* Makes the file name of a record, "10de:26b9:10de:1851@550.90.05". Other characters become '_'. */
void typelist_key(char key[TYPELIST_KEY_SIZE], const char *vendor, const char *device, const char *subsystem,
		  const char *driver);

/* Adds the recorded types of a model, if there is a valid record. */
void typelist_recall(struct typelist *list, const struct host *host, const char *key);

/*
 * Finds the type in the record of another driver version on the key's board, and sets `other` to that version. NULL:
 * none. Leaves the lists that it reads to the arena.
 */
const struct typelist_item *typelist_other_driver(char other[64], const struct host *host, const char *key,
						  const char *type);

/* Sorts the list, and returns the text of its record, which the caller frees. */
char *typelist_format(struct typelist *list);
