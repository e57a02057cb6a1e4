/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an errno of a write to sysfs means, and what to do about it. A pure table.
 *
 * Sources: kernel 5.10 and 6.12 (drivers/vfio/mdev), and the vendor drivers, whose errnos for a full pGPU differ.
 */
#pragma once

#include <stdbool.h>

enum kernel_step { KERNEL_CREATE, KERNEL_REMOVE, KERNEL_PARAMS };

/* The driver that returned the errno: NVIDIA's for mdevs, NVIDIA's for VFs (the variant driver), or another. */
enum kernel_driver { DRIVER_OTHER, DRIVER_NVIDIA_MDEV, DRIVER_NVIDIA_VF };

/* Is it a type of NVIDIA's driver? The kernel puts the driver's name before each type's ID. */
bool kernel_type_is_nvidia(const char *type);

/* The cause and the fix, to follow the kernel's error; "" if there is nothing to add. `code` is positive. */
const char *kernel_advice(enum kernel_step step, enum kernel_driver driver, int code);
