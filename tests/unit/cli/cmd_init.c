/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease init: the type that it chooses for a card, a row each. */
#include "cli/cmd.h"

#include "lib/names.h"
#include "lib/tree.h"

#define CARD "sys/devices/0000:84:00.0"

enum { TEXT_MAX = 1 << 14 };

static const struct row {
	const char *says, *types; /* each "ID NAME MIB AVAILABLE" */
	const char *carries;      /* type of a vGPU that exists; NULL none */
	const char *chosen;
} rows[] = {
	{ "a type that the driver offers now goes before a better one", "nvidia-1 T4-2Q 2048 0, nvidia-2 T4-1B 1024 16",
	  NULL, "nvidia-2" },
	{ "NVIDIA's Q types go before others", "nvidia-1 T4-2B 2048 8, nvidia-2 T4-1Q 1024 16", NULL, "nvidia-2" },
	{ "of these one of at least 2048 MiB, and as little more as can be",
	  "nvidia-1 T4-1Q 1024 16, nvidia-2 T4-4Q 4096 4, nvidia-3 T4-2Q 2048 8, nvidia-4 T4-8Q 8192 2", NULL,
	  "nvidia-3" },
	{ "where all are smaller the largest", "nvidia-1 T4-0Q 512 32, nvidia-2 T4-1Q 1024 16", NULL, "nvidia-2" },
	{ "of two that are alike the first", "nvidia-1 T4-2Q 2048 8, nvidia-2 T4-2Q 2048 8", NULL, "nvidia-1" },
	{ "what a card carries goes first", "nvidia-1 T4-2Q 2048 8, nvidia-2 T4-1B 1024 0", "nvidia-2", "nvidia-2" },
};

static void run(const struct row *row)
{
	char path[128], expected[64], types[256];
	struct cmd_call call = { .write = true, .args.config = path };
	struct cmd cmd = { .call = &call };
	char text[TEXT_MAX];
	struct err err;

	TREE(tree, "proc/\nrun/\nsys/class/mdev_bus/0000:84:00.0 -> ../../devices/0000:84:00.0\n" CARD
		   "/\n modalias = pci:v000010DEd00001EB8sv00000000sd00000000bc03sc02i00\n");
	snprintf(types, sizeof(types), "%s", row->types);
	for (char *rest = types, *type; (type = text_next(&rest, ","));) {
		const char *id = text_next(&type, " "), *name = text_next(&type, " "), *mib = text_next(&type, " ");

		tree_addf(
			&tree,
			CARD
			"/mdev_supported_types/%s/\n name = GRID %s\n device_api = vfio-pci\n available_instances = %s\n"
			" description = num_heads=4, framebuffer=%sM, max_instance=16\n",
			id, name, type, mib);
	}
	if (row->carries)
		tree_addf(&tree,
			  CARD "/" A "/mdev_type -> ../mdev_supported_types/%s\n"
			       "sys/bus/mdev/devices/" A " -> ../../../devices/0000:84:00.0/" A "\n",
			  row->carries);
	cmd.host = tree.host;
	snprintf(path, sizeof(path), "%s/made.conf", tree.path);
	if (cmd_init.run(&cmd, &err) != CMD_DONE || sys_read(tree.host.root, "made.conf", text, sizeof(text)) < 0)
		tree_fail(path);
	fflush(stdout);
	snprintf(expected, sizeof(expected), "\nenabled_mdev_types = %s\n", row->chosen);
	ok(strstr(text, expected), "%s", row->says);
}

int main(void)
{
	for (ROWS(row, rows))
		run(row);
	return tap_done();
}
