/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The VFs of a card: enabled and disabled, by sriov-manage or by a write to sriov_numvfs.
 */
#pragma once

#include "sim/kernel.h"

/* Makes the files sriov_* of a PF, and all its VFs. */
void sim_sriov_build(struct sim_gpu *gpu);

/*
 * Enables all VFs of a card, or disables them, as NVIDIA's sriov-manage does; with either go its GPU instances and the
 * mode for mixed sizes. -EBUSY where a VF has a vGPU or is open, or VFs are being disabled.
 */
int sim_sriov_switch(struct sim_gpu *gpu, bool on);

/* A VF of this card was closed: who waits to disable it goes on. The VF may be gone then. */
void sim_sriov_closed(struct sim_gpu *gpu);
