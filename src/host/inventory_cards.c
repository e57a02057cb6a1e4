/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cards that have not come up: why one is not in the inventory, and what to do about it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/timed_child.h"
#include "base/file.h"
#include "internal.h"
#include "base/text.h"

/* What a card's own directory says of why it is no parent. */
enum state { OTHER_VENDOR, OTHER_DRIVER, IS_VF, IS_VARIANT, VFS_OFF, NO_TYPES };

/* A read of sriov_numvfs waits for whoever is at work on the driver's binding or on its VFs. */
static long read_count(const char *address, int card, const char *attribute)
{
	char text[16];
	long n;

	return timed_child_read(address, card, attribute, text, sizeof(text)) > 0 && text_number(text, 0, 65535, &n)
		       ? n
		       : 0;
}

/*
 * Turing boards (10de:1e00 to 1fff) have an SR-IOV capability, but their vGPUs are on the card itself, with every
 * driver so far ("Host VGPU Mode: Non SR-IOV").
 */
static bool is_turing(const char *device)
{
	return device[0] == '1' && (device[1] == 'e' || device[1] == 'f');
}

/*
 * A VF that is being disabled loses its link to the card first, and stays until whoever has it lets go. This attribute
 * is a VF's alone (Linux 5.13).
 */
static bool is_going(int dir)
{
	return faccessat(dir, "physfn", F_OK, 0) < 0 && faccessat(dir, "sriov_vf_msix_count", F_OK, 0) == 0;
}

/* `driver` is the bound one's name, "" for none. */
static enum state card_state(struct inv_pgpu *card, int dir, char driver[64])
{
	char base[64];

	inv_read_card(card, dir);
	if (file_link_base(dir, "driver", driver, 64) < 0)
		driver[0] = '\0';
	if (file_link_base(dir, "physfn", base, sizeof(base)) == 0) {
		if (faccessat(dir, "nvidia/current_vgpu_type", F_OK, 0) == 0)
			return IS_VARIANT;
		return strcmp(driver, "nvidia") == 0 ? NO_TYPES : IS_VF;
	}
	if (!card->nvidia)
		return OTHER_VENDOR;
	if (strcmp(driver, "nvidia") != 0)
		return OTHER_DRIVER;
	if (faccessat(dir, "virtfn0/nvidia/current_vgpu_type", F_OK, 0) == 0)
		return IS_VARIANT;
	card->nvfs = (int)read_count(card->address, dir, "sriov_numvfs");
	card->sriov = card->nvfs > 0 ||
		      (read_count(card->address, dir, "sriov_totalvfs") > 0 && !is_turing(card->device));
	return card->sriov && card->nvfs == 0 ? VFS_OFF : NO_TYPES;
}

static void explain(struct inv_pgpu *card, enum state state, const char *driver)
{
	switch (state) {
	case OTHER_VENDOR:
	case OTHER_DRIVER:
	case IS_VF:
		if (!*driver)
			inv_not_ready(card, "no driver is bound to it: load the vGPU host driver");
		else if (strcmp(driver, "i915") == 0)
			inv_not_ready(card,
				      "its driver has registered no mdev types: load kvmgt, with i915.enable_gvt=1");
		else if (state == OTHER_DRIVER)
			inv_not_ready(card, "it is bound to the driver %s: vGPUs need nvidia's host driver", driver);
		else
			inv_not_ready(card, "its driver, %s, has registered no mdev types for it", driver);
		break;
	case IS_VARIANT:
		inv_not_ready(
			card,
			"its VFs take a type (NVIDIA's vendor-specific VFIO framework, <hostdev type='pci'>): it makes no mdevs");
		break;
	case VFS_OFF:
		inv_not_ready(
			card,
			"its VFs are not enabled: run 'systemctl restart vgpu-sriov@%s', and enable it for each boot",
			card->address);
		break;
	case NO_TYPES:
		inv_not_ready(
			card,
			"no vGPU types registered yet: nvidia-vgpud has not finished, or failed; see its journal");
		break;
	}
}

int inv_open_card(const struct host *host, const char *address)
{
	char path[64], pci[PCI_SIZE];

	if (!pci_parse(pci, address) || strcmp(pci, address) != 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s", pci);
	return openat(host->root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool inventory_physfn(const struct host *host, const char *address, char physfn[PCI_SIZE])
{
	char path[64], pci[PCI_SIZE], base[PCI_SIZE];

	if (!pci_parse(pci, address))
		return false;
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/physfn", pci);
	return file_link_base(host->root, path, base, sizeof(base)) == 0 && pci_parse(physfn, base);
}

bool inventory_vf_going(const struct host *host, const char *address)
{
	autoclose int dir = inv_open_card(host, address);

	return dir >= 0 && is_going(dir);
}

bool inventory_card(const struct host *host, const char *address, struct inv_pgpu *card)
{
	*card = (struct inv_pgpu){ .numa = UNKNOWN };
	if (!pci_parse(card->address, address))
		return false;
	autoclose int dir = inv_open_card(host, card->address);
	if (dir < 0)
		return false;
	inv_read_card(card, dir);
	return true;
}

/* The kernel disables VFs from the first one on, and waits at one that a guest has: then later ones are there. */
static bool vfs_are_going(const char *address, int dir)
{
	long total = read_count(address, dir, "sriov_totalvfs");
	char link[32];

	if (faccessat(dir, "virtfn0", F_OK, 0) == 0)
		return false;
	for (long n = 1; n < total; n++) {
		snprintf(link, sizeof(link), "virtfn%ld", n);
		if (faccessat(dir, link, F_OK, 0) == 0)
			return true;
	}
	return false;
}

/* A card that is named for its plain VFs, and has none; or a VF that is not among the card's. */
static void explain_plain(struct inv_pgpu *card, int dir)
{
	autoclose int physfn = openat(dir, "physfn", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[64];

	if (vfs_are_going(card->address, physfn >= 0 ? physfn : dir))
		inv_not_ready(card, "%s VFs are being disabled, but a guest still has one: shut down that guest",
			      physfn >= 0 ? "its card's" : "its");
	else if (file_link_base(dir, "physfn", name, sizeof(name)) == 0 ||
		 file_link_base(dir, "virtfn0", name, sizeof(name)) == 0)
		inv_not_ready(card, "its VFs are not plain ones: NVIDIA's have types, and [mdev_TYPE] gives them out");
	else if (read_count(card->address, dir, "sriov_totalvfs") > 0)
		inv_not_ready(card,
			      "its VFs are not enabled: see sriov_numvfs, and the vendor's way to set it at boot");
	else
		inv_not_ready(card, "it can have no VFs: SR-IOV is off, or its driver does not know it");
}

void inventory_explain_card(const struct host *host, const char *address, bool plain, char reason[REASON_SIZE])
{
	struct inv_pgpu card = { .framework = FW_MDEV, .numa = UNKNOWN, .ready = true };
	char driver[64] = "";

	if (!pci_parse(card.address, address)) {
		snprintf(reason, REASON_SIZE,
			 "no parent of this name is in /sys/class/mdev_bus: is its driver loaded?");
		return;
	}
	autoclose int dir = inv_open_card(host, card.address);
	if (dir < 0)
		inv_not_ready(&card, "%s", errno == ENOENT ? "no PCI device has this address" : err_describe(errno));
	else if (is_going(dir))
		inv_not_ready(&card, "it is being disabled, but a guest still has it: shut down that guest");
	else if (plain)
		explain_plain(&card, dir);
	else
		explain(&card, card_state(&card, dir, driver), driver);
	memcpy(reason, card.reason, REASON_SIZE);
}

static bool is_display(int dir)
{
	char text[16];

	return file_read(dir, "class", text, sizeof(text)) > 0 && strncmp(text, "0x03", 4) == 0;
}

static int by_address(const void *a, const void *b)
{
	return strcmp(((const struct inv_pci *)a)->card.address, ((const struct inv_pci *)b)->card.address);
}

int inventory_pci(const struct host *host, struct inv_pci **out, size_t *n, struct err *err)
{
	autoclosedir DIR *d = NULL;
	const struct dirent *e;
	int r = host_list(&d, host, "sys/bus/pci/devices", err);

	*out = NULL;
	*n = 0;
	if (!d)
		return r;
	while ((e = readdir(d))) {
		struct inv_pci device = { 0 };

		autoclose int dir = file_dir(file_list_fd(d), e->d_name);
		if (e->d_name[0] == '.' || dir < 0 || faccessat(dir, "physfn", F_OK, 0) == 0 || is_going(dir) ||
		    !inventory_card(host, e->d_name, &device.card))
			continue;
		device.display = is_display(dir);
		inv_append(out, n, &device, sizeof(device));
	}
	if (*n > 1)
		qsort(*out, *n, sizeof(**out), by_address);
	return 0;
}

/* Is there a pGPU or parent of this address? */
static bool is_known(const struct inventory *inv, const char *address)
{
	/* Before inv_order: the parents are sorted by name, the pGPUs by nothing. */
	return inv_find_pgpu(inv, address) != UNKNOWN ||
	       (inv->nparents && bsearch(address, inv->parents, inv->nparents, sizeof(*inv->parents), inv_by_name));
}

int inv_read_absent(struct inv_reader *reader, struct err *err)
{
	struct inventory *inv = reader->inv;
	const struct dirent *e;
	autoclosedir DIR *d = NULL;
	int r = reader->types ? 0 : host_list(&d, reader->host, "sys/bus/pci/devices", err);

	while (d && (e = readdir(d))) {
		struct inv_pgpu card = { .framework = FW_MDEV, .numa = UNKNOWN, .ready = true };
		char pci[PCI_SIZE], driver[64];
		enum state state;

		if (!pci_parse(pci, e->d_name) || strcmp(pci, e->d_name) != 0 || is_known(inv, pci))
			continue;
		text_copy(card.address, sizeof(card.address), pci);
		autoclose int dir = file_dir(file_list_fd(d), pci);
		if (dir < 0 || !is_display(dir) || is_going(dir))
			continue;
		state = card_state(&card, dir, driver);
		if (state != VFS_OFF && state != NO_TYPES)
			continue;
		explain(&card, state, driver);
		inv_append(&inv->pgpus, &inv->npgpus, &card, sizeof(card));
	}
	return r;
}
