/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operator's knobs: the files in the directory control. Each takes lines of words; reading it shows the settings.
 *
 *   create_delay_ms   [CARD] MS             time that the driver takes to create an mdev
 *   remove_delay_ms   [CARD] MS             time that the driver takes to remove an mdev
 *   attr_delay_ms     [CARD] MS             delay of mdev_type, iommu_group and driver after the write has returned
 *   driver_removes    [CARD] MS [zombie]    NVIDIA: the driver removes an mdev itself, this long after its last close;
 *                     [CARD] off            with zombie, removing an mdev earlier loses its instance
 *   inject            create|remove|params WHERE ERRNO [COUNT]   the next COUNT (1) operations on a parent, on a
 *                     clear                 CARD or on "any" fail with this errno
 *   hang              ATTRIBUTE WHERE       reads of this attribute on a parent, a CARD or "any" block, even if their
 *                     clear                 process is killed, until "clear" is written
 *   register          PARENT|CARD on|off    the driver registers or unregisters parents with mdev
 *   params_delay_ms   [CARD] MS             time that the driver takes for a write to vgpu_params
 *   plugin_delay_ms   [CARD] MS             time for which NVIDIA's vgpu-mgr keeps a device after its close
 *   vfs               CARD on|off           enables or disables VFs
 *   mixed             CARD on|off           mixed-size mode: vGPUs of different sizes on one card
 *   mig               CARD on|off, CARD PROFILE, CARD ID off   MIG mode, and its GPU instances
 *   bind              VF|CARD DRIVER|none   binds a plain VF to a driver
 *   iommu             VF|CARD DEVICE|none   moves a VF to DEVICE's IOMMU group, as behind a bridge without ACS
 *   log               clear                 shows every attempt: MS WHAT PARENT TYPE UUID RESULT
 *   pending                                 shows operations in progress: WHAT PARENT TYPE UUID PID (the writer's)
 *   pid                                     shows the process that serves this host
 *
 * An invalid line is EINVAL, an unknown card or parent ENODEV; earlier lines have taken effect.
 */
#pragma once

#include <stdio.h>

#include "sim/kernel.h"

/* Adds the files. Call it before the tree is settled. */
void sim_control_build(struct sim_kernel *kernel);

/* Executes one line as a write to the file does, and modifies `line`. Returns 0 or a negative errno. */
int sim_control_line(struct sim_kernel *kernel, const char *file, char *line);

/* Prints the files' part of --help. */
void sim_control_help(FILE *out);
