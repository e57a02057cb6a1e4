/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operator's knobs: the files of the directory control. Each takes lines of words; reading one tells what is set.
 *
 *   create_delay_ms   [CARD] MS             how long the driver takes to create an mdev
 *   remove_delay_ms   [CARD] MS             likewise to remove one
 *   attr_delay_ms     [CARD] MS             mdev_type, iommu_group and driver appear so long after the write returned
 *   driver_removes    [CARD] MS [zombie]    NVIDIA: so long after the last close the driver removes the mdev by itself;
 *                     [CARD] off            with zombie, the instance of one that was removed before that is lost
 *   inject            create|remove|params WHERE ERRNO [COUNT]   the next COUNT (1) of these on a parent, on a CARD
 *                     clear                 or on "any" fail with this errno
 *   hang              ATTRIBUTE WHERE       reads of this attribute on a parent, a CARD or "any" do not return, not even
 *                     clear                 where their process is killed, until this
 *   register          PARENT|CARD on|off    the driver registers parents with mdev, or takes them back
 *   params_delay_ms   [CARD] MS             how long the driver takes for a write to vgpu_params
 *   plugin_delay_ms   [CARD] MS             NVIDIA's vgpu-mgr holds on to a device so long after it was closed
 *   vfs               CARD on|off           VFs are enabled or not
 *   mixed             CARD on|off           vGPUs of different sizes side by side
 *   mig               CARD on|off, CARD PROFILE, CARD ID off   MIG mode, and its GPU instances
 *   bind              VF|CARD DRIVER|none   the driver that has a plain VF
 *   iommu             VF|CARD DEVICE|none   in whose IOMMU group a VF is: as behind a bridge without ACS
 *   log               clear                 reading it: every attempt, MS WHAT PARENT TYPE UUID RESULT
 *   pending                                 reading it: what is under way, WHAT PARENT TYPE UUID PID (the writer's)
 *   pid                                     reading it: the process that serves this host
 *
 * A line that cannot be understood is EINVAL, a card or parent that is not there ENODEV; the lines before it were done.
 */
#pragma once

#include <stdio.h>

#include "sim/kernel.h"

/* Puts the files in place; to be called before the tree is settled. */
void sim_control_build(struct sim_kernel *kernel);

/* Does one line, which is taken apart; 0 or a negative errno. Here for tests: a write to the file does the same. */
int sim_control_line(struct sim_kernel *kernel, const char *file, char *line);

/* Prints what the files are for, as --help shows it. */
void sim_control_help(FILE *out);
