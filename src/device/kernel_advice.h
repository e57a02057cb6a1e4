/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an errno of a write to sysfs means, and what to do about it. Pure: a table.
 *
 * Facts: kernel 5.10 and 6.12 (drivers/vfio/mdev), the vendor drivers' sources. Drivers say "full" with different
 * errnos.
 */
#pragma once

#include <stdbool.h>

enum kernel_step { KERNEL_CREATE, KERNEL_REMOVE, KERNEL_PARAMS };

/* Whose word it is: NVIDIA's driver for mdevs, for VFs (the variant driver), or another's. */
enum kernel_driver { DRIVER_OTHER, DRIVER_NVIDIA_MDEV, DRIVER_NVIDIA_VF };

/* Is it a type of NVIDIA's driver? The kernel puts the driver's name before each type's id. */
bool kernel_type_is_nvidia(const char *type);

/* Cause and cure, to stand behind what the kernel said; "" where there is nothing to add. `code` is positive. */
const char *kernel_advice(enum kernel_step step, enum kernel_driver driver, int code);
