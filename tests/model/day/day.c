/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A day in the life of three hosts: domains with vGPUs of mixed sizes come and go, and the same day is lived with each
 * way of choosing a card: once with the small cards in the lower slots and first in the configuration, once with the
 * large ones. A policy counts with the order that serves less.
 *
 *     day [DAYS [ARRIVALS [SEED]]]     10 days of 2000 arrivals each, seed 1
 *
 * Prints how much each served, as the table of doc/placement.md, and as TAP whether what must hold did: a plan is one
 * that the driver carries out, and nothing is refused that a card has capacity for. The same numbers give the same days
 * on every machine.
 */
#include "decide/capacity.h"
#include "lib/source.h"
#include "lib/tap.h"
#include "unit/decide/world.h"

enum strategy { PACK, SPREAD, FIRST_FIT, STRATEGIES };
/* LOAD: per cent of the framebuffer of all hosts, were nothing refused. */
enum { HOSTS = 3, ORDERS = 2, SIZES = 7, DAY = 86400, LOAD = 95, ALL_GIB = 160 + 192 + 176 };

/* The sizes that domains ask for, in GiB; of a hundred domains so many ask for each of them. */
static const int sizes[SIZES] = { 1, 2, 4, 8, 16, 24, 48 }, shares[SIZES] = { 10, 25, 30, 20, 10, 3, 2 };
static const char *const names[STRATEGIES] = { "pack", "spread", "first fit" };

/* Cards in the notation of world.h, all with mdevs: there a placement is free to choose the card. "16_t" has 16 GiB. */
#define T4(slot) slot " 1_t=16/16 2_t=8/8 4_t=4/4 8_t=2/2 16_t=1/1;"
#define A2(slot) slot "+16 1_a=1/16 2_a=1/8 4_a=1/4 8_a=1/2 16_a=1/1;"
#define A40(slot) slot "+32 1_b=1/32 2_b=1/24 4_b=1/12 8_b=1/6 16_b=1/3 24_b=1/2 48_b=1/1;"
#define L40S(slot) slot "+48 1_c=1/32 2_c=1/24 4_c=1/12 8_c=1/6 16_c=1/3 24_c=1/2 48_c=1/1;"
#define ALL(model) "1_" model " 2_" model " 4_" model " 8_" model " 16_" model " "
#define LARGE(model) ALL(model) "24_" model " 48_" model " "

static const struct row hosts[ORDERS][HOSTS] = {
	{ { .cards = T4("01") T4("02") T4("03") T4("04") A40("41") A40("42"), .config = ALL("t") LARGE("b") },
	  { .cards = T4("01") T4("02") A2("21") A2("22") A2("23") A2("24") A40("41") A40("42"),
	    .config = ALL("t") ALL("a") LARGE("b") },
	  { .cards = T4("01") T4("02") T4("03") T4("04") T4("05") T4("06") T4("07") T4("08") L40S("41"),
	    .config = ALL("t") LARGE("c") } },
	{ { .cards = A40("01") A40("02") T4("41") T4("42") T4("43") T4("44"), .config = LARGE("b") ALL("t") },
	  { .cards = A40("01") A40("02") A2("21") A2("22") A2("23") A2("24") T4("41") T4("42"),
	    .config = LARGE("b") ALL("a") ALL("t") },
	  { .cards = L40S("01") T4("41") T4("42") T4("43") T4("44") T4("45") T4("46") T4("47") T4("48"),
	    .config = LARGE("c") ALL("t") } },
};

/* A domain: when it comes and goes, how much it requests, which hosts it tries in turn. */
struct guest {
	int comes, goes, size;
	int order[HOSTS];
	int host; /* where it is; -1 nowhere */
};

struct tally {
	long served, gib_seconds, by_size[SIZES];
};

static struct setup worlds[HOSTS];
static uint64_t dice;
static char broken[512]; /* what should never be; "" nothing */

static void breaks(const char *what, const char *type, const char *where)
{
	if (!*broken)
		snprintf(broken, sizeof(broken), "%s: %.100s on %.300s", what, type, where);
}

static void begin(struct setup *w, const struct row *host, enum strategy strategy)
{
	make_world(w, host);
	w->config.policy.several_types = true;
	w->config.policy.placement = strategy == SPREAD ? PLACE_SPREAD : PLACE_PACK;
	for (size_t i = 0; i < w->inv.ntypes; i++)
		w->types[i].framebuffer_mib = atoi(w->types[i].id) * 1024;
	pool_make(&w->inv, &w->config);
	w->facts.wide = true;
}

/* What the driver offers then: vGPUs of one size, one on a VF. */
static void look(struct setup *w, const struct inv_pgpu *card)
{
	const char *carried = NULL;
	int used = 0;

	for (size_t i = 0; i < w->inv.ndevices; i++)
		if (w->devs[i].parent->card == card) {
			carried = w->devs[i].vgpu.type;
			used++;
		}
	for (size_t i = 0; i < card->noffers; i++) {
		struct inv_offer *offer = &card->offers[i];
		int left = offer->type->max_instance - used;

		offer->available = carried && strcmp(carried, offer->type->id) != 0 ? 0 : card->sriov ? left > 0 : left;
	}
}

/* First fit: for the first type that any card has capacity for, the card with the lowest address. */
static bool first_fit(const struct world *facts, struct vgpu_ref *vgpu)
{
	const struct resolved_request *resolved = facts->resolved_requests;
	const struct capacity_query query = { .world = facts, .resolved = resolved, .id = resolved->req->id };

	for (int t = 0; t < resolved->ntypes; t++)
		for (size_t g = 0; g < facts->inv.npgpus; g++) {
			struct capacity space;

			capacity_on(&space, &query, facts->inv.pgpus[g], resolved->types[t]);
			if (!space.has)
				continue;
			text_copy(vgpu->type, sizeof(vgpu->type), resolved->types[t]);
			text_copy(vgpu->parent, sizeof(vgpu->parent), space.parent->name);
			return true;
		}
	return false;
}

static void check_refusal(const struct world *facts, const char *text)
{
	const struct resolved_request *resolved = facts->resolved_requests;

	if (strncmp(text, "no capacity for ", strlen("no capacity for ")) != 0)
		breaks("a refusal", "", text);
	for (size_t g = 0; g < facts->inv.npgpus; g++)
		for (int t = 0; t < resolved->ntypes; t++) {
			const struct inv_offer *offer = inventory_offer(facts->inv.pgpus[g], resolved->types[t]);

			if (offer && offer->available > 0)
				breaks("refused", resolved->types[t], facts->inv.pgpus[g]->address);
		}
}

/* The driver carries it out. Later domains have larger numbers, so that the devices are in order. */
static void make(struct setup *w, const struct vgpu_ref *vgpu, const char *id)
{
	struct inv_device *device = &w->devs[w->inv.ndevices++];
	const struct inv_offer *offer;

	*device = (struct inv_device){ .vgpu = *vgpu, .parent = w->parents };
	text_copy(device->vgpu.id, sizeof(device->vgpu.id), id);
	while (strcmp(device->parent->name, vgpu->parent) != 0)
		device->parent++;
	offer = inventory_offer(device->parent->card, vgpu->type);
	if (!offer || offer->available <= 0 || (device->parent->card->sriov && device->parent->ndevices))
		breaks("planned", vgpu->type, vgpu->parent);
	device->parent->ndevices++;
	look(w, device->parent->card);
}

/* A domain with one vGPU of the size: any type of it will do, in the order of the configuration. False: refused. */
static bool host_takes(struct setup *w, enum strategy strategy, int domain, int size)
{
	struct resolved_request *resolved = w->resolved_requests;
	struct vgpu_ref vgpu = { 0 };
	struct plan plan = { 0 };
	bool chosen;

	snprintf(w->vgpus[0].id, sizeof(w->vgpus[0].id), "a%012d", domain);
	resolved->ntypes = 0;
	for (size_t i = 0; i < w->config.nsections; i++)
		if (atoi(w->sections[i].type) == size)
			text_copy(resolved->types[resolved->ntypes++], TYPE_SIZE, w->sections[i].type);
	w->facts.inv = w->inv;
	if (strategy == FIRST_FIT) {
		chosen = first_fit(&w->facts, &vgpu);
	} else {
		plan_make(&plan, &w->facts);
		chosen = plan.kind == PLAN_STEPS;
		if (chosen)
			vgpu = plan.steps[0].vgpu;
	}
	if (chosen)
		make(w, &vgpu, w->vgpus[0].id);
	else
		check_refusal(&w->facts, strategy == FIRST_FIT ? "no capacity for it" : plan.text);
	plan_free(&plan);
	return chosen;
}

static void leave(struct setup *w, int domain)
{
	const struct inv_pgpu *card;
	struct inv_device *device = w->devs;

	while (atoi(device->vgpu.id + 1) != domain)
		device++;
	card = device->parent->card;
	device->parent->ndevices--;
	memmove(device, device + 1, (size_t)(&w->devs[--w->inv.ndevices] - device) * sizeof(*device));
	look(w, card);
}

static int pick(int n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (int)(dice % (uint64_t)n);
}

static int pick_size(void)
{
	int at = 0;

	for (int n = pick(100); n >= shares[at]; at++)
		n -= shares[at];
	return at;
}

static void count_guest(struct tally *count, const struct guest *g)
{
	count->served++;
	count->gib_seconds += (long)sizes[g->size] * (g->goes - g->comes);
	count->by_size[g->size]++;
}

/* Gaps and lives are even between nothing and twice their mean; the mean life follows from the load. */
static void make_day(struct guest *guests, int n)
{
	int gap = DAY / n, at = 0, mean = 0, life;

	for (int i = 0; i < SIZES; i++)
		mean += shares[i] * sizes[i];
	life = (int)((long)ALL_GIB * LOAD * gap / mean);
	for (int i = 0; i < n; i++) {
		struct guest *g = &guests[i];
		int first = pick(HOSTS), step = 1 + pick(HOSTS - 1);

		at += 1 + pick(2 * gap);
		g->comes = at;
		g->goes = at + 1 + pick(2 * life);
		g->size = pick_size();
		for (int h = 0; h < HOSTS; h++)
			g->order[h] = (first + h * step) % HOSTS;
	}
}

static void leave_until(struct guest *guests, int n, int now)
{
	for (int i = 0; i < n; i++) {
		if (guests[i].host < 0 || guests[i].goes > now)
			continue;
		leave(&worlds[guests[i].host], i);
		guests[i].host = -1;
	}
}

static void live(struct guest *guests, int n, enum strategy strategy, int order, struct tally *count)
{
	for (int h = 0; h < HOSTS; h++)
		begin(&worlds[h], &hosts[order][h], strategy);
	for (int i = 0; i < n; i++) {
		struct guest *g = &guests[i];

		leave_until(guests, i, g->comes);
		g->host = -1;
		for (int h = 0; h < HOSTS && g->host < 0; h++)
			if (host_takes(&worlds[g->order[h]], strategy, i, sizes[g->size]))
				g->host = g->order[h];
		if (g->host >= 0)
			count_guest(count, g);
	}
}

static double per_cent(long part, long all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static void print_row(FILE *table, const char *name, const struct tally *c, const struct tally *asked)
{
	fprintf(table, "%-10s %8.1f%% %8.1f%%", name, per_cent(c->served, asked->served),
		per_cent(c->gib_seconds, asked->gib_seconds));
	for (int i = 0; i < SIZES; i++)
		fprintf(table, " %6.1f%%", per_cent(c->by_size[i], asked->by_size[i]));
	fprintf(table, "\n");
}

static void print_head(FILE *table, const struct tally *asked)
{
	fprintf(table, "%-10s %9s %9s", "", "domains", "GiB hours");
	for (int i = 0; i < SIZES; i++)
		fprintf(table, "  %2d GiB", sizes[i]);
	fprintf(table, "\n%-10s %9ld %9ld", "asked for", asked->served, asked->gib_seconds / 3600);
	for (int i = 0; i < SIZES; i++)
		fprintf(table, " %7ld", asked->by_size[i]);
	fprintf(table, "\n");
}

static const struct tally *worse(const struct tally counts[ORDERS])
{
	return counts[1].gib_seconds < counts[0].gib_seconds ? &counts[1] : &counts[0];
}

/* `documented`: doc/placement.md has each line. */
static void print_table(char *text, bool documented)
{
	autofree char *page = source_text("doc/placement.md");

	for (char *line, row[256]; (line = strsep(&text, "\n")) && *line;) {
		printf("# %s\n", line);
		snprintf(row, sizeof(row), "\n    %s\n", line);
		if (documented)
			ok(strstr(page, row), "doc/placement.md has: %s", line);
	}
}

int main(int argc, char **argv)
{
	const bool whole = argc == 1 && !getenv("QUICK");
	int days = argc > 1 ? atoi(argv[1]) : whole ? 10 : 1, n = argc > 2 ? atoi(argv[2]) : 2000;
	autofree struct guest *guests = calloc((size_t)n, sizeof(*guests));
	struct tally counts[STRATEGIES][ORDERS] = { 0 }, asked = { 0 };
	autofree char *text = NULL;
	size_t size;
	FILE *table = open_memstream(&text, &size);

	for (int d = 0; d < days; d++) {
		dice = 0x9e3779b97f4a7c15ULL * (uint64_t)((argc > 3 ? atoi(argv[3]) : 1) + d);
		make_day(guests, n);
		for (int i = 0; i < n; i++)
			count_guest(&asked, &guests[i]);
		for (int s = 0; s < STRATEGIES; s++)
			for (int o = 0; o < ORDERS; o++)
				live(guests, n, (enum strategy)s, o, &counts[s][o]);
	}
	fprintf(table, "%d days, %d arrivals each\n", days, n);
	print_head(table, &asked);
	for (int s = 0; s < STRATEGIES; s++)
		print_row(table, names[s], worse(counts[s]), &asked);
	fclose(table);
	print_table(text, whole);
	for (int s = PACK; s <= SPREAD; s++)
		ok(memcmp(&counts[s][0], &counts[s][1], sizeof(counts[s][0])) == 0,
		   "%s serves the same whatever the order of the slots", names[s]);
	ok(!*broken, "plans are carried out, refusals are right %s", broken);
	/* Not on each single day: in the long run. */
	if (whole)
		ok(worse(counts[PACK])->gib_seconds > worse(counts[SPREAD])->gib_seconds &&
			   worse(counts[PACK])->by_size[SIZES - 1] > worse(counts[SPREAD])->by_size[SIZES - 1],
		   "pack serves more than spread, above all of the large ones");
	return tap_done();
}
