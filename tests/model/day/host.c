/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A host for the simulated day. */
#include "model/day/host.h"

#include "decide/capacity.h"
#include "sim/instances.h"
#include "sim/topology.h"
#include "lib/config_text.h"
#include "lib/tree.h"

const int day_sizes[SIZES] = { 1, 2, 4, 8, 16, 24, 48 };

static void broken(struct host_day *host, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void broken(struct host_day *host, const char *fmt, ...)
{
	va_list ap;

	if (*host->broken)
		return;
	va_start(ap, fmt);
	vsnprintf(host->broken, sizeof(host->broken), fmt, ap);
	va_end(ap);
}

/* Is it a type of the Q series, in one of the sizes? Then its class says so. */
static bool is_served(const struct sim_type *type, int *gib)
{
	size_t len = strlen(type->name);

	*gib = type->size / 1024;
	for (int i = 0; i < SIZES && type->name[len - 1] == 'Q'; i++)
		if (day_sizes[i] == *gib && type->size % 1024 == 0)
			return true;
	return false;
}

/* All types that are asked for, each of a class by its size: every card serves all of its own. */
static void make_config(struct host_day *host, enum strategy strategy)
{
	char types[4096] = "", sections[4096] = "", text[8192 + 128];
	struct err err = { 0 };
	int gib;

	for (int i = 0; i < host->kernel.spec.nitems; i++)
		for (int t = 0; t < host->kernel.spec.items[i].ntypes; t++) {
			const struct sim_type *type = &host->kernel.spec.items[i].types[t];

			if (!is_served(type, &gib))
				continue;
			text_add(types, sizeof(types), "%s, ", type->id);
			text_add(sections, sizeof(sections), "\n[mdev_%s]\nmdev_class = CUSTOM_%dG", type->id, gib);
		}
	snprintf(text, sizeof(text),
		 "[policy]\npgpu_types = several\nplacement = %s\n[devices]\nenabled_mdev_types = %s%s",
		 strategy == SPREAD ? "spread" : "pack", types, sections);
	if (config_of_text(&host->config, "day.conf", text, strlen(text), &err) < 0)
		tree_fail(err.text);
}

/* Those types of the card's model that are served. */
static void add_types(struct inventory *inv, struct inv_pgpu *card, const struct sim_item *item)
{
	int gib;

	for (int t = 0; t < item->ntypes; t++) {
		size_t n = 0;

		if (!is_served(&item->types[t], &gib))
			continue;
		while (n < inv->ntypes && strcmp(inv->types[n]->id, item->types[t].id) != 0)
			n++;
		if (n == inv->ntypes) {
			struct inv_type *type = mem_new(1, sizeof(*type));

			*(struct inv_type **)mem_add(&inv->types, &inv->ntypes, sizeof(struct inv_type *)) = type;
			text_copy(type->id, sizeof(type->id), item->types[t].id);
			text_copy(type->name, sizeof(type->name), item->types[t].name);
			type->framebuffer_mib = item->types[t].size;
			type->max_instance = item->types[t].capacity;
		}
		((struct inv_offer *)mem_add(&card->offers, &card->noffers, sizeof(*card->offers)))->type =
			inv->types[n];
	}
}

static int by_address(const void *a, const void *b)
{
	return strcmp((*(struct sim_gpu *const *)a)->name, (*(struct sim_gpu *const *)b)->name);
}

static void add_card(struct inventory *inv, const struct sim_gpu *gpu)
{
	const struct sim_model *model = gpu->item->model;
	struct inv_pgpu *card = mem_new(1, sizeof(*card));

	*(struct inv_pgpu **)mem_add(&inv->pgpus, &inv->npgpus, sizeof(struct inv_pgpu *)) = card;
	text_copy(card->address, sizeof(card->address), gpu->name);
	snprintf(card->vendor, sizeof(card->vendor), "%04x", model->vendor & 0xffff);
	snprintf(card->device, sizeof(card->device), "%04x", model->device & 0xffff);
	card->nvidia = card->ready = true;
	card->numa = gpu->numa_node;
	card->sriov = gpu->item->vfs > 0;
	card->nvfs = gpu->item->vfs;
	card->nparents = gpu->nparents;
	card->parents = mem_new((size_t)gpu->nparents, sizeof(struct inv_parent *));
	for (int i = 0; i < gpu->nparents; i++) {
		struct inv_parent *parent = mem_new(1, sizeof(*parent));

		*(struct inv_parent **)mem_add(&inv->parents, &inv->nparents, sizeof(struct inv_parent *)) = parent;
		card->parents[i] = parent;
		parent->card = card;
		text_copy(parent->name, PARENT_SIZE, gpu->parents[i].name);
	}
	add_types(inv, card, gpu->item);
}

/* NULL: the card has no such type. */
static const struct sim_type *type_find(const struct sim_gpu *gpu, const char *id)
{
	for (int i = 0; i < gpu->item->ntypes; i++)
		if (strcmp(gpu->item->types[i].id, id) == 0)
			return &gpu->item->types[i];
	return NULL;
}

/* What the kernel offers: of the card itself, or of one free VF. */
static int available(const struct sim_gpu *gpu, const char *id)
{
	const struct sim_type *type = type_find(gpu, id);
	int parent = 0;

	while (gpu->item->vfs > 0 && parent < gpu->nparents - 1 && gpu->parents[parent].held > 0)
		parent++;
	return type ? sim_instances_available(&gpu->parents[parent], type) : 0;
}

static void look(struct host_day *host, const char *address)
{
	struct inv_pgpu *card = inventory_pgpu(&host->inv, address);
	const struct sim_gpu *gpu = sim_kernel_gpu(&host->kernel, address);

	for (size_t i = 0; i < card->noffers; i++)
		card->offers[i].available = available(gpu, card->offers[i].type->id);
}

void host_day_start(struct host_day *host, const char *model, enum strategy strategy)
{
	struct sim_gpu *gpus[SIM_CARDS_MAX * SIM_MODELS_MAX];
	struct err err = { 0 };

	*host = (struct host_day){ .strategy = strategy };
	sim_kernel_init(&host->kernel, 0);
	if (sim_model_parse(&host->kernel.spec, model, &err) < 0)
		tree_fail(err.text);
	sim_topology_build(&host->kernel);
	make_config(host, strategy);
	for (int i = 0; i < host->kernel.ngpus; i++)
		gpus[i] = &host->kernel.gpus[i];
	qsort(gpus, (size_t)host->kernel.ngpus, sizeof(gpus[0]), by_address);
	host->arena = mem_arena(1 << 20);
	mem_use(host->arena);
	for (int i = 0; i < host->kernel.ngpus; i++)
		add_card(&host->inv, gpus[i]);
	mem_use(NULL);
	for (int i = 0; i < host->kernel.ngpus; i++)
		look(host, gpus[i]->name);
	pool_make(&host->inv, &host->config);
}

void host_day_end(struct host_day *host)
{
	for (int i = 0; i < host->kernel.ngpus; i++)
		if (host->kernel.gpus[i].used != 0)
			broken(host, "%s carries vGPUs when all have gone", host->kernel.gpus[i].name);
	if (host->inv.ndevices)
		broken(host, "vGPUs are left when all domains have gone");
	config_free(&host->config);
	mem_free(host->inv.devices);
	mem_arena_end(host->arena);
	sim_kernel_free(&host->kernel);
}

/* The types of the class that a domain asks for, in the order of the configuration. */
static void fill_wish(const struct host_day *host, struct resolved_request *resolved, int size)
{
	char class[CLASS_SIZE];

	snprintf(class, sizeof(class), "CUSTOM_%dG", size);
	for (size_t i = 0; i < host->config.nsections && resolved->ntypes < RESOLVED_TYPES_MAX; i++)
		if (strcmp(host->config.sections[i].class, class) == 0)
			snprintf(resolved->types[resolved->ntypes++], TYPE_SIZE, "%s", host->config.sections[i].type);
}

/* First fit: for the first type that any card has capacity for, the card with the lowest address. */
static bool first_fit(const struct world *facts, const struct resolved_request *resolved, struct step *step)
{
	const struct capacity_query query = { .world = facts, .resolved = resolved, .id = resolved->req->id };

	for (int t = 0; t < resolved->ntypes; t++) {
		for (size_t g = 0; g < facts->inv.npgpus; g++) {
			struct capacity space;

			capacity_on(&space, &query, facts->inv.pgpus[g], resolved->types[t]);
			if (!space.has)
				continue;
			snprintf(step->vgpu.type, sizeof(step->vgpu.type), "%s", resolved->types[t]);
			snprintf(step->vgpu.parent, sizeof(step->vgpu.parent), "%s", space.parent->name);
			snprintf(step->vgpu.pgpu, sizeof(step->vgpu.pgpu), "%s", facts->inv.pgpus[g]->address);
			return true;
		}
	}
	return false;
}

static void check_refusal(struct host_day *host, const struct resolved_request *resolved, const struct plan *plan)
{
	if (plan && strncmp(plan->text, "no capacity for ", strlen("no capacity for ")) != 0)
		broken(host, "a refusal says: %.200s", plan->text);
	for (int t = 0; t < resolved->ntypes; t++)
		for (int g = 0; g < host->kernel.ngpus; g++)
			if (available(&host->kernel.gpus[g], resolved->types[t]) > 0)
				broken(host, "%s is refused, and %s has capacity", resolved->types[t],
				       host->kernel.gpus[g].name);
}

/* The kernel carries it out. */
static void make(struct host_day *host, const struct step *step, const char *id)
{
	struct sim_parent *parent = sim_kernel_parent(&host->kernel, step->vgpu.parent);
	const struct sim_type *type = type_find(parent->gpu, step->vgpu.type);
	struct inv_device *device = mem_add(&host->inv.devices, &host->inv.ndevices, sizeof(*device));

	if (!type || sim_instances_take(parent, type) < 0)
		broken(host, "the kernel refuses %s on %s, which is planned", step->vgpu.type, step->vgpu.parent);
	*device = (struct inv_device){ .vgpu = step->vgpu, .parent = inventory_parent(&host->inv, parent->name) };
	/* Later domains have larger numbers, so that the devices are in order. */
	text_copy(device->vgpu.id, sizeof(device->vgpu.id), id);
	if (device->parent->ndevices++ && device->parent->card->sriov)
		broken(host, "%s gets a second vGPU", step->vgpu.parent);
	look(host, step->vgpu.pgpu);
}

bool host_day_arrive(struct host_day *host, int domain, int size)
{
	struct vgpu_request req = { .kind = REQUEST_MDEV };
	struct resolved_request resolved = { .req = &req };
	struct request request = { .vgpus = &req, .nvgpus = 1 };
	struct world facts = { .mode = PLAN_PREPARE,
			       .config = &host->config,
			       .inv = host->inv,
			       .request = &request,
			       .resolved_requests = &resolved,
			       .wide = true };
	struct plan plan = { 0 };
	struct step step = { 0 };
	bool chosen;

	snprintf(req.id, sizeof(req.id), "a0000000-0000-4000-8000-%012d", domain);
	snprintf(request.uuid, sizeof(request.uuid), "d0000000-0000-4000-8000-%012d", domain);
	fill_wish(host, &resolved, size);
	if (host->strategy == FIRST_FIT) {
		chosen = first_fit(&facts, &resolved, &step);
	} else {
		plan_make(&plan, &facts);
		chosen = plan.kind == PLAN_STEPS;
		if (chosen)
			step = plan.steps[0];
	}
	if (chosen)
		make(host, &step, req.id);
	else
		check_refusal(host, &resolved, host->strategy == FIRST_FIT ? NULL : &plan);
	plan_free(&plan);
	return chosen;
}

void host_day_leave(struct host_day *host, int domain)
{
	struct inventory *inv = &host->inv;
	struct sim_parent *parent;
	char id[ID_SIZE];
	size_t at = 0;

	snprintf(id, sizeof(id), "a0000000-0000-4000-8000-%012d", domain);
	while (strcmp(inv->devices[at].vgpu.id, id) != 0)
		at++;
	parent = sim_kernel_parent(&host->kernel, inv->devices[at].vgpu.parent);
	sim_instances_give(parent, type_find(parent->gpu, inv->devices[at].vgpu.type));
	inv->devices[at].parent->ndevices--;
	memmove(&inv->devices[at], &inv->devices[at + 1], (--inv->ndevices - at) * sizeof(*inv->devices));
	look(host, parent->gpu->name);
}
