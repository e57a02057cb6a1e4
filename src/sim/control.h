/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files in the directory control, by which the operator changes the simulation. Each file accepts lines of words,
 * and reading it shows the settings.
 *
 *   create_delay_ms   [CARD] MS             time that the driver takes to create an mdev
 *   remove_delay_ms   [CARD] MS             time that the driver takes to remove an mdev
 *   attr_delay_ms     [CARD] MS             delay of mdev_type, iommu_group and driver after the write has returned
 *   driver_removes    [CARD] MS [zombie]    NVIDIA: the driver removes an mdev itself, this long after its last close;
 *                     [CARD] off            with zombie, removing an mdev earlier loses its instance
 *   inject            create|remove|params WHERE ERRNO [COUNT]   the next COUNT (1) operations on a parent, on a
 *                     clear                 CARD or on "any" fail with this errno
 *   hang              ATTRIBUTE WHERE       reads of this attribute on a parent, a CARD or "any" block until "clear"
 *                     clear                 is written, even if the reading process is killed
 *   register          PARENT|CARD on|off    the driver registers or unregisters parents with mdev
 *   params_delay_ms   [CARD] MS             time that the driver takes for a write to vgpu_params
 *   plugin_delay_ms   [CARD] MS             time for which NVIDIA's vgpu-mgr keeps a device after its close
 *   vfs               CARD on|off           enables or disables VFs
 *   mixed             CARD on|off           mixed-size mode: vGPUs of different sizes on one card
 *   mig               CARD on|off, CARD PROFILE, CARD ID off   MIG mode, and its GPU instances
 *   bind              VF|CARD DRIVER|none   binds a plain VF to a driver
 *   iommu             VF|CARD DEVICE|none   moves a VF to DEVICE's IOMMU group, as behind a bridge without ACS
 *   log               clear                 shows every attempt: MS WHAT PARENT TYPE UUID RESULT
 *   pending                                 shows operations in progress: WHAT PARENT TYPE UUID PID (of the writer)
 *   pid                                     shows the process that serves this host
 *
 * An invalid line fails with EINVAL, and an unknown card or parent with ENODEV. Lines before the failed line take
 * effect.
 */
#pragma once

#include <stdio.h>

#include "sim/kernel.h"

/* Adds the files. Call this before sim_tree_settle(). */
void sim_control_build(struct sim_kernel *kernel);

/* Executes one line, as a write to the file does. Modifies `line`. Returns 0 or a negative errno. */
int sim_control_line(struct sim_kernel *kernel, const char *file, char *line);

/* Prints the files' part of --help. */
void sim_control_help(FILE *out);
