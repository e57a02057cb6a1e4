/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads single PCI devices. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "internal.h"
#include "base/text.h"

int inv_read_class(int dir)
{
	char text[16];

	return sys_read(dir, "class", text, sizeof(text)) > 0 ? (int)(strtol(text, NULL, 16) >> 16) : -1;
}

/* Do guests share it like a GPU? The PCI class also has FPGAs, and compression, crypto and network engines. */
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

/* Vendor, model, board and class are one attribute: "pci:v000010DEd00001EB8sv000010DEsd000012A2bc03sc02i00". */
void inv_read_card(struct inv_pgpu *pgpu, int dir)
{
	char text[256], pci[PCI_SIZE], sub[2][5] = { "" };
	unsigned int class = 0;
	long n;

	if (dir < 0 || !pci_parse(pci, pgpu->address))
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

bool inv_read_virtfn(char out[PCI_SIZE], int card, size_t n)
{
	char path[32], base[PCI_SIZE];

	snprintf(path, sizeof(path), "virtfn%zu", n);
	return sys_link(card, path, base, sizeof(base)) == 0 && pci_parse(out, base) && strcmp(out, base) == 0;
}

bool inv_is_going(int dir)
{
	return !sys_exists(dir, "physfn") && sys_exists(dir, "sriov_vf_msix_count");
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

	if (!inventory_physfn(host, vf, card))
		return;
	for (size_t i = 0; i < *n; i++)
		if (strcmp((*cards)[i], card) == 0)
			return;
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

/* The next address in a directory of PCI devices. It becomes part of a path, so it must have the kernel's spelling. */
static const char *next_address(DIR *devices)
{
	const struct dirent *e;
	char pci[PCI_SIZE];

	while ((e = sys_next(devices)))
		if (pci_parse(pci, e->d_name) && strcmp(pci, e->d_name) == 0)
			return e->d_name;
	return NULL;
}

int inv_read_cards(struct inv_reader *reader, enum framework framework, const char *path,
		   void (*read)(struct inv_reader *reader, struct inv_pgpu *pgpu, int dir), struct err *err)
{
	const struct inv_query *query = reader->query;
	struct inventory *inv = reader->inv;
	size_t sorted = inv->nparents; /* parents that earlier frameworks have added */
	autoclosedir DIR *d = NULL;
	int r = query->some ? 0 : host_list(&d, reader->host, path, err);
	const char *address;

	for (size_t i = 0; (address = i < query->ncards ? query->cards[i] : next_address(d)); i++) {
		char first[NAME_MAX + 16], vf[PCI_SIZE];
		size_t had = inv->nparents;

		snprintf(first, sizeof(first), "%s/virtfn0", address);
		if (inventory_pgpu(inv, address) || inv_find_parent(inv->parents, sorted, address) ||
		    (d && sys_link(sys_list_fd(d), first, vf, sizeof(vf)) < 0))
			continue;
		autoclose int dir = inventory_open(reader->host, address);
		if (dir < 0)
			continue;
		struct inv_pgpu *pgpu = inv_add_pgpu(inv, framework, address);
		inv_read_card(pgpu, dir);
		read(reader, pgpu, dir);
		/* A card without parents of this framework may be another's. */
		inv->npgpus -= inv->nparents == had;
	}
	inv_sort_parents(inv);
	return r;
}

static unsigned digit(char c)
{
	return (unsigned)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
}

/* A start computes the routing IDs of all VFs. For the 768 of a large host, sscanf(3) takes half a millisecond. */
unsigned inv_routing_id(const char *address)
{
	const char *s = address + strlen(address) - strlen("bb:ss.f");

	return digit(s[0]) << 12 | digit(s[1]) << 8 | digit(s[3]) << 7 | digit(s[4]) << 3 | digit(s[6]);
}

/* Can the card have this VF? The card's address determines the VF's, even if the VF is not enabled. */
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

bool inventory_absent_vf(const struct host *host, const char *address, char physfn[PCI_SIZE])
{
	autoclosedir DIR *d = NULL;
	const char *card;
	struct err ignored;
	char vf[PCI_SIZE];

	if (!pci_parse(vf, address) || inventory_exists(host, vf) ||
	    host_list(&d, host, "sys/bus/pci/devices", &ignored) < 0)
		return false;
	while ((card = next_address(d))) {
		autoclose int dir = sys_dir(sys_list_fd(d), card);

		if (dir >= 0 && can_have(dir, card, vf))
			return text_copy(physfn, PCI_SIZE, card);
	}
	return false;
}

bool inventory_exists(const struct host *host, const char *address)
{
	autoclose int dir = inventory_open(host, address);

	return dir >= 0;
}

bool inventory_takes_type(const struct host *host, const char *address)
{
	autoclose int dir = inventory_open(host, address);

	return dir >= 0 && sys_exists(dir, "nvidia/current_vgpu_type");
}

bool inventory_vf_going(const struct host *host, const char *address)
{
	autoclose int dir = inventory_open(host, address);

	return dir >= 0 && inv_is_going(dir);
}

bool inventory_read_card(const struct host *host, const char *address, struct inv_pgpu *card)
{
	*card = (struct inv_pgpu){ .numa = UNKNOWN };
	if (!pci_parse(card->address, address))
		return false;
	autoclose int dir = inventory_open(host, card->address);
	if (dir < 0)
		return false;
	inv_read_card(card, dir);
	return true;
}

int inv_read_absent(struct inv_reader *reader, struct err *err)
{
	struct inventory *inv = reader->inv;
	const char *address;
	autoclosedir DIR *d = NULL;
	int r = reader->query->types ? 0 : host_list(&d, reader->host, "sys/bus/pci/devices", err);

	while ((address = next_address(d))) {
		const struct inv_pgpu *known = inventory_pgpu(inv, address);
		struct inv_pgpu card = known ? *known : inv_new_pgpu(FW_MDEV, address), *device;
		/* A VF is never a pGPU; its card is explained instead. The parents are still sorted by name alone. */
		bool is_vf = !known && inv_find_parent(inv->parents, inv->nparents, address);
		autoclose int dir = is_vf ? -1 : sys_dir(sys_list_fd(d), address);

		if (dir < 0 || sys_exists(dir, "physfn") || inv_is_going(dir))
			continue;
		if (!known)
			inv_read_card(&card, dir);
		device = inv_add(&inv->pci, &inv->npci, &card, sizeof(card));
		if (sys_read(dir, "sriov_vf_device", device->vf_device, sizeof(device->vf_device)) < 0)
			device->vf_device[0] = '\0';
		if (!known && card.gpu && inv_explain_gpu(&card, reader->host, dir, reader->query->gpus))
			inv_add(&inv->pgpus, &inv->npgpus, &card, sizeof(card));
	}
	return r;
}
