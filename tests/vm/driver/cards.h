/* SPDX-License-Identifier: GPL-2.0-only */
/* The cards that mdev.c stands in for. */
enum { TYPES = 5 };

struct mdev_kind {
	const char *id, *name;
	unsigned int mib, frl; /* the frame rate that it is limited to */
	const char *resolution;
};

struct model {
	struct identity identity;
	unsigned int mib, most; /* its framebuffer, and how many vGPUs it has at most, of any type */
	struct mdev_kind types[TYPES];
};

static const struct model t4 = {
	{ NVIDIA, 0x1eb8, NVIDIA, 0x12a2 },
	16384,
	16,
	{ { "222", "GRID T4-1B", 1024, 45, "5120x2880" },
	  { "230", "GRID T4-1Q", 1024, 60, "5120x2880" },
	  { "231", "GRID T4-2Q", 2048, 60, "7680x4320" },
	  { "232", "GRID T4-4Q", 4096, 60, "7680x4320" },
	  { "234", "GRID T4-16Q", 16384, 60, "7680x4320" } },
};

static const struct model a40 = {
	{ NVIDIA, 0x2235, NVIDIA, 0x145a },
	49152,
	32,
	{ { "555", "NVIDIA A40-1B", 1024, 45, "5120x2880" },
	  { "557", "NVIDIA A40-1Q", 1024, 60, "5120x2880" },
	  { "558", "NVIDIA A40-2Q", 2048, 60, "7680x4320" },
	  { "560", "NVIDIA A40-4Q", 4096, 60, "7680x4320" },
	  { "566", "NVIDIA A40-48Q", 49152, 60, "7680x4320" } },
};

static const struct model l40s = {
	{ NVIDIA, L40S, NVIDIA, L40S_BOARD },
	49152,
	32,
	{ { "1145", "NVIDIA L40S-1B", 1024, 45, "5120x2880" },
	  { "1147", "NVIDIA L40S-1Q", 1024, 60, "5120x2880" },
	  { "1148", "NVIDIA L40S-2Q", 2048, 60, "7680x4320" },
	  { "1150", "NVIDIA L40S-4Q", 4096, 60, "7680x4320" },
	  { "1156", "NVIDIA L40S-48Q", 49152, 60, "7680x4320" } },
};
