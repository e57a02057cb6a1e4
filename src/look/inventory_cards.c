/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads PCI devices. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/config.h"
#include "internal.h"
#include "base/text.h"

#define PCI_DEVICES "sys/bus/pci/devices"

int inv_read_class(int dir)
{
	char text[16];

	return sys_read(dir, "class", text, sizeof(text)) > 0 ? (int)(strtol(text, NULL, 16) >> 16) : -1;
}

/* Is this accelerator shared by guests like a GPU? The PCI class also has FPGAs, and compression and crypto engines. */
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

/* Vendor, model, board and class are in modalias: "pci:v000010DEd00001EB8sv000010DEsd000012A2bc03sc02i00". */
void inv_read_card(struct inv_pgpu *pgpu, int dir)
{
	char text[256], pci[PCI_SIZE], sub[2][5] = { "" };
	unsigned int class = 0;
	long n;

	if (!pci_parse(pci, pgpu->address))
		return;
	if (sys_read(dir, "modalias", text, sizeof(text)) < 0)
		text[0] = '\0';
	for (char *c = text; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	sscanf(text, "pci:v0000%4[0-9a-f]d0000%4[0-9a-f]sv0000%4[0-9a-f]sd0000%4[0-9a-f]bc%2x", pgpu->vendor,
	       pgpu->device, sub[0], sub[1], &class);
	if (*sub[1])
		snprintf(pgpu->subsystem, sizeof(pgpu->subsystem), "%s:%s", sub[0], sub[1]);
	pgpu->nvidia = strcmp(pgpu->vendor, "10de") == 0;
	pgpu->gpu = class == PCI_DISPLAY || (class == PCI_ACCELERATOR && is_shared_accelerator(pgpu));
	if (sys_read(dir, "numa_node", text, sizeof(text)) > 0 && text_number(text, 0, INT_MAX, &n))
		pgpu->numa = (int)n;
}

const char *inventory_class(const struct host *host, const char *address)
{
	static const char *const names[] = {
		[0x01] = "a storage controller", [0x02] = "a network card", [0x03] = "a GPU",
		[0x04] = "a multimedia device",  [0x06] = "a bridge",       [0x0c] = "a bus controller",
		[0x12] = "an accelerator"
	};
	autoclose int dir = inventory_open(host, address);
	int class = dir < 0 ? -1 : inv_read_class(dir);

	return class >= 0 && (size_t)class < ARRAY_SIZE(names) && names[class] ? names[class] : "another device";
}

bool inv_read_virtfn(char out[PCI_SIZE], int card, size_t n)
{
	char path[32], base[PCI_SIZE];

	snprintf(path, sizeof(path), "virtfn%zu", n);
	return sys_link(card, path, base, sizeof(base)) == 0 && pci_parse(out, base) && strcmp(out, base) == 0;
}

enum pci_kind inv_kind(int dir)
{
	if (sys_exists(dir, "physfn"))
		return PCI_VF;
	return sys_exists(dir, "sriov_vf_msix_count") ? PCI_GOING_VF : PCI_DEVICE;
}

enum pci_kind inventory_kind(const struct host *host, const char *address)
{
	autoclose int dir = inventory_open(host, address);

	return dir < 0 ? PCI_MISSING : inv_kind(dir);
}

bool inventory_takes_type(const struct host *host, const char *address)
{
	autoclose int dir = inventory_open(host, address);

	return dir >= 0 && sys_exists(dir, "nvidia/current_vgpu_type");
}

bool inventory_physfn(const struct host *host, const char *address, char physfn[PCI_SIZE])
{
	char path[VGPU_PATH_SIZE], base[PCI_SIZE];
	struct err ignored;

	return inventory_path(path, address, "/physfn", &ignored) == 0 &&
	       sys_link(host->root, path, base, sizeof(base)) == 0 && pci_parse(physfn, base);
}

static void add_card(const struct host *host, const char *vf, char (**cards)[PCI_SIZE], size_t *n)
{
	char card[PCI_SIZE];

	if (inventory_physfn(host, vf, card) && !text_find(*cards, *n, PCI_SIZE, card))
		memcpy(mem_add(cards, n, PCI_SIZE), card, PCI_SIZE);
}

void inventory_group_cards(const struct host *host, const char *vf, char (**cards)[PCI_SIZE], size_t *n)
{
	char path[64 + PCI_SIZE];
	const struct dirent *e;

	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/iommu_group/devices", vf);
	autoclosedir DIR *d = sys_list(host->root, path);
	add_card(host, vf, cards, n);
	while ((e = sys_next(d)))
		add_card(host, e->d_name, cards, n);
}

static long read_number(int dir, const char *attribute)
{
	char text[16];
	long n;

	return sys_read(dir, attribute, text, sizeof(text)) > 0 && text_number(text, 0, 65535, &n) ? n : 0;
}

unsigned long inv_routing_id(const char *address)
{
	char *at;
	unsigned long bus = strtoul(address + strlen(address) - strlen("bb:ss.f"), &at, 16);
	unsigned long slot = strtoul(at + 1, &at, 16);

	return bus << 8 | slot << 3 | strtoul(at + 1, NULL, 16);
}

/* Can the card have a VF at the address `vf`, enabled or not? Offset and stride determine the addresses of VFs. */
static bool can_have(int card, const char *address, const char *vf)
{
	size_t domain = strlen(vf) - strlen("00:00.0");
	long total = read_number(card, "sriov_totalvfs"), offset, stride, behind;

	if (!total || strlen(address) != strlen(vf) || strncmp(address, vf, domain) != 0)
		return false;
	offset = read_number(card, "sriov_offset");
	/* Some cards report no stride while no VF is enabled. */
	stride = read_number(card, "sriov_stride");
	stride = stride ? stride : 1;
	behind = (long)inv_routing_id(vf) - (long)inv_routing_id(address) - offset;
	return offset && behind >= 0 && behind % stride == 0 && behind / stride < total;
}

bool inventory_read_card(const struct host *host, const char *address, struct inv_pgpu *card)
{
	*card = inv_new_pgpu(address);
	if (!pci_parse(card->address, address))
		return false;
	autoclose int dir = inventory_open(host, card->address);
	if (dir < 0)
		return false;
	inv_read_card(card, dir);
	return true;
}

enum vf_is inventory_vf_card(const struct host *host, const char *address, struct inv_pgpu *card)
{
	autoclosedir DIR *d = NULL;
	struct err ignored;
	char vf[PCI_SIZE], physfn[PCI_SIZE], other[PCI_SIZE];

	if (inventory_physfn(host, address, physfn))
		return inventory_read_card(host, physfn, card) ? VF_PRESENT : VF_NONE;
	if (!pci_parse(vf, address) || inventory_kind(host, vf) != PCI_MISSING ||
	    host_list(&d, host, PCI_DEVICES, &ignored) < 0)
		return VF_NONE;
	while (inventory_next_name(d, pci_parse, other)) {
		autoclose int dir = sys_dir(sys_list_fd(d), other);

		if (dir >= 0 && can_have(dir, other, vf))
			return inventory_read_card(host, other, card) ? VF_ABSENT : VF_NONE;
	}
	return VF_NONE;
}

/* Adds the card's VFs as parents, in the first framework that accepts any of them. */
static void read_vfs(struct inv_reader *reader, struct inv_pgpu *card, int dir)
{
	size_t had = reader->inv->nparents;

	for (enum framework f = FW_VARIANT; f <= FW_VF && reader->inv->nparents == had; f++)
		if (reader->query->frameworks & 1U << f) {
			card->framework = f;
			framework_ops[f]->read_vfs(reader, card, dir);
		}
	card->sriov = reader->inv->nparents > had;
	if (!card->sriov)
		card->framework = FW_MDEV;
}

/* Reads a PCI device. `known`: the device's pGPU in the inventory; NULL: the device provides no mdevs. */
static void read_device(struct inv_reader *reader, const char *address, int dir, const struct inv_pgpu *known)
{
	struct inventory *inv = reader->inv;
	const struct config *config = reader->query->config;
	bool all = !reader->query->types, any = !config || !config->nsections;
	struct inv_pgpu *card = known ? NULL : inv_add_pgpu(inv, address);

	if (card) {
		inv_read_card(card, dir);
		read_vfs(reader, card, dir);
		known = card;
	}
	if (all)
		*(const struct inv_pgpu **)mem_add(&inv->pci, &inv->npci, sizeof(*inv->pci)) = known;
	/* A card without VFs is not a pGPU. Only a GPU with a reason stays in the list. */
	if (card && !card->sriov && !(all && card->gpu && inv_explain_gpu(card, reader->host, dir, any)))
		inv->npgpus--;
}

int inv_read_pci(struct inv_reader *reader, struct err *err)
{
	const struct inv_query *query = reader->query;
	const char *path = !query->types || query->frameworks & INV_VF ? PCI_DEVICES : "sys/bus/pci/drivers/nvidia";
	struct inventory *inv = reader->inv;
	size_t mdevs = inv->nparents; /* the first `mdevs` parents are sorted by name */
	autoclosedir DIR *d = NULL;
	char name[PCI_SIZE];
	int r = 0;

	if (!query->cards && (!query->types || query->frameworks & (INV_VARIANT | INV_VF)))
		r = host_list(&d, reader->host, path, err);
	for (size_t i = 0; query->cards ? *query->cards[i] : inventory_next_name(d, pci_parse, name); i++) {
		const char *address = query->cards ? query->cards[i] : name;
		const struct inv_pgpu *known = inventory_pgpu(inv, address);
		bool is_vf = !known && inv_find_parent(inv->parents, mdevs, address);
		char first[NAME_MAX + 16], vf[PCI_SIZE];

		snprintf(first, sizeof(first), "%s/virtfn0", address);
		/* A VF is never a pGPU. If query->types is set, cards without VFs are not needed. */
		if (is_vf || (query->types && (known || (d && sys_link(sys_list_fd(d), first, vf, sizeof(vf)) < 0))))
			continue;
		autoclose int dir = inventory_open(reader->host, address);
		if (dir >= 0 && (query->types || inv_kind(dir) == PCI_DEVICE))
			read_device(reader, address, dir, known);
	}
	return r;
}
