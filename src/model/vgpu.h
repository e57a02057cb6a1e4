/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The data that identifies a vGPU: framework, ID, type and location. */
#pragma once

#include "base/ident.h"

enum { UNKNOWN = -1, TYPE_NAME_SIZE = 128, REASON_SIZE = 256 };

enum framework { FW_MDEV, FW_VARIANT, FW_VF };

/* "mdev", "variant", "vf": the words in files and in JSON. */
extern const char *const framework_words[FW_VF + 1];
const char *framework_word(enum framework framework);

/*
 * Does `word` mean the type with this name? It is either the name, or the name without its brand, as NVIDIA's documents
 * have it: "T4-1B" for "GRID T4-1B", "L40S-2Q" for "NVIDIA L40S-2Q".
 */
bool type_is_named(const char *name, const char *word);

/*
 * Does a vGPU's device exist? PRESENCE_UNKNOWN: that could not be checked, so nothing is dropped, removed or created in
 * its place. As a boolean: the device may exist.
 */
enum presence { ABSENT, PRESENT, PRESENCE_UNKNOWN };

/* One vGPU. "" stands for an unknown value. */
struct vgpu_ref {
	enum framework framework;
	char id[ID_SIZE];         /* UUID of an mdev, address of a VF */
	char type[TYPE_SIZE];     /* "" also for a device that is being created or removed and has no type in sysfs */
	char parent[PARENT_SIZE]; /* parent of an mdev; for a VF, its own address */
	char pgpu[PARENT_SIZE];   /* the physical GPU, or the parent's name if the parent is not registered */
};
