/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Groups the inventory's parents into pGPUs, and reads the attributes of each pGPU. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "internal.h"
#include "base/text.h"

/* Reads an attribute such as "0x10de". */
static void read_hex(char out[5], int dir, const char *path)
{
	char text[16];

	if (sys_read(dir, path, text, sizeof(text)) == 6 && text[0] == '0' && text[1] == 'x' &&
	    strspn(text + 2, "0123456789abcdef") == 4)
		memcpy(out, text + 2, 5);
}

int inv_read_class(int dir)
{
	char text[16];

	return sys_read(dir, "class", text, sizeof(text)) > 0 ? (int)(strtol(text, NULL, 16) >> 16) : -1;
}

/* Vendor, model, board and class in one attribute: "pci:v000010DEd00001EB8sv000010DEsd000012A2bc03sc02i00". */
static bool read_modalias(char ids[4][5], int *class, int dir)
{
	static const char *const keys[] = { "pci:v0000", "d0000", "sv0000", "sd0000" };
	char text[256], *at = text;
	unsigned int base;

	if (sys_read(dir, "modalias", text, sizeof(text)) <= 0)
		return false;
	for (int i = 0; i < 4 && strncmp(at, keys[i], strlen(keys[i])) == 0; i++) {
		at += strlen(keys[i]);
		if (strspn(at, "0123456789ABCDEF") < 4)
			break;
		for (int digit = 0; digit < 4; digit++)
			ids[i][digit] = (char)tolower((unsigned char)*at++);
	}
	if (sscanf(at, "bc%2x", &base) == 1)
		*class = (int)base;
	return *ids[0] && *ids[1];
}

/* Guests share these accelerators like GPUs. Others are NPUs, FPGAs, and compression, crypto or network engines. */
static bool is_shared_accelerator(const struct inv_pgpu *pgpu)
{
	/* NVIDIA, AMD Instinct, Huawei Ascend, Habana Gaudi, Cambricon MLU, Enflame, Biren */
	static const char *const known[] = { "10de:", "1002:", "19e5:d", "1da3:", "cabc:", "1e36:", "1ee0:" };
	char id[sizeof(pgpu->vendor) + sizeof(pgpu->device)];

	snprintf(id, sizeof(id), "%s:%s", pgpu->vendor, pgpu->device);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strncmp(id, known[i], strlen(known[i])) == 0)
			return true;
	return false;
}

void inv_read_card(struct inv_pgpu *pgpu, int dir)
{
	static const char *const attributes[] = { "vendor", "device", "subsystem_vendor", "subsystem_device" };
	char text[16], pci[PCI_SIZE], ids[4][5] = { "" };
	int class = -1;
	long n;

	if (dir < 0 || !pci_parse(pci, pgpu->address))
		return;
	if (!read_modalias(ids, &class, dir)) {
		for (int i = 0; i < 4; i++)
			read_hex(ids[i], dir, attributes[i]);
		class = inv_read_class(dir);
	}
	memcpy(pgpu->vendor, ids[0], sizeof(ids[0]));
	memcpy(pgpu->device, ids[1], sizeof(ids[1]));
	if (*ids[2] && *ids[3])
		snprintf(pgpu->subsystem, sizeof(pgpu->subsystem), "%s:%s", ids[2], ids[3]);
	pgpu->nvidia = strcmp(pgpu->vendor, "10de") == 0;
	pgpu->gpu = class == PCI_DISPLAY || (class == PCI_ACCELERATOR && is_shared_accelerator(pgpu));
	if (sys_read(dir, "numa_node", text, sizeof(text)) > 0 && text_number(text, 0, INT_MAX, &n))
		pgpu->numa = (int)n;
}

bool inv_read_virtfn(char out[PCI_SIZE], int card, size_t n)
{
	char path[32], base[PCI_SIZE];

	snprintf(path, sizeof(path), "virtfn%zu", n);
	return sys_link(card, path, base, sizeof(base)) == 0 && pci_parse(out, base) && strcmp(out, base) == 0;
}

static unsigned digit(char c)
{
	return (unsigned)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
}

unsigned inv_routing_id(const char *address)
{
	const char *s = address + strlen(address) - strlen("bb:ss.f");

	return digit(s[0]) << 12 | digit(s[1]) << 8 | digit(s[3]) << 7 | digit(s[4]) << 3 | digit(s[6]);
}

/* Is `b` the address right after address `a`? A name that has the length and domain of `a` is an address. */
static bool follows(const char *a, const char *b)
{
	size_t len = strlen(a);

	return strlen(b) == len && strncmp(a, b, len - 7) == 0 && inv_routing_id(b) == inv_routing_id(a) + 1;
}

/*
 * Assigns parent `i` and those at consecutive addresses to the card; false: they are not its first VFs. VF addresses
 * have equal steps (SR-IOV: First VF Offset, VF Stride). So if the first of n consecutive addresses is VF 0 and the
 * last is VF n - 1, all are VFs, and no other link need be read.
 */
static bool take_run(struct inventory *inv, size_t i, struct inv_pgpu *pgpu, int card)
{
	char vf[PCI_SIZE];
	size_t n = 1;

	while (i + n < inv->nparents && !inv->parents[i + n]->card &&
	       follows(inv->parents[i + n - 1]->name, inv->parents[i + n]->name))
		n++;
	if (!inv_read_virtfn(vf, card, 0) || strcmp(vf, inv->parents[i]->name) != 0 ||
	    !inv_read_virtfn(vf, card, n - 1) || strcmp(vf, inv->parents[i + n - 1]->name) != 0)
		return false;
	while (n-- > 0)
		inv->parents[i + n]->card = pgpu;
	return true;
}

static void take_links(struct inventory *inv, struct inv_pgpu *pgpu, int card)
{
	char vf[PCI_SIZE];

	for (size_t n = 0; n < UINT16_MAX && inv_read_virtfn(vf, card, n); n++) {
		struct inv_parent *p = inv_find_parent(inv->parents, inv->nparents, vf);

		if (p)
			p->card = pgpu;
	}
}

/* Reads a pGPU whose first VF in the list is parent `i`; `dir` is that VF's directory. */
static void read_sriov(struct inventory *inv, size_t i, struct inv_pgpu *pgpu, int dir)
{
	autoclose int card = sys_dir(dir, "physfn");

	pgpu->sriov = true;
	if (card < 0) {
		inv_not_ready(pgpu, "it cannot be opened: %s", err_describe(errno));
		return;
	}
	inv_read_card(pgpu, card);
	if (!take_run(inv, i, pgpu, card))
		take_links(inv, pgpu, card);
}

/* 1: the parent is a VF, and `physfn` is its card; 0: it is not a VF; negative: not known. */
static int find_physfn(char physfn[PCI_SIZE], int dir, const char *name)
{
	char base[PCI_SIZE], pci[PCI_SIZE];
	int r;

	if (!pci_parse(pci, name))
		return 0;
	r = sys_link(dir, "physfn", base, sizeof(base));
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return pci_parse(physfn, base) && strcmp(physfn, base) == 0 ? 1 : -EINVAL;
}

/* Finds the pGPU of parent `i`, and reads it if it is new. */
static void group(struct inv_reader *reader, size_t i)
{
	struct inventory *inv = reader->inv;
	struct inv_parent *parent = inv->parents[i];
	autoclose int dir = sys_dir(sys_list_fd(reader->bus), parent->name);
	char physfn[PCI_SIZE];
	int vf = dir < 0 ? -errno : find_physfn(physfn, dir, parent->name);
	const char *address = vf == 1 ? physfn : parent->name;
	struct inv_pgpu *known = inventory_pgpu(inv, address);
	struct inv_pgpu *pgpu = known ? known : inv_add_pgpu(inv, FW_MDEV, address);

	parent->card = pgpu;
	if (dir < 0)
		inv_not_ready(pgpu, "it cannot be opened: %s", err_describe(-vf));
	else if (vf < 0)
		inv_not_ready(pgpu, "its physfn cannot be read: %s", err_describe(-vf));
	else if (vf == 1 && !pgpu->sriov)
		read_sriov(inv, i, pgpu, dir);
	else if (!known)
		inv_read_card(pgpu, dir);
}

void inv_group(struct inv_reader *reader)
{
	for (size_t i = 0; i < reader->inv->nparents; i++)
		if (!reader->inv->parents[i]->card)
			group(reader, i);
}
