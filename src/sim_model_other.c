/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All but NVIDIA's: Intel's cards and the kernel's sample drivers. */
#include "sim_model.h"

#include <stddef.h>

static const struct sim_profile mtty[] = {
	{ .id = 1, .name = "Single port serial", .size = 1 },
	{ .id = 2, .name = "Dual port serial", .size = 2 },
	{ 0 },
};

static const struct sim_profile mdpy[] = {
	{ .id = 1, .name = "mdpy-vga", .description = "virtual display, 640x480 framebuffer", .size = 1 },
	{ .id = 2, .name = "mdpy-xga", .description = "virtual display, 1024x768 framebuffer", .size = 1 },
	{ .id = 3, .name = "mdpy-hd", .description = "virtual display, 1920x1080 framebuffer", .size = 1 },
	{ 0 },
};

/* clang-format off: rows of a table */
#define G(number, type, resolution, weight, low_gm, high_gm, fences)                                                   \
	{ .id = (number),                                                                                              \
	  .name = (type),                                                                                              \
	  .description = (resolution),                                                                                 \
	  .size = (weight),                                                                                            \
	  .low = (low_gm),                                                                                             \
	  .high = (high_gm),                                                                                           \
	  .fence = (fences) }

static const struct sim_profile gvt[] = {
	G(1, "GVTg_V5_1", "1920x1200", 16, 512, 2048, 4),
	G(2, "GVTg_V5_2", "1920x1200", 8, 256, 1024, 4),
	G(3, "GVTg_V5_4", "1920x1200", 4, 128, 512, 4),
	G(4, "GVTg_V5_8", "1024x768", 2, 64, 384, 4),
	{ 0 },
};

#undef G
/* clang-format on */

/* Plain VFs have no types. */
static const struct sim_profile none[] = { { 0 } };

/* clang-format off: rows of a table */
const struct sim_model sim_models_other[] = {
	{ .name = "gvt-g",
	  .says = "Intel GVT-g at 0000:00:02.0: types without names that share one aperture",
	  .family = SIM_GVT,
	  .driver = "i915",
	  .vgpu_driver = "intel_vgpu_mdev",
	  .board = "",
	  .address = "0000:00:02.0",
	  .vendor = 0x8086,
	  .device = 0x5917,
	  .subdevice = 0x2245,
	  .class = 0x030000,
	  .cards_max = 1,
	  .profiles = gvt },
	{ .name = "flex",
	  .says = "Intel Flex 170: 31 plain VFs, bound to vfio-pci, at 0000:4d:00.0",
	  .family = SIM_PLAIN,
	  .framework = SIM_FW_VF,
	  .driver = "i915",
	  .vgpu_driver = "vfio-pci",
	  .board = "",
	  .address = "0000:4d:00.0",
	  .vendor = 0x8086,
	  .device = 0x56c0,
	  .subdevice = 0x4905,
	  .class = 0x038000,
	  .cards_max = SIM_CARDS_MAX,
	  .vfs = 31,
	  .first_vf = 1,
	  .profiles = none },
	{ .name = "mtty",
	  .says = "the kernel's sample driver mtty: 24 serial ports, no PCI device",
	  .family = SIM_MTTY,
	  .driver = "mtty",
	  .vgpu_driver = "mtty",
	  .board = "",
	  .cards_max = 1,
	  .profiles = mtty },
	{ .name = "mdpy",
	  .says = "the kernel's sample driver mdpy: 4 displays, no PCI device",
	  .family = SIM_MDPY,
	  .driver = "mdpy",
	  .vgpu_driver = "mdpy",
	  .board = "",
	  .cards_max = 1,
	  .profiles = mdpy },
	{ 0 },
};
/* clang-format on */
