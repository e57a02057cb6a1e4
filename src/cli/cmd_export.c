/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease export: print this host's vGPUs in OpenStack's formats. metrics: print the host's state for Prometheus. */
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "act/gc.h"
#include "decide/capacity.h"
#include "decide/nova_inventory.h"

enum { HOST_SIZE = 256 };

/* Includes the VFs of a full card, because Nova adds their providers once the card has capacity. */
static void print_provider_config(const struct nova_inventory *nova, const char *host)
{
	size_t n = 0;

	fputs("# Written by 'vgpu-lease export nova-provider-config', for /etc/nova/provider_config.\n"
	      "meta:\n"
	      "  schema_version: '1.0'\n"
	      "providers:",
	      stdout);
	for (EACH(const struct nova_provider *, provider, nova->providers, nova->n)) {
		char traits[NOVA_TRAITS][TRAIT_SIZE];

		if (provider->limited)
			continue;
		nova_traits(traits, provider);
		printf("%s  - identification:\n      name: '%s_%s'\n    traits:\n      additional:\n", n++ ? "" : "\n",
		       host, provider->device);
		for (int t = 0; t < NOVA_TRAITS; t++)
			if (*traits[t])
				printf("        - '%s'\n", traits[t]);
	}
	fputs(n ? "" : " []\n", stdout);
}

static const struct table_layout layout = {
	.columns = { COL_PROVIDER, COL_TYPE, COL_CLASS, COL_USED, COL_AVAILABLE, COL_TOTAL, COL_NOTE },
	.more = { COL_TRAITS },
	.narrow = { COL_CLASS, COL_AVAILABLE, COL_USED },
};

static void print_traits(struct rows *rows, const struct nova_provider *provider)
{
	char traits[NOVA_TRAITS][TRAIT_SIZE], list[NOVA_TRAITS * TRAIT_SIZE] = "";

	nova_traits(traits, provider);
	json_out_array(rows->json, "traits");
	for (int t = 0; t < NOVA_TRAITS; t++) {
		if (!*traits[t])
			continue;
		text_add(list, sizeof(list), "%s%s", *list ? "," : "", traits[t]);
		json_out_string(rows->json, NULL, traits[t]);
	}
	json_out_close(rows->json);
	table_text(&rows->table, COL_TRAITS, list);
}

static void print_placement(struct cmd *cmd, const struct nova_inventory *nova, const char *host)
{
	struct rows *rows = cmd_rows(cmd, &layout, "providers");

	for (EACH(const struct nova_provider *, p, nova->providers, nova->n)) {
		autofree char *name = mem_format("%s_%s", host, p->device);
		autofree char *note = NULL;

		if (p->limited)
			note = mem_format("max_instances = %d leaves too few for it, so Nova offers none",
					  p->section->max_instances);
		else if (*p->twice)
			note = mem_format("%s is defined for two parents; see 'vgpu-lease check'", p->twice);
		else if (p->defined)
			note = mem_format("%d of them only defined; see 'vgpu-lease check'", p->defined);
		row_begin(rows);
		row_text(rows, COL_PROVIDER, "name", name);
		json_out_string(rows->json, "parent", p->parent->name);
		row_text(rows, COL_TYPE, "type", p->section->type);
		row_text(rows, COL_CLASS, "class", p->section->class);
		table_number(&rows->table, COL_USED, p->existing + p->defined);
		json_out_number(rows->json, "existing", p->existing);
		json_out_number(rows->json, "defined", p->defined);
		row_number(rows, COL_AVAILABLE, "available", p->available);
		row_number(rows, COL_TOTAL, "total", p->total);
		print_traits(rows, p);
		row_text(rows, COL_NOTE, "note", note);
		row_end(rows);
	}
	cmd_rows_end(cmd);
}

/* Do VFs of this model have several types? Their PCI IDs are equal, so Nova needs a resource class per type. */
static bool shares_model(const struct inventory *inv, const struct inv_pgpu *card, const struct section *section)
{
	for (size_t i = 0; i < inv->nparents; i++) {
		const struct inv_parent *vf = inv->parents[i];
		const struct section *its = pool_section_of(vf);

		if (its && its != section && vf->card->pool.in_pool && strcmp(vf->card->vendor, card->vendor) == 0 &&
		    strcmp(vf->card->device, card->device) == 0)
			return true;
	}
	return false;
}

/* Can a guest have this VF beside those that are chosen? One guest gets the whole IOMMU group. */
static bool is_usable(const struct inv_parent *vf, const struct inv_parent *const *chosen, int n)
{
	bool usable = !*vf->beside && (*vf->group || vf->card->framework != FW_VF);

	for (int i = 0; i < n; i++)
		usable &= chosen[i] != vf && !(*vf->group && strcmp(chosen[i]->group, vf->group) == 0);
	return usable;
}

/* The type that the VF keeps when a guest ends; "": none. */
static const char *kept_type(const struct world *world, const struct inv_parent *vf)
{
	const struct inv_device *device = inventory_device(&world->inv, vf->name);
	const struct lease *lease = lease_find(&world->leases, vf->name);

	return device && !(lease && lease->origin == LEASE_CREATED) ? device->vgpu.type : "";
}

/* How many VFs can have the type, beside those that keep it and are configured for another type, or not at all. */
static int most_vfs(const struct world *world, const struct inv_pgpu *card, const struct section *section, int capacity)
{
	bool limited = section->max_instances != NO_LIMIT && section->max_instances < capacity;
	int most = limited ? section->max_instances : capacity;

	for (int i = 0; i < card->nparents && most > 0; i++)
		most -= pool_section_of(card->parents[i]) != section &&
			strcmp(kept_type(world, card->parents[i]), section->type) == 0;
	return most;
}

/* Chooses VFs for the type. First those that keep it when a guest ends, because they take capacity in any case. */
static int choose_vfs(const struct inv_parent **chosen, const struct world *world, const struct inv_pgpu *card,
		      const struct section *section, int most)
{
	const char *const kept[] = { section->type, "" };
	int n = 0;

	for (size_t k = 0; k < ARRAY_SIZE(kept); k++)
		for (int i = 0; i < card->nparents && n < most; i++)
			if (pool_section_of(card->parents[i]) == section && is_usable(card->parents[i], chosen, n) &&
			    strcmp(kept_type(world, card->parents[i]), kept[k]) == 0)
				chosen[n++] = card->parents[i];
	return n;
}

/*
 * Prints no more VFs of this type than the card can have, because Nova counts each VF as a device. Adds an alias per
 * type and model, and to `mib` the framebuffer of the VFs. True if Nova needs resource classes for this model.
 */
static bool print_vfs(const struct world *world, const struct inv_pgpu *card, const struct section *section,
		      char **aliases, int *mib)
{
	char trait[TRAIT_SIZE];
	bool shared = shares_model(&world->inv, card, section);
	/* The default class, VGPU, is for mdevs only. */
	const char *class = strncmp(section->class, "CUSTOM_", 7) == 0 ? section->class : shared ? trait : NULL;
	const char *migratable = card->framework == FW_VARIANT ? ", \"live_migratable\": \"yes\"" : "";
	const struct inv_offer *offer = inventory_offer(card, section->type);
	int i = 0, n, most, whole = capacity_framebuffer(world, card).whole;
	struct capacity_count count;
	struct inv_pgpu vf;

	while (i < card->nparents && pool_section_of(card->parents[i]) != section)
		i++;
	if (card->framework == FW_MDEV || !card->pool.in_pool || i == card->nparents ||
	    !inventory_read_card(world->host, card->parents[i]->name, &vf) ||
	    !capacity_count(&count, world, card, offer))
		return false;
	nova_type_trait(trait, section->type);
	autofree char *end = class ? mem_format(", \"resource_class\": \"%s\"}\n", class) : mem_strdup("}\n");
	most = most_vfs(world, card, section, count.capacity);
	printf("# %s: %s, at most %d of %d VFs\n", card->address, section->type, most, card->nparents);
	autofree const struct inv_parent **chosen = mem_new(card->nparents, sizeof(*chosen));
	n = choose_vfs(chosen, world, card, section, most);
	*mib += offer->type->framebuffer_mib > 0 ? n * offer->type->framebuffer_mib : 0;
	if (whole > 0 && *mib > whole)
		printf("# %s holds %d MiB, less than its VFs of all types; list fewer in device_addresses\n",
		       card->address, whole);
	/* "managed": "no" keeps a variant VF bound to the driver with which the hook sets the type. */
	for (i = 0; i < n; i++)
		printf("device_spec = {\"address\": \"%s\"%s%s%s", chosen[i]->name,
		       *migratable ? ", \"managed\": \"no\"" : "", migratable, end);
	autofree char *before = *aliases;
	autofree char *alias = mem_format(
		"alias = {\"name\": \"%s\", \"vendor_id\": \"%s\", \"product_id\": \"%s\", \"device_type\": \"type-VF\"%s%s",
		section->type, vf.vendor, vf.device, migratable, end);
	*aliases = mem_format("%s%s", before, strstr(before, alias) ? "" : alias);
	return shared;
}

static void print_pci(struct cmd *cmd)
{
	const struct inventory *inv = &cmd->world.inv;
	autofree char *aliases = mem_strdup("");
	bool shared = false;

	fputs("# Written by 'vgpu-lease export nova-pci', for Nova 2025.1 and later. nova-api and the scheduler need the\n"
	      "# alias as well. A flavor requests a VF with the property pci_passthrough:alias=NAME:1.\n"
	      "[pci]\n",
	      stdout);
	for (size_t g = 0; g < inv->npgpus; g++) {
		int mib = 0;

		for (EACH(const struct section *, section, cmd->config.sections, cmd->config.nsections))
			shared |= print_vfs(&cmd->world, inv->pgpus[g], section, &aliases, &mib);
	}
	if (shared)
		puts("# Only resource classes distinguish the types of one model, so pci_in_placement = true is required in\n"
		     "# [filter_scheduler].\n"
		     "report_in_placement = true");
	fputs(aliases, stdout);
}

static bool is_format(const struct cmd_call *call, const char *name)
{
	return strcmp(call->args.operands[0], name) == 0;
}

/* Placement limits a provider's name, HOST_DEVICE, to 200 characters. */
static bool is_host_name(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";

	return *name && strlen(name) < 150 && !name[strspn(name, letters)];
}

static int check(struct cmd_call *call, struct err *err)
{
	const char *format = call->args.operands[0];
	const bool placement = is_format(call, "placement");

	if (!placement && !is_format(call, "nova-provider-config") && !is_format(call, "nova-pci"))
		return err_set(err, EINVAL, "unknown format '%s': expected nova-provider-config, placement or nova-pci",
			       format);
	if (call->args.bits & CMD_TABLE && !placement)
		return err_set(err, EINVAL, "export %s takes no --json, --output, --sort or --no-headings", format);
	if (call->hostname && !is_host_name(call->hostname))
		return err_set(err, EINVAL, "invalid value '%s' of --hostname: expected a host name", call->hostname);
	return 0;
}

/* Finds the host name that libvirt reports to Nova, fully qualified if possible. */
static int find_hostname(char name[HOST_SIZE], struct err *err)
{
	const struct addrinfo hints = { .ai_flags = AI_CANONNAME, .ai_family = AF_UNSPEC };
	struct addrinfo *info = NULL;

	if (gethostname(name, HOST_SIZE - 1) < 0)
		return err_sys(err, errno, "host name");
	if (!strchr(name, '.') && strncmp(name, "localhost", 9) != 0 && getaddrinfo(name, NULL, &hints, &info) == 0) {
		if (info->ai_canonname && strncmp(info->ai_canonname, "localhost", 9) != 0)
			text_copy(name, HOST_SIZE, info->ai_canonname);
		freeaddrinfo(info);
	}
	return is_host_name(name) ? 0 : err_set(err, EINVAL, "the name of this host is not usable; use --hostname");
}

static int run(struct cmd *cmd, struct err *err)
{
	autofree struct definition *definitions = NULL;
	const char *given = cmd->call->hostname;
	struct nova_inventory nova;
	char host[HOST_SIZE];
	size_t n;

	if (is_format(cmd->call, "nova-pci")) {
		if (cmd_survey(cmd, err) < 0)
			return -err->code;
		print_pci(cmd);
		return CMD_DONE;
	}
	if (!cmd->config.policy.nova)
		return err_set(err, EPERM, "nova_conf is not set; name Nova's configuration in [devices]");
	if ((!given && find_hostname(host, err) < 0) || cmd_survey(cmd, err) < 0 ||
	    mdevctl_definitions(&definitions, &n, &cmd->host, NULL, err) < 0)
		return -err->code;
	nova_inventory_make(&nova, &cmd->world.inv, definitions, n);
	if (is_format(cmd->call, "placement"))
		print_placement(cmd, &nova, given ? given : host);
	else
		print_provider_config(&nova, given ? given : host);
	nova_inventory_free(&nova);
	return CMD_DONE;
}

const struct command cmd_export = {
	.name = "export",
	.operands = { "FORMAT" },
	.options = CMD_TABLE | CMD_HOSTNAME,
	.summary = "Print OpenStack configuration and inventory",
	.help = "FORMAT is one of:\n"
		"\n"
		"nova-provider-config  Traits of the resource providers, for provider_config\n"
		"placement             The resource providers, and what Nova counts on each\n"
		"nova-pci              Section [pci] of nova.conf for the VFs of the pool\n",
	.needs = CMD_CONFIG_MUST,
	.table = &layout,
	.check = check,
	.run = run,
};

static int metrics(struct cmd *cmd, struct err *err)
{
	if (cmd_survey(cmd, err) < 0)
		return -err->code;
	autogc struct gc pass = cmd_gc_pass(cmd);

	return gc_judge(&pass, err) < 0 ? -err->code
					: metrics_print(stdout, &cmd->world, &pass, config_is_valid(&cmd->config), err);
}

const struct command cmd_metrics = {
	.name = "metrics",
	.summary = "Print metrics for Prometheus",
	.help = "The output is in Prometheus' text format. With metrics = yes in [policy], the\n"
		"device handler also writes it to /run/vgpu-lease/metrics.prom after each pass.\n",
	.needs = CMD_CONFIG_READ,
	.run = metrics,
};
