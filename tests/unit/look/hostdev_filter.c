/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which PCI hostdevs are vGPUs of ours: the metadata, the configuration and the leases, a row each. */
#include "look/hostdev_filter.h"

#include "lib/config_text.h"
#include "lib/tree.h"
#include "lib/xml.h"

/* 41:00.1 and 41:00.2 are VFs of 41:00.0, the second takes a type; 41:00.0 itself and 07:00.0 are none. */
#define DEVICES VF_XML("41", "1") VF_XML("41", "2") VF_XML("41", "0") VF_XML("07", "0")

static const char host_text[] = "sys/bus/pci/devices/\n 0000:07:00.0/modalias = pci:v00008086d00000000\n"
				" 0000:41:00.1/physfn -> ../0000:41:00.0\n 0000:41:00.2/physfn -> ../0000:41:00.0\n"
				"sys/bus/pci/devices/0000:41:00.2/nvidia/current_vgpu_type = 0\n"
				"sys/bus/pci/devices/0000:41:00.0/\n"
				" modalias = pci:v00008086d000056C0sv0sd0bc03sc80i00\n"
				" virtfn0 -> ../0000:41:00.1\n virtfn1 -> ../0000:41:00.2\n";

static const struct row {
	const char *says, *metadata, *config; /* config NULL: not valid */
	const char *leased, *domain;          /* the leased VF and its domain; NULL none */
	const char *kept;
} rows[] = {
	{ "without a pool and metadata none is ours", "", "", NULL, NULL, "" },
	{ "one that the metadata name is", "<v:device address='0000:07:00.0'/>", "", NULL, NULL, "0000:07:00.0" },
	{ "all VFs of a configured card are, not the card itself", "", "vf_flex@0000:41:00.0", NULL, NULL,
	  "0000:41:00.1 0000:41:00.2" },
	{ "of a card whose VFs are named, these", "", "vf_flex@0000:41:00.2", NULL, NULL, "0000:41:00.2" },
	{ "what the domain leases is, whatever is configured by now", "", "", "0000:41:00.1", VM, "0000:41:00.1" },
	{ "without a valid configuration a VF that takes a type is, a plain one is not known", "", NULL, NULL, NULL,
	  "0000:41:00.2" },
	{ "not what is leased to another", "", "", "0000:41:00.1", OTHER, "" },
};

static struct config config;

static void keep(const struct tree *tree, const struct row *row)
{
	char xml[4096], got[256] = "";
	struct lease lease = { 0 };
	struct leases leases = { .list = &lease, .n = row->leased ? 1 : 0 };
	autodomxml struct domxml *doc = NULL;
	struct err err = { 0 };
	const struct request *request;

	snprintf(xml, sizeof(xml), DOMAIN(LEASE("%s"), DEVICES), row->metadata);
	if (row->leased) {
		text_copy(lease.vgpu.id, sizeof(lease.vgpu.id), row->leased);
		text_copy(lease.domain, sizeof(lease.domain), row->domain);
	}
	config_of_words(&config, row->config ? row->config : "");
	config.why.code = row->config ? 0 : ENOENT;
	if (domxml_parse(&doc, xml, strlen(xml), DOMXML_ALL_PCI, &err) < 0)
		tree_fail(err.text);
	hostdev_filter_keep(doc, &tree->host, &config, &leases);
	request = domxml_request(doc);
	for (size_t i = 0; i < request->nvgpus; i++)
		text_add(got, sizeof(got), "%s%s", i ? " " : "", request->vgpus[i].id);
	is(got, row->kept, row->says);
	config_free(&config);
}

int main(void)
{
	TREE(tree, host_text);
	for (ROWS(row, rows))
		keep(&tree, row);
	ok(!hostdev_filter_possible(&(struct config){ 0 }), "without a section the pool can have no VFs");
	config_of_words(&config, "vf_flex@0000:41:00.0");
	ok(hostdev_filter_possible(&config), "with one of plain VFs it can");
	config_free(&config);
	config_of_words(&config, "flex");
	ok(!hostdev_filter_possible(&config), "with one of mdevs that are none of NVIDIA's it cannot");
	ok(!hostdev_filter_leased(&tree.host, VM), "a host without leases has none for the domain");
	return tap_done();
}
