/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* NVIDIA's cards and their types. */
#include "sim/model.h"

#define T(number, series) { .id = (number), .name = (series) }
#define M(number, series, gpu_instance, most)                                                                          \
	{ .id = (number), .name = (series), .instance = (gpu_instance), .size = (most) }

static const struct sim_profile t4[] = {
	T(222, "1B"),  T(223, "2B"),  T(224, "2B4"), T(225, "1A"), T(226, "2A"),  T(227, "4A"),
	T(228, "8A"),  T(229, "16A"), T(230, "1Q"),  T(231, "2Q"), T(232, "4Q"),  T(233, "8Q"),
	T(234, "16Q"), T(252, "1B4"), T(319, "4C"),  T(320, "8C"), T(321, "16C"), { 0 },
};

static const struct sim_profile a40[] = {
	T(555, "1B"),  T(556, "2B"),  T(557, "1Q"),  T(558, "2Q"),  T(559, "3Q"),  T(560, "4Q"),
	T(561, "6Q"),  T(562, "8Q"),  T(563, "12Q"), T(564, "16Q"), T(565, "24Q"), T(566, "48Q"),
	T(567, "1A"),  T(568, "2A"),  T(569, "3A"),  T(570, "4A"),  T(571, "6A"),  T(572, "8A"),
	T(573, "12A"), T(574, "16A"), T(575, "24A"), T(576, "48A"), T(581, "4C"),  T(582, "6C"),
	T(583, "8C"),  T(584, "12C"), T(585, "16C"), T(586, "24C"), T(587, "48C"), { 0 },
};

static const struct sim_profile m60[] = {
	T(11, "0B"), T(12, "0Q"), T(13, "1A"), T(14, "1B"), T(15, "1Q"),   T(16, "2A"),   T(17, "2B"), T(18, "2Q"),
	T(19, "4A"), T(20, "4Q"), T(21, "8A"), T(22, "8Q"), T(210, "2B4"), T(238, "1B4"), { 0 },
};

static const struct sim_profile p4[] = {
	T(63, "1Q"), T(64, "2Q"),  T(65, "4Q"),   T(66, "8Q"),   T(67, "1A"),  T(68, "2A"),  T(69, "4A"), T(70, "8A"),
	T(71, "1B"), T(157, "2B"), T(214, "2B4"), T(243, "1B4"), T(288, "4C"), T(289, "8C"), { 0 },
};

static const struct sim_profile p100[] = {
	T(83, "1Q"),   T(84, "2Q"),   T(85, "4Q"),  T(86, "8Q"),  T(87, "16Q"),  T(88, "1A"),
	T(89, "2A"),   T(90, "4A"),   T(91, "8A"),  T(92, "16A"), T(93, "1B"),   T(160, "2B"),
	T(211, "2B4"), T(244, "1B4"), T(293, "4C"), T(294, "8C"), T(295, "16C"), { 0 },
};

static const struct sim_profile a2[] = {
	T(742, "1B"),  T(743, "2B"), T(744, "1Q"),  T(745, "2Q"), T(746, "4Q"), T(747, "8Q"),
	T(748, "16Q"), T(749, "1A"), T(750, "2A"),  T(751, "4A"), T(752, "8A"), T(753, "16A"),
	T(754, "4C"),  T(755, "8C"), T(756, "16C"), { 0 },
};

static const struct sim_profile a16[] = {
	T(709, "1B"),  T(710, "2B"), T(711, "1Q"),  T(712, "2Q"), T(713, "4Q"), T(714, "8Q"),
	T(715, "16Q"), T(716, "1A"), T(717, "2A"),  T(718, "4A"), T(719, "8A"), T(720, "16A"),
	T(721, "4C"),  T(722, "8C"), T(723, "16C"), { 0 },
};

static const struct sim_profile rtx6000[] = {
	T(256, "1Q"),  T(257, "2Q"),  T(258, "3Q"), T(259, "4Q"),  T(260, "6Q"),  T(261, "8Q"),
	T(262, "12Q"), T(263, "24Q"), T(343, "4C"), T(344, "6C"),  T(345, "8C"),  T(346, "12C"),
	T(347, "24C"), T(435, "1B"),  T(436, "2B"), T(437, "1A"),  T(438, "2A"),  T(439, "3A"),
	T(440, "4A"),  T(441, "6A"),  T(442, "8A"), T(443, "12A"), T(444, "24A"), { 0 },
};

static const struct sim_profile rtx8000[] = {
	T(264, "1Q"),  T(265, "2Q"),  T(266, "3Q"),  T(267, "4Q"),  T(268, "6Q"),  T(269, "8Q"),
	T(270, "12Q"), T(271, "16Q"), T(272, "24Q"), T(273, "48Q"), T(348, "4C"),  T(349, "6C"),
	T(350, "8C"),  T(351, "12C"), T(352, "16C"), T(353, "24C"), T(354, "48C"), T(445, "1B"),
	T(446, "2B"),  T(447, "1A"),  T(448, "2A"),  T(449, "3A"),  T(450, "4A"),  T(451, "6A"),
	T(452, "8A"),  T(453, "12A"), T(454, "16A"), T(455, "24A"), T(456, "48A"), { 0 },
};

static const struct sim_profile a10[] = {
	T(588, "1B"), T(589, "2B"), T(590, "1Q"),  T(591, "2Q"),  T(592, "3Q"),  T(593, "4Q"),
	T(594, "6Q"), T(595, "8Q"), T(596, "12Q"), T(597, "24Q"), T(598, "1A"),  T(599, "2A"),
	T(600, "3A"), T(601, "4A"), T(602, "6A"),  T(603, "8A"),  T(604, "12A"), T(605, "24A"),
	T(610, "4C"), T(611, "6C"), T(612, "8C"),  T(613, "12C"), T(614, "24C"), { 0 },
};

static const struct sim_profile rtxa6000[] = {
	T(522, "1B"),  T(523, "2B"),  T(524, "1Q"),  T(525, "2Q"),  T(526, "3Q"),  T(527, "4Q"),
	T(528, "6Q"),  T(529, "8Q"),  T(530, "12Q"), T(531, "16Q"), T(532, "24Q"), T(533, "48Q"),
	T(534, "1A"),  T(535, "2A"),  T(536, "3A"),  T(537, "4A"),  T(538, "6A"),  T(539, "8A"),
	T(540, "12A"), T(541, "16A"), T(542, "24A"), T(543, "48A"), T(548, "4C"),  T(549, "6C"),
	T(550, "8C"),  T(551, "12C"), T(552, "16C"), T(553, "24C"), T(554, "48C"), { 0 },
};

static const struct sim_profile l40s[] = {
	T(1145, "1B"),  T(1146, "2B"),  T(1147, "1Q"),  T(1148, "2Q"),  T(1149, "3Q"),  T(1150, "4Q"),
	T(1151, "6Q"),  T(1152, "8Q"),  T(1153, "12Q"), T(1154, "16Q"), T(1155, "24Q"), T(1156, "48Q"),
	T(1157, "1A"),  T(1158, "2A"),  T(1159, "3A"),  T(1160, "4A"),  T(1161, "6A"),  T(1162, "8A"),
	T(1163, "12A"), T(1164, "16A"), T(1165, "24A"), T(1166, "48A"), T(2164, "3B"),  { 0 },
};

static const struct sim_profile rtx6000ada[] = {
	T(941, "1Q"),  T(942, "2Q"),  T(943, "3Q"),  T(944, "4Q"),  T(945, "6Q"), T(946, "8Q"),
	T(947, "12Q"), T(948, "16Q"), T(949, "24Q"), T(950, "48Q"), { 0 },
};

/* The list from a real host ends at 12A. The other rows continue its order; 1540 and 1546 are from another host. */
static const struct sim_profile rtxpro6000[] = {
	T(1518, "2B"),
	T(1519, "3Q"),
	T(1520, "3A"),
	T(1521, "4Q"),
	T(1522, "4A"),
	T(1523, "6Q"),
	T(1524, "6A"),
	T(1525, "8Q"),
	T(1526, "8A"),
	T(1527, "8C"),
	T(1528, "12Q"),
	T(1529, "12A"),
	T(1530, "12C"),
	T(1531, "16Q"),
	T(1532, "16A"),
	T(1533, "16C"),
	T(1534, "24Q"),
	T(1535, "24A"),
	T(1536, "24C"),
	T(1537, "32Q"),
	T(1538, "32A"),
	T(1539, "32C"),
	T(1540, "48Q"),
	T(1541, "48A"),
	T(1542, "48C"),
	T(1543, "96Q"),
	T(1544, "96A"),
	T(1545, "96C"),
	M(1546, "1-2Q", "1g.24gb", 48),
	M(1561, "1-24Q", "1g.24gb", 4),
	{ 0 },
};

static const struct sim_profile a100[] = {
	T(468, "4C"),
	T(469, "5C"),
	T(470, "8C"),
	T(471, "10C"),
	T(472, "20C"),
	T(473, "40C"),
	M(474, "1-5C", "1g.5gb", 7),
	M(475, "2-10C", "2g.10gb", 3),
	M(476, "3-20C", "3g.20gb", 2),
	M(477, "4-20C", "4g.20gb", 1),
	M(478, "7-40C", "7g.40gb", 1),
	M(706, "1-5CME", "1g.5gb+me", 1),
	{ 0 },
};

static const struct sim_profile a100d[] = {
	T(692, "4C"),
	T(693, "8C"),
	T(694, "10C"),
	T(695, "16C"),
	T(696, "20C"),
	T(697, "40C"),
	T(698, "80C"),
	M(699, "1-10C", "1g.10gb", 7),
	M(700, "2-20C", "2g.20gb", 3),
	M(701, "3-40C", "3g.40gb", 2),
	M(702, "4-40C", "4g.40gb", 1),
	M(703, "7-80C", "7g.80gb", 1),
	M(707, "1-10CME", "1g.10gb+me", 1),
	{ 0 },
};

/* The types of an invented board. */
static const struct sim_profile bench[] = {
	T(9001, "1Q"),  T(9002, "2Q"),  T(9003, "3Q"),  T(9004, "4Q"),  T(9005, "6Q"),  T(9006, "8Q"),  T(9007, "12Q"),
	T(9008, "16Q"), T(9009, "24Q"), T(9010, "48Q"), T(9011, "1A"),  T(9012, "2A"),  T(9013, "3A"),  T(9014, "4A"),
	T(9015, "6A"),  T(9016, "8A"),  T(9017, "12A"), T(9018, "16A"), T(9019, "24A"), T(9020, "48A"), T(9021, "1C"),
	T(9022, "2C"),  T(9023, "3C"),  T(9024, "4C"),  T(9025, "6C"),  T(9026, "8C"),  T(9027, "12C"), T(9028, "16C"),
	T(9029, "24C"), T(9030, "48C"), T(9031, "1B"),  T(9032, "2B"),  T(9033, "3B"),  T(9034, "4B"),  T(9035, "6B"),
	T(9036, "8B"),  T(9037, "12B"), T(9038, "16B"), T(9039, "24B"), T(9040, "48B"), { 0 },
};

#undef T
#undef M

#define NVIDIA_CARD                                                                                                    \
	.family = SIM_NVIDIA, .driver = "nvidia", .vgpu_driver = "nvidia-vgpu-vfio", .vendor = 0x10de,                 \
	.class = 0x030200, .cards_max = SIM_CARDS_MAX

const struct sim_model sim_models_nvidia[] = {
	{ NVIDIA_CARD, .name = "t4", .says = "T4, 16 GiB: mdevs on the PF itself, at 0000:84:00.0", .board = "GRID T4",
	  .device = 0x1eb8, .subdevice = 0x12a2, .address = "0000:84:00.0", .framebuffer_gib = 16, .instances_max = 16,
	  .profiles = t4 },
	{ NVIDIA_CARD, .name = "m60", .says = "one GPU of an M60, 8 GiB: mdevs on the PF itself, at 0000:3d:00.0",
	  .board = "GRID M60", .device = 0x13f2, .subdevice = 0x115e, .address = "0000:3d:00.0", .framebuffer_gib = 8,
	  .instances_max = 16, .resolution_q = "5120x2880", .profiles = m60 },
	{ NVIDIA_CARD, .name = "p4", .says = "P4, 8 GiB: mdevs on the PF itself, at 0000:01:00.0", .board = "GRID P4",
	  .device = 0x1bb3, .subdevice = 0x11d8, .address = "0000:01:00.0", .framebuffer_gib = 8, .instances_max = 8,
	  .resolution_c = "4096x2400", .profiles = p4 },
	{ NVIDIA_CARD, .name = "p100", .says = "P100, 16 GiB: mdevs on the PF itself, at 0000:3b:00.0",
	  .board = "GRID P100", .device = 0x15f8, .subdevice = 0x118f, .address = "0000:3b:00.0", .framebuffer_gib = 16,
	  .instances_max = 16, .profiles = p100 },
	{ NVIDIA_CARD, .name = "rtxa6000", .says = "RTX A6000, 48 GiB: mdevs on the PF itself, at 0000:21:00.0",
	  .board = "NVIDIA RTXA6000", .device = 0x2230, .subdevice = 0x1459, .address = "0000:21:00.0",
	  .framebuffer_gib = 48, .instances_max = 32, .resolution_c = "4096x2400", .profiles = rtxa6000 },
	{ NVIDIA_CARD, .name = "a2", .says = "A2, 16 GiB: mdevs on 16 VFs, at 0000:08:00.0", .board = "NVIDIA A2",
	  .device = 0x25b6, .subdevice = 0x157e, .address = "0000:08:00.0", .vfs = 16, .first_vf = 4,
	  .framebuffer_gib = 16, .instances_max = 16, .resolution_c = "4096x2400", .profiles = a2 },
	{ NVIDIA_CARD, .name = "a16", .says = "one GPU of an A16, 16 GiB, same ID as A2: 16 VFs, at 0000:0c:00.0",
	  .board = "NVIDIA A16", .device = 0x25b6, .subdevice = 0x14a9, .address = "0000:0c:00.0", .vfs = 16,
	  .first_vf = 4, .framebuffer_gib = 16, .instances_max = 16, .resolution_c = "4096x2400", .profiles = a16 },
	{ NVIDIA_CARD, .name = "rtx6000", .says = "RTX 6000, 24 GiB: mdevs on the PF itself, at 0000:65:00.0",
	  .board = "GRID RTX6000", .device = 0x1e30, .subdevice = 0x12ba, .address = "0000:65:00.0",
	  .framebuffer_gib = 24, .instances_max = 24, .profiles = rtx6000 },
	{ NVIDIA_CARD, .name = "rtx8000", .says = "RTX 8000, 48 GiB, same ID as RTX 6000, at 0000:b3:00.0",
	  .board = "GRID RTX8000", .device = 0x1e30, .subdevice = 0x129e, .address = "0000:b3:00.0",
	  .framebuffer_gib = 48, .instances_max = 32, .profiles = rtx8000 },
	{ NVIDIA_CARD, .name = "a40", .says = "A40, 48 GiB: mdevs on 32 VFs (or a40/VFS), at 0000:41:00.0",
	  .board = "NVIDIA A40", .device = 0x2235, .subdevice = 0x145a, .address = "0000:41:00.0", .vfs = 32,
	  .first_vf = 4, .framebuffer_gib = 48, .instances_max = 32, .profiles = a40 },
	{ NVIDIA_CARD, .name = "a100", .says = "A100, 40 GiB: mdevs on 16 VFs, MIG, at 0000:61:00.0",
	  .board = "GRID A100", .device = 0x20f1, .subdevice = 0x145f, .address = "0000:61:00.0", .vfs = 16,
	  .first_vf = 4, .framebuffer_gib = 40, .instances_max = 10, .slices = 7, .profiles = a100 },
	{ NVIDIA_CARD, .name = "a100d", .says = "A100, 80 GiB: mdevs on 20 VFs, MIG, at 0000:71:00.0",
	  .board = "GRID A100D", .device = 0x20b5, .subdevice = 0x1533, .address = "0000:71:00.0", .vfs = 20,
	  .first_vf = 4, .framebuffer_gib = 80, .instances_max = 20, .slices = 7, .profiles = a100d },
	{ NVIDIA_CARD, .name = "l40s-mdev", .says = "L40S, 48 GiB, on a kernel with mdevs: on 48 VFs, at 0000:59:00.0",
	  .board = "NVIDIA L40S", .device = 0x26b9, .subdevice = 0x1851, .address = "0000:59:00.0", .vfs = 48,
	  .first_vf = 4, .framebuffer_gib = 48, .instances_max = 32, .resolution_c = "4096x2400", .profiles = l40s },
	{ NVIDIA_CARD, .name = "l40s", .says = "L40S, 48 GiB: 48 variant VFs, at 0000:26:00.0", .board = "NVIDIA L40S",
	  .device = 0x26b9, .subdevice = 0x1851, .address = "0000:26:00.0", .framework = SIM_FW_VARIANT, .vfs = 48,
	  .first_vf = 4, .framebuffer_gib = 48, .instances_max = 32, .profiles = l40s },
	{ NVIDIA_CARD, .name = "a10", .says = "A10, 24 GiB: 32 variant VFs, at 0000:d8:00.0", .board = "NVIDIA A10",
	  .device = 0x2236, .subdevice = 0x1482, .address = "0000:d8:00.0", .framework = SIM_FW_VARIANT, .vfs = 32,
	  .first_vf = 4, .framebuffer_gib = 24, .instances_max = 24, .profiles = a10 },
	{ NVIDIA_CARD, .name = "rtx6000ada", .says = "RTX 6000 Ada, 48 GiB: 32 variant VFs, at 0000:a1:00.0",
	  .board = "NVIDIA RTX6000-Ada", .device = 0x26b1, .subdevice = 0x16a1, .address = "0000:a1:00.0",
	  .framework = SIM_FW_VARIANT, .vfs = 32, .first_vf = 4, .framebuffer_gib = 48, .instances_max = 32,
	  .profiles = rtx6000ada },
	{ NVIDIA_CARD, .name = "rtxpro6000",
	  .says = "RTX PRO 6000 Blackwell, 96 GiB: 48 variant VFs, MIG, at 0001:c8:00.0",
	  .board = "NVIDIA RTX Pro 6000 Blackwell DC", .device = 0x2bb5, .subdevice = 0x204e, .address = "0001:c8:00.0",
	  .framework = SIM_FW_VARIANT, .vfs = 48, .first_vf = 2, .framebuffer_gib = 96, .instances_max = 32,
	  .slices = 4, .profiles = rtxpro6000 },
	{ NVIDIA_CARD, .name = "bench", .says = "fictitious card, bench/VFSxTYPES [48x30], at 0000:c1:00.0",
	  .board = "NVIDIA BENCH", .device = 0x20b5, .subdevice = 0x1533, .address = "0000:c1:00.0", .vfs = 48,
	  .first_vf = 4, .types = 30, .framebuffer_gib = 48, .instances_max = 48, .profiles = bench },
	{ 0 },
};
