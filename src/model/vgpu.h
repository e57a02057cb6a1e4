/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A vGPU as it is named everywhere: what makes it, its ID, its type, where it is.
 */
#pragma once

#include "base/ident.h"

enum { UNKNOWN = -1, TYPE_NAME_SIZE = 128, REASON_SIZE = 256 };

enum framework { FW_MDEV, FW_VARIANT, FW_VF };

/* "mdev", "variant", "vf": in files and in JSON. */
extern const char *const framework_words[FW_VF + 1];
const char *framework_word(enum framework framework);

/*
 * Does a word mean the type of this name: the name, or as in NVIDIA's documents without the brand before it ("T4-1B",
 * "L40S-2Q" for "GRID T4-1B", "NVIDIA L40S-2Q")?
 */
bool type_is_named(const char *name, const char *word);

/*
 * Does a vGPU's device exist? What could not be seen is neither: nothing is dropped, removed, or created in its place
 * on PRESENCE_UNKNOWN. As a truth value: it may exist.
 */
enum presence { ABSENT, PRESENT, PRESENCE_UNKNOWN };

/* One vGPU. What is not known is "". */
struct vgpu_ref {
	enum framework framework;
	char id[ID_SIZE];         /* an mdev's UUID, a VF's address */
	char type[TYPE_SIZE];     /* of a device: "" while the kernel has not said it yet, or on its way out */
	char parent[PARENT_SIZE]; /* the mdev's parent; of a VF itself */
	char pgpu[PARENT_SIZE];   /* the physical GPU; the parent's own name where that is not registered (any more) */
};
