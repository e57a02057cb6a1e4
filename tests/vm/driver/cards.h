/* SPDX-License-Identifier: GPL-2.0-only */
/* The cards that mdev.c stands in for. */
enum { TYPES = 5 };

struct mdev_kind {
	const char *id, *name;
	unsigned int mib, heads;
};

struct model {
	struct identity identity;
	unsigned int mib; /* of framebuffer */
	struct mdev_kind types[TYPES];
};

static const struct model t4 = {
	{ NVIDIA, 0x1eb8, NVIDIA, 0x12a2 },
	16384,
	{ { "222", "GRID T4-1B", 1024, 4 },
	  { "230", "GRID T4-1Q", 1024, 4 },
	  { "231", "GRID T4-2Q", 2048, 4 },
	  { "232", "GRID T4-4Q", 4096, 4 },
	  { "234", "GRID T4-16Q", 16384, 4 } },
};

static const struct model a40 = {
	{ NVIDIA, 0x2235, NVIDIA, 0x145a },
	49152,
	{ { "555", "NVIDIA A40-1B", 1024, 4 },
	  { "557", "NVIDIA A40-1Q", 1024, 4 },
	  { "558", "NVIDIA A40-2Q", 2048, 4 },
	  { "560", "NVIDIA A40-4Q", 4096, 4 },
	  { "566", "NVIDIA A40-48Q", 49152, 4 } },
};

static const struct model l40s = {
	{ NVIDIA, L40S, NVIDIA, L40S_BOARD },
	49152,
	{ { "1145", "NVIDIA L40S-1B", 1024, 4 },
	  { "1147", "NVIDIA L40S-1Q", 1024, 4 },
	  { "1148", "NVIDIA L40S-2Q", 2048, 4 },
	  { "1150", "NVIDIA L40S-4Q", 4096, 4 },
	  { "1156", "NVIDIA L40S-48Q", 49152, 4 } },
};
