/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All other models: Intel's and AMD's cards, network cards, and the kernel's sample drivers. */
#include "sim/model.h"

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

static const struct sim_profile mbochs[] = {
	{ .id = 1, .name = "mbochs-small", .description = "virtual display, 4 MB video memory", .size = 4 },
	{ .id = 2, .name = "mbochs-medium", .description = "virtual display, 16 MB video memory", .size = 16 },
	{ .id = 3, .name = "mbochs-large", .description = "virtual display, 64 MB video memory", .size = 64 },
	{ 0 },
};

static const struct sim_profile mlx5[] = { { .id = 1, .name = "mlx5_core-local", .size = 1 }, { 0 } };

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

/* A card with a small aperture does not offer the larger types. */
static const struct sim_profile gvt_small[] = {
	G(3, "GVTg_V5_4", "1920x1200", 4, 128, 512, 4),
	G(4, "GVTg_V5_8", "1024x768", 2, 64, 384, 4),
	{ 0 },
};

#undef G

static const struct sim_profile none[] = { { 0 } };

const struct sim_model sim_models_other[] = {
	{ .name = "gvt-g",
	  .says = "Intel GVT-g at 0000:00:02.0: types without names, aperture of 1 GiB",
	  .family = SIM_GVT,
	  .driver = "i915",
	  .vgpu_driver = "intel_vgpu_mdev",
	  .address = "0000:00:02.0",
	  .vendor = 0x8086,
	  .device = 0x5917,
	  .subdevice = 0x2245,
	  .class = 0x030000,
	  .cards_max = 1,
	  .shared = 1024 - 128,
	  .profiles = gvt },
	{ .name = "gvt-g-256",
	  .says = "GVT-g, aperture of 256 MiB, kernel 6.1: types with names",
	  .family = SIM_GVT,
	  .driver = "i915",
	  .vgpu_driver = "intel_vgpu_mdev",
	  .address = "0000:00:02.0",
	  .vendor = 0x8086,
	  .device = 0x3ea0,
	  .subdevice = 0x2292,
	  .class = 0x030000,
	  .cards_max = 1,
	  .shared = 256 - 128,
	  .has_names = true,
	  .profiles = gvt_small },
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
	{ .name = "mi210",
	  .says = "AMD Instinct MI210: one plain VF, bound to vfio-pci, at 0000:2d:00.0",
	  .family = SIM_PLAIN,
	  .framework = SIM_FW_VF,
	  .driver = "gim",
	  .vgpu_driver = "vfio-pci",
	  .address = "0000:2d:00.0",
	  .vendor = 0x1002,
	  .device = 0x740f,
	  .subdevice = 0x0c34,
	  .class = 0x038000,
	  .cards_max = SIM_CARDS_MAX,
	  .vfs = 1,
	  .first_vf = 16,
	  .vf_device = 0x7410,
	  .profiles = none },
	{ .name = "cx6",
	  .says = "ConnectX-6 Dx: 8 plain VFs, network, on vfio-pci, at 0000:17:00.0",
	  .family = SIM_PLAIN,
	  .framework = SIM_FW_VF,
	  .driver = "mlx5_core",
	  .vgpu_driver = "vfio-pci",
	  .address = "0000:17:00.0",
	  .vendor = 0x15b3,
	  .device = 0x101d,
	  .subdevice = 0x0016,
	  .class = 0x020000,
	  .cards_max = SIM_CARDS_MAX,
	  .vfs = 8,
	  .first_vf = 2,
	  .vf_device = 0x101e,
	  .profiles = none },
	{ .name = "mlx5",
	  .says = "ConnectX with mdevs of mlx5_core, 16 of one type, at 0000:06:00.0",
	  .family = SIM_COUNTED,
	  .driver = "mlx5_core",
	  .vgpu_driver = "mlx5_core",
	  .address = "0000:06:00.0",
	  .vendor = 0x15b3,
	  .device = 0x1019,
	  .subdevice = 0x0008,
	  .class = 0x020000,
	  .cards_max = SIM_CARDS_MAX,
	  .shared = 16,
	  .profiles = mlx5 },
	{ .name = "mtty",
	  .says = "kernel sample driver mtty: 24 serial ports, no PCI device",
	  .family = SIM_MTTY,
	  .driver = "mtty",
	  .vgpu_driver = "mtty",
	  .cards_max = 1,
	  .shared = 24,
	  .has_names = true,
	  .profiles = mtty },
	{ .name = "mdpy",
	  .says = "kernel sample driver mdpy: 4 displays, no PCI device",
	  .family = SIM_COUNTED,
	  .driver = "mdpy",
	  .vgpu_driver = "mdpy",
	  .cards_max = 1,
	  .shared = 4,
	  .has_names = true,
	  .profiles = mdpy },
	{ .name = "mbochs",
	  .says = "kernel sample driver mbochs: 3 display sizes, 256 MB, no PCI device",
	  .family = SIM_MBOCHS,
	  .driver = "mbochs",
	  .vgpu_driver = "mbochs",
	  .cards_max = 1,
	  .shared = 256,
	  .has_names = true,
	  .profiles = mbochs },
	{ 0 },
};
