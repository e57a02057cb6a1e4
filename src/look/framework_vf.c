/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cards with plain SR-IOV VFs, which are leased under a configured name in place of a type. They always exist. No VF is
 * listed as a device, because the kernel does not show that a guest uses one.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "look/pool.h"
#include "base/text.h"

/*
 * Does the device's driver prevent guests from using the device's IOMMU group? Bridge drivers, pci-stub and VFIO
 * drivers do not. The directory vfio-dev shows that NVIDIA's driver for VFs is a VFIO driver (kernel 6.1). Sets
 * `driver`; "": none.
 */
static bool keeps_group(int device, char driver[24])
{
	sys_link(device, "driver", driver, 24);
	return *driver && !strstr(driver, "vfio") && !sys_exists(device, "vfio-dev") &&
	       strcmp(driver, "pci-stub") != 0 && inv_read_class(device) != PCI_BRIDGE;
}

bool inv_read_iommu_group(struct inv_parent *parent, int vf, const char *card)
{
	autoclosedir DIR *devices = sys_list(vf, "iommu_group/devices");
	char address[PCI_SIZE], driver[24], pf[PCI_SIZE];
	bool alone = true;

	sys_link(vf, "iommu_group", parent->group, sizeof(parent->group));
	while (!*parent->beside && inventory_next_name(devices, pci_parse, address)) {
		if (strcmp(address, parent->name) == 0)
			continue;
		alone = false;
		autoclose int device = sys_dir(sys_list_fd(devices), address);
		if (device < 0 || !keeps_group(device, driver) ||
		    (sys_link(device, "physfn", pf, sizeof(pf)) == 0 && strcmp(pf, card) == 0))
			continue;
		text_copy(parent->beside, sizeof(parent->beside), address);
		text_copy(parent->beside_driver, sizeof(parent->beside_driver), driver);
	}
	return alone;
}

void inv_ungrouped(struct inv_pgpu *card)
{
	card->ungrouped = true;
	inv_not_ready(card, "its VFs have no IOMMU group, because the IOMMU is off; enable VT-d or AMD-Vi in the "
			    "firmware, and on Intel boot with intel_iommu=on");
}

/* Adds the card's VFs as parents. True if any VF has an IOMMU group. */
static bool read_vfs(struct inventory *inv, struct inv_pgpu *pgpu, int card)
{
	char vf[PCI_SIZE], path[32];
	bool grouped = false;

	for (size_t n = 0; n < UINT16_MAX && inv_read_virtfn(vf, card, n); n++) {
		struct inv_parent parent = { .card = pgpu };

		text_copy(parent.name, sizeof(parent.name), vf);
		snprintf(path, sizeof(path), "virtfn%zu", n);
		autoclose int dir = sys_dir(card, path);
		if (dir < 0)
			continue;
		parent.keeps_group = keeps_group(dir, parent.driver);
		inv_read_iommu_group(&parent, dir, pgpu->address);
		grouped |= *parent.group;
		inv_add(&inv->parents, &inv->nparents, &parent, sizeof(parent));
	}
	return grouped;
}

static void offer_name(struct inventory *inv, struct inv_pgpu *card, const char *name)
{
	struct inv_type *type = inv_find_type(inv, card, name);

	text_copy(type->name, sizeof(type->name), name);
	inv_offer_type(card, type, 1);
}

bool card_record_now(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address)
{
	struct inv_pgpu card;

	if (!inventory_read_card(host, address, &card) || !*card.vendor || !*card.device)
		return false;
	snprintf(text, INV_IDENTITY_SIZE, "%s:%s:%s", card.vendor, card.device, card.subsystem);
	return true;
}

bool card_record_read(char text[INV_IDENTITY_SIZE], const struct host *host, const char *address)
{
	char path[sizeof(CARD_RECORDS) + PARENT_SIZE], line[INV_IDENTITY_SIZE + 1];

	snprintf(path, sizeof(path), CARD_RECORDS "/%s", address);
	return sys_read(host->root, path, line, sizeof(line)) > 0 && line[strspn(line, "0123456789abcdef:")] == '\0' &&
	       text_copy(text, INV_IDENTITY_SIZE, line);
}

bool inv_is_moved(struct inv_pgpu *card, const struct host *host, const char *address)
{
	if (!card_record_read(card->moved_was, host, address) || !card_record_now(card->moved_is, host, address) ||
	    strcmp(card->moved_was, card->moved_is) == 0)
		return false;
	return text_copy(card->moved, sizeof(card->moved), address);
}

static void vf_read_vfs(struct inv_reader *reader, struct inv_pgpu *card, int dir)
{
	struct inventory *inv = reader->inv;
	size_t had = inv->nparents;
	const struct config *config = reader->query->config;
	bool grouped = read_vfs(inv, card, dir), moved;
	char generic[TYPE_SIZE];

	/* pool_means() reads the card's parents. order() sets them again. */
	card->parents = inv->parents + had;
	card->nparents = (int)(inv->nparents - had);
	for (size_t i = 0; card->nparents && config && i < config->nsections; i++)
		if (config->sections[i].vf && pool_means(&config->sections[i], card))
			offer_name(inv, card, config->sections[i].type);
	snprintf(generic, sizeof(generic), "gpu-%s", card->device);
	if (!config && card->nparents && card->gpu && !card->nvidia)
		offer_name(inv, card, generic);
	if (!card->noffers)
		inv->nparents = had;
	else if (!grouped)
		inv_ungrouped(card);
	moved = !card->noffers || inv_is_moved(card, reader->host, card->address);
	for (int i = 0; i < card->nparents && !moved; i++)
		moved = inv_is_moved(card, reader->host, card->parents[i]->name);
	card->parents = NULL;
	card->nparents = 0;
}

static int vf_available(const struct host *host, const struct vgpu_ref *vgpu, struct err *err)
{
	char path[VGPU_PATH_SIZE];

	if (inventory_path(path, vgpu->id, "/physfn", err) < 0)
		return -err->code;
	return sys_exists(host->root, path) ? 1 : err_sys(err, errno, "VF %s", vgpu->id);
}

static int vf_look(const struct host *host, const struct vgpu_ref *vgpu, char type[TYPE_SIZE], struct err *err)
{
	autoclose int dir = inventory_open(host, vgpu->id);

	type[0] = '\0';
	if (dir >= 0 && inv_kind(dir) >= PCI_VF)
		return 1;
	return err_sys(err, dir < 0 ? -dir : ENOENT, "VF %s", vgpu->id);
}

const struct framework_ops framework_vf = {
	.read_vfs = vf_read_vfs,
	.available = vf_available,
	.look = vf_look,
};
