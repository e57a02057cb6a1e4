/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The types of NVIDIA's variant driver: a VF's list of types, the meaning of names, and the records per card model.
 *
 * A VF lists only the types that fit now, as numbers and names. A card that carries a vGPU of one size no longer lists
 * other sizes, and a full card lists nothing. So the name of each number is recorded per board and driver version in
 * var/lib/vgpu-lease/types/VENDOR:DEVICE:SUBSYSTEM@DRIVER: one line of ours, then the driver's own format.
 *
 * Sources (captures of L40S, H200, RTX PRO 6000): lines such as "1145  : NVIDIA L40S-1B", under a header that can be
 * missing; numbers can have six digits; names contain blanks and dashes, and end in [-SLICES]-SIZE and a series:
 * "A100-1-5CME" is one slice of an A100, with 5 GB; "M60-0B" has 512 MiB.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/ident.h"
#include "sys/sys.h"

enum {
	TYPELIST_TEXT_MAX = 64 << 10, /* bytes of a list */
	TYPELIST_MAX = 512,           /* types of a model */
	TYPELIST_NAME_SIZE = 128,
	TYPELIST_KEY_SIZE = 96,
};

struct typelist_item {
	char type[TYPE_SIZE]; /* the ID: "nvidia-" and the driver's number */
	char name[TYPELIST_NAME_SIZE];
};

struct typelist {
	struct typelist_item *items; /* in the order of the list; each type once */
	size_t n;
	bool whole; /* an empty card out of MIG mode has listed its types, so only MIG-backed types can be missing */
};

/* The driver's number of a type, "1145" of "nvidia-1145"; NULL: it is not a type of NVIDIA's driver. */
const char *typelist_number(const char *type);

/* Adds the listed types. Modifies the text; skips lines that are not "NUMBER : NAME". */
void typelist_parse(struct typelist *list, char *text);

/* Adds a type, or renames it. */
void typelist_add(struct typelist *list, const char *type, const char *name);
const struct typelist_item *typelist_find(const struct typelist *list, const char *type);
void typelist_free(struct typelist *list);

/* The framebuffer in MiB that the type's name states, or -1; *slices: the slices of a MIG-backed type, else 0. */
int typelist_framebuffer(const char *name, int *slices);

/* The file name of a record: "10de:26b9:10de:1851@550.90.05"; "" if a part is not valid in a file name. */
void typelist_key(char key[TYPELIST_KEY_SIZE], const char *vendor, const char *device, const char *subsystem,
		  const char *driver);

/* Adds the recorded types of a model; nothing if there is no valid record. */
void typelist_recall(struct typelist *list, const struct host *host, const char *key);

/*
 * Finds a recorded driver version, other than the key's, that had this type on the key's board, and the type's name
 * there; false: none.
 */
bool typelist_other_driver(char other[64], char name[TYPELIST_NAME_SIZE], const struct host *host, const char *key,
			   const char *type);

/* The text of a record, NUL-terminated; the caller frees it. */
char *typelist_format(const struct typelist *list);
