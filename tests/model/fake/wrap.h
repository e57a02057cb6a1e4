/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between the two halves of the fake: the kernel's doings, for what the program calls. */
#pragma once

#include "model/fake/kernel.h"

#define FAKE_VFIO "511" /* the major number of the groups' devices */

extern int fake_root; /* the descriptor of the host's root */

/* Makes a device; `half`: the driver stops in the middle of it. */
int fake_make(const char *parent, const char *type, const char *uuid, bool half, struct fake_device **out);
/* Is there such a device, or is one being made? The kernel takes the UUID before it asks the driver. */
bool fake_taken(const char *uuid);
void fake_unmake(struct fake_device *device);
