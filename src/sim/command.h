/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operator's commands on cards, like sriov-manage and nvidia-smi. Each function executes a line of words, and its
 * _show function prints the state. control.h lists the errors.
 */
#pragma once

#include <stdio.h>

#include "sim/kernel.h"

enum { SIM_WORDS_MAX = 4 };

struct sim_words {
	int n;
	char *at[SIM_WORDS_MAX];
};

int sim_command_register(struct sim_kernel *kernel, struct sim_words *words);
int sim_command_register_show(const struct sim_node *node, FILE *out);
int sim_command_vfs(struct sim_kernel *kernel, struct sim_words *words);
int sim_command_vfs_show(const struct sim_node *node, FILE *out);
int sim_command_mixed(struct sim_kernel *kernel, struct sim_words *words);
int sim_command_mixed_show(const struct sim_node *node, FILE *out);
int sim_command_mig(struct sim_kernel *kernel, struct sim_words *words);
int sim_command_mig_show(const struct sim_node *node, FILE *out);
int sim_command_bind(struct sim_kernel *kernel, struct sim_words *words);
int sim_command_bind_show(const struct sim_node *node, FILE *out);
int sim_command_iommu(struct sim_kernel *kernel, struct sim_words *words);
int sim_command_iommu_show(const struct sim_node *node, FILE *out);
