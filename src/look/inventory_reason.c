/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds configured cards that provide no vGPUs, and explains which setup step is missing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "base/text.h"
#include "state/history.h"
#include "sys/timed_child.h"

enum { DRIVER_SIZE = 64 };

/* Reads a count with a time limit: sriov_numvfs blocks while the driver or the VFs change. 0: also if not known. */
static long read_count(const char *address, int card, const char *attribute)
{
	char text[16];
	long n;

	return timed_child_read(address, card, attribute, text, sizeof(text)) > 0 && text_number(text, 0, 65535, &n)
		       ? n
		       : 0;
}

/*
 * Ampere and later GPUs (devices 2000 and up) have their vGPUs on VFs. Turing GPUs (before 2000, and 2180 to 21ff) have
 * SR-IOV, but NVIDIA's drivers create their vGPUs on the card itself.
 */
static bool needs_vfs(const struct inv_pgpu *card)
{
	long device = strtol(card->device, NULL, 16);

	return device >= 0x2000 && !(device >= 0x2180 && device <= 0x21ff);
}

/* GVT-g is in Intel GPUs from Broadwell to Comet Lake. Source: kernel i915/intel_gvt.c, i915_pciids.h. */
static bool has_gvtg(const struct inv_pgpu *card)
{
	static const char *const models[] = { "16", "19", "59", "5a", "3e", "87", "9b", "0a84", "1a84", "1a85" };

	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		if (strncmp(card->device, models[i], strlen(models[i])) == 0)
			return true;
	return false;
}

/* True if the card has VFs, and all are without the nvidia driver. Sets `other` to a driver of theirs; "": none. */
static bool lacks_nvidia(const struct inv_pgpu *card, int dir, char other[DRIVER_SIZE])
{
	char path[32], driver[DRIVER_SIZE];

	*other = '\0';
	for (int n = 0; n < card->nvfs; n++) {
		snprintf(path, sizeof(path), "virtfn%d/driver", n);
		if (sys_link(dir, path, driver, sizeof(driver)) < 0)
			continue;
		if (strcmp(driver, "nvidia") == 0)
			return false;
		memcpy(other, driver, sizeof(driver));
	}
	return card->nvfs && sys_exists(dir, "virtfn0");
}

/* Explains why a card or VF of the nvidia driver offers no type. Only the vGPU host driver has the module. */
static void explain_nvidia(struct inv_pgpu *card, const struct host *host, int dir, bool is_vf)
{
	bool can_have = !is_vf && needs_vfs(card) && read_count(card->address, dir, "sriov_totalvfs") > 0;
	char other[DRIVER_SIZE];

	card->nvfs = is_vf ? 0 : (int)read_count(card->address, dir, "sriov_numvfs");
	card->sriov = card->nvfs > 0 || can_have;
	if (!sys_exists(host->root, "sys/module/nvidia_vgpu_vfio"))
		inv_not_ready(
			card,
			"its driver supports no vGPUs; the module nvidia_vgpu_vfio of the vGPU host driver is not loaded");
	else if (can_have && card->nvfs == 0)
		inv_not_ready(
			card,
			"its VFs are not enabled; run 'systemctl restart vgpu-sriov@%s', and enable this unit for each boot",
			card->address);
	else if (!is_vf && !card->sriov && needs_vfs(card))
		inv_not_ready(card, sys_exists(dir, "sriov_totalvfs")
					    ? "it cannot have VFs (sriov_totalvfs is 0); enable SR-IOV and Above 4G "
					      "Decoding in the firmware setup"
					    : "it has no SR-IOV capability, which its vGPUs need; enable SR-IOV in the "
					      "firmware setup (troubleshooting: it-has-no-sr-iov-capability)");
	else if (!lacks_nvidia(card, dir, other))
		inv_not_ready(card, INV_NO_TYPES_YET);
	else if (*other)
		inv_not_ready(card, "its VFs are bound to driver %s; unbind them, and bind them to nvidia", other);
	else
		inv_not_ready(card,
			      "no driver is bound to its VFs; bind them to nvidia, or reset them with "
			      "'systemctl restart vgpu-sriov@%s'",
			      card->address);
}

#define TYPED "nvidia/current_vgpu_type"

/* Explains why a card or VF is not a parent of mdevs. */
static void explain(struct inv_pgpu *card, const struct host *host, int dir)
{
	bool is_vf = sys_exists(dir, "physfn");
	char driver[DRIVER_SIZE];

	sys_link(dir, "driver", driver, sizeof(driver));
	if (sys_exists(dir, is_vf ? TYPED : "virtfn0/" TYPED))
		inv_not_ready(
			card,
			"it provides vGPUs on VFs (NVIDIA's vendor-specific VFIO framework), not mdevs; use <hostdev type='pci'>");
	else if (!*driver)
		inv_not_ready(card,
			      card->nvidia && sys_exists(host->root, "sys/bus/pci/drivers/nvidia")
				      ? "no driver is bound to it, although nvidia is loaded; bind it, and see dmesg"
				      : "no driver is bound to it; load the vGPU host driver");
	else if (strcmp(driver, "nvidia") == 0)
		explain_nvidia(card, host, dir, is_vf);
	else if (strcmp(driver, "i915") == 0)
		inv_not_ready(card,
			      has_gvtg(card)
				      ? "its driver has registered no mdev types; load kvmgt with i915.enable_gvt=1"
				      : "its model has no GVT-g; only VFs of it can be vGPUs, in [vf_NAME]");
	else if (card->nvidia)
		inv_not_ready(card, "it is bound to driver %s; vGPUs need NVIDIA's host driver", driver);
	else if (strstr(driver, "vfio"))
		inv_not_ready(card, "it is bound to driver %s; vGPUs need the vendor's driver", driver);
	else
		inv_not_ready(card, "its driver, %s, has registered no mdev types for it", driver);
}

void inventory_no_offer(const struct inv_pgpu *card, char reason[REASON_SIZE])
{
	if (card->nvidia)
		snprintf(reason, REASON_SIZE,
			 "its driver offers no vGPU of any type now; in MIG mode it does once 'nvidia-smi mig -i %s "
			 "-cgi PROFILE -C' has made a GPU instance, otherwise see dmesg",
			 card->address);
	else
		text_copy(reason, REASON_SIZE, "its driver offers no vGPU of any type now; see dmesg");
}

bool inventory_is_given(const struct host *host, const char *address)
{
	autoclose int dir = inventory_open(host, address);
	char driver[DRIVER_SIZE];

	return dir >= 0 && sys_link(dir, "driver", driver, sizeof(driver)) >= 0 && strstr(driver, "vfio");
}

/* Are VFs being disabled? The kernel disables VFs in order, and waits for a VF that a guest uses. */
static bool vfs_are_going(const char *address, int dir)
{
	long total = read_count(address, dir, "sriov_totalvfs");
	char vf[PCI_SIZE];
	long n = 0;

	while (n < total && !inv_read_virtfn(vf, dir, (size_t)n))
		n++;
	return n > 0 && n < total;
}

/* Explains why a card configured for plain VFs has none, or why a VF is not a plain VF. */
static void explain_plain(struct inv_pgpu *card, const struct host *host, int dir)
{
	autoclose int physfn = sys_dir(dir, "physfn");

	if (vfs_are_going(card->address, physfn >= 0 ? physfn : dir))
		inv_not_ready(card, "%s VFs are being disabled, but a guest still has one; shut down that guest",
			      physfn >= 0 ? "its card's" : "its");
	else if (physfn >= 0 || sys_exists(dir, "virtfn0"))
		inv_not_ready(card, INV_NEEDS_TYPE);
	else if (inventory_is_given(host, card->address))
		explain(card, host, dir);
	else if (read_count(card->address, dir, "sriov_totalvfs") > 0)
		inv_not_ready(card, "its VFs are not enabled; set sriov_numvfs, at each boot in the way that the "
				    "vendor documents");
	else
		inv_not_ready(card, "it cannot have VFs; SR-IOV is off, or its driver does not support it");
}

bool inv_explain_gpu(struct inv_pgpu *card, const struct host *host, int dir, bool any)
{
	bool amd = strcmp(card->vendor, "1002") == 0, has_sriov = sys_exists(dir, "sriov_totalvfs");
	char driver[DRIVER_SIZE];

	sys_link(dir, "driver", driver, sizeof(driver));
	if (card->nvidia && (any || strcmp(driver, "nvidia") == 0)) {
		explain(card, host, dir);
		return !sys_exists(dir, "virtfn0/" TYPED);
	}
	if (!any || (!amd && strcmp(card->vendor, "8086") != 0))
		return false;
	/* Without SR-IOV, only GPUs with GVT-g, and AMD accelerators with SR-IOV switched off, can have vGPUs. */
	if (!has_sriov && (amd ? inv_read_class(dir) != PCI_ACCELERATOR : !has_gvtg(card)))
		return false;
	if (!*driver || (!amd && !has_sriov)) {
		explain(card, host, dir);
		return true;
	}
	card->framework = FW_VF;
	card->sriov = has_sriov;
	card->nvfs = (int)read_count(card->address, dir, "sriov_numvfs");
	if (card->nvfs > 0)
		inv_not_ready(card, "its VFs are plain ones; name it in [vf_NAME]");
	else
		explain_plain(card, host, dir);
	return true;
}

static void explain_no_vf(struct inv_pgpu *card, const struct host *host)
{
	autoclose int dir = inventory_open(host, card->address);
	bool going = vfs_are_going(card->address, dir);
	/* sriov_numvfs does not answer while VFs are being disabled. */
	long n = going ? 0 : read_count(card->address, dir, "sriov_numvfs");

	if (n > 0)
		inv_not_ready(card, "only %ld of its %ld VFs are enabled; see sriov_numvfs", n,
			      read_count(card->address, dir, "sriov_totalvfs"));
	else if (!going && card->nvidia)
		explain(card, host, dir);
	else
		explain_plain(card, host, dir);
}

void inventory_explain_card(const struct host *host, const char *address, bool plain, char reason[REASON_SIZE])
{
	struct inv_pgpu card, could;
	char pci[PCI_SIZE];

	if (!pci_parse(pci, address)) {
		autoclose int bus = sys_dir(host->root, "sys/class/mdev_bus");

		snprintf(reason, REASON_SIZE, "%s",
			 inv_has_other_kind(bus, address)
				 ? "its mdevs are not vGPUs (device_api is not vfio-pci)"
				 : "no such parent in /sys/class/mdev_bus; check that its driver is loaded");
		return;
	}
	autoclose int dir = inventory_open(host, pci);

	inventory_read_card(host, pci, &card);
	if (dir < 0 && inventory_vf_card(host, pci, &could)) {
		explain_no_vf(&could, host);
		inv_not_ready(&card, "its card is %s; %s", could.address, could.reason);
	} else if (dir < 0) {
		inv_not_ready(&card, "%s", dir == -ENOENT ? "no PCI device has this address" : err_describe(-dir));
	} else if (inv_kind(dir) == PCI_GOING_VF) {
		inv_not_ready(&card, "it is being disabled, but a guest still has it; shut down that guest");
	} else if (plain) {
		explain_plain(&card, host, dir);
	} else {
		explain(&card, host, dir);
	}
	memcpy(reason, card.reason, REASON_SIZE);
}

struct found {
	struct missing_card *list;
	size_t n;
	const struct host *host;
	const struct inventory *inv;
};

/* The vendor whose GPUs alone have the type; "": not known. */
static const char *vendor_of(const char *type)
{
	return strncmp(type, "nvidia-", 7) == 0 ? "10de" : strncmp(type, "i915-", 5) == 0 ? "8086" : "";
}

/* Is the device a GPU of a vendor that can have this type? */
static bool is_gpu_for(const struct inv_pgpu *device, const char *type)
{
	const char *only = vendor_of(type), *vendor = device->vendor;

	return device->gpu && (*only ? strcmp(vendor, only) == 0
				     : device->nvidia || strcmp(vendor, "8086") == 0 || strcmp(vendor, "1002") == 0);
}

/* Is the device of a vendor or kind that can never have the type? */
static bool is_other(const struct inv_pgpu *device, const char *type)
{
	return *device->vendor && *vendor_of(type) && !is_gpu_for(device, type);
}

static const struct inv_pgpu *card_at(const struct found *found, const char *address)
{
	const struct inv_parent *vf = inventory_parent(found->inv, address);

	return vf ? vf->card : inventory_pgpu(found->inv, address);
}

static void add_missing(struct found *found, enum missing_how how, const struct section *section,
			const struct location *at, const char *address)
{
	struct missing_card *missing = mem_add(&found->list, &found->n, sizeof(*missing));
	const struct inv_pgpu *card = card_at(found, address);
	/* More precise than inventory_explain_card(); "": the inventory does not say. */
	const char *reason = !card                                     ? ""
			     : !card->ready                            ? card->reason
			     : section->vf && card->framework != FW_VF ? INV_NEEDS_TYPE
								       : card->pool.reason;

	missing->how = how;
	missing->section = section;
	if (at)
		missing->at = *at;
	inventory_read_card(found->host, address, &missing->card);
	text_copy(missing->card.address, sizeof(missing->card.address), address);
	missing->card.ready = false;
	missing->card.framework = section->vf ? FW_VF : FW_MDEV;
	if (inv_is_moved(&missing->card, found->host, address) &&
	    pool_moved(section, &missing->card, missing->card.reason))
		return;
	if (is_other(&missing->card, section->type))
		snprintf(missing->card.reason, REASON_SIZE, "it is %s:%s, %s, not an %s GPU; correct %s",
			 missing->card.vendor, missing->card.device, inventory_class(found->host, address),
			 section->type[0] == 'n' ? "NVIDIA" : "Intel",
			 how == MISSING_MATCHED ? "device_match" : "device_addresses");
	else if (*reason)
		text_copy(missing->card.reason, sizeof(missing->card.reason), reason);
	else
		inventory_explain_card(found->host, address, section->vf, missing->card.reason);
}

static void add_named(struct found *found, const struct section *section)
{
	for (EACH(const struct item *, address, section->addresses, section->naddresses)) {
		const struct inv_pgpu *card = card_at(found, address->text);

		if (!card || section->vf != (card->framework == FW_VF))
			add_missing(found, MISSING_NAMED, section, &address->at, address->text);
	}
}

static bool provides_nothing(const struct found *found, const char *address)
{
	const struct inv_pgpu *card = inventory_pgpu(found->inv, address);

	return !card || !card->ready;
}

static void add_matched(struct found *found, const struct section *section)
{
	for (size_t d = 0; d < found->inv->npci; d++) {
		const struct inv_pgpu *device = found->inv->pci[d];

		for (EACH(const struct match *, match, section->matches, section->nmatches)) {
			/* A match without a device ID selects only GPUs that can have the type. */
			if (!pool_match(match, device) || !(*match->device || is_gpu_for(device, section->type)) ||
			    inventory_pgpu(found->inv, device->address) || pool_section_names(section, device->address))
				continue;
			add_missing(found, MISSING_MATCHED, section, &match->at, device->address);
			break;
		}
	}
}

/* Adds missing parents of earlier vGPUs of the type, such as a virtual parent whose driver is not loaded. */
static void add_remembered(struct found *found, const struct section *section)
{
	autofree char(*parents)[PARENT_SIZE] = NULL;
	size_t n = affinity_parents(found->host, section->type, &parents);

	for (size_t i = 0; i < n; i++) {
		struct inv_pgpu card;
		const char *address = inventory_vf_card(found->host, parents[i], &card) ? card.address : parents[i];
		bool known = !provides_nothing(found, address) ||
			     (inventory_read_card(found->host, address, &card) && is_other(&card, section->type));

		for (size_t k = 0; k < found->n && !known; k++)
			known = strcmp(found->list[k].card.address, address) == 0;
		if (!known)
			add_missing(found, MISSING_REMEMBERED, section, NULL, address);
	}
}

static void add_idle(struct found *found, const struct section *section)
{
	if (!config_takes_rest(section))
		return;
	for (size_t g = 0; g < found->inv->npgpus; g++)
		if (pool_serves(found->inv->pgpus[g], section->type))
			return;
	for (size_t d = 0; d < found->inv->npci; d++) {
		const struct inv_pgpu *device = found->inv->pci[d];

		if (is_gpu_for(device, section->type) && provides_nothing(found, device->address) &&
		    !pool_names(found->inv->config, device, ""))
			add_missing(found, MISSING_IDLE, section, NULL, device->address);
	}
	add_remembered(found, section);
}

size_t missing_cards(struct missing_card **out, const struct host *host, const struct inventory *inv)
{
	struct found found = { .host = host, .inv = inv };

	for (EACH(const struct section *, section, inv->config->sections, inv->config->nsections)) {
		add_named(&found, section);
		add_matched(&found, section);
		add_idle(&found, section);
	}
	*out = found.list;
	return found.n;
}
