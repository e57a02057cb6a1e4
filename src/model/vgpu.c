/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of a vGPU. */
#include "model/vgpu.h"

const char *const framework_words[FW_VF + 1] = { "mdev", "variant", "vf" };

const char *framework_word(enum framework framework)
{
	return framework_words[framework];
}
