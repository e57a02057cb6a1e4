/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The device handler asks for the pool alone; all else that check finds is in tests/system/cli/check.sh. */
#include "ops/check.h"

#include "lib/cards.h"
#include "lib/tree.h"

int main(void)
{
	struct config config;
	struct check check = { .config = &config, .only_pool = true };
	struct err err;
	size_t others = 0;

	TREE(tree, "run/\nvar/lib/\nproc/\ndev/\nsys/bus/mdev/devices/\nsys/bus/pci/devices/\n" CARD_OF("0000:84:00.0",
													"1eb8")
			   OFFERS("0000:84:00.0", "nvidia-222", "GRID T4-1B",
				  "16") "etc/vgpu-lease.conf = [devices]\\nenabled_mdev_types = nvidia-222\n"
					"etc/libvirt/hooks/qemu = #!/bin/sh\n");
	check.host = &tree.host;
	if (ok(config_load(&config, &tree.host, NULL, &(struct config_notes){ 0 }, &err) == 0, "a configuration"))
		check_run(&check);
	for (size_t i = 0; i < check.n; i++)
		others += strcmp(check.findings[i].what, "pgpu") != 0 && strcmp(check.findings[i].what, "type") != 0;
	ok(check.n == 2 && others == 0 && check.npool == 1 && check.ncards == 1,
	   "its pGPUs and types, and nothing else");
	check_free(&check);
	config_free(&config);
	return tap_done();
}
