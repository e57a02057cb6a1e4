/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A card's VFs, enabled and disabled by sriov-manage or by a write to sriov_numvfs. */
#pragma once

#include "sim/kernel.h"

/* Adds the files sriov_* and all VFs of a PF. */
void sim_sriov_build(struct sim_gpu *gpu);

/*
 * Enables or disables all VFs of a card, as NVIDIA's sriov-manage does. Both reset GPU instances and mixed-size mode.
 * -EBUSY: a VF has a vGPU or is open, or VFs are being disabled.
 */
int sim_sriov_switch(struct sim_gpu *gpu, bool on);

/* Reports that a VF was closed. Continues a disabling of VFs that waits for this close. */
void sim_sriov_closed(struct sim_gpu *gpu);
