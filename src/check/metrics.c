/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Metrics in Prometheus' text format. Timestamps replace ages, which would be wrong when the file is read later. */
#include "check/check.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/text.h"
#include "decide/capacity.h"
#include "state/history.h"

enum { LABEL_MAX = 4 * DOMAIN_NAME_SIZE };

static void family(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP vgpu_lease_%s %s\n# TYPE vgpu_lease_%s %s\n", name, help, name, type);
}

/* Prints NAME="VALUE". VALUE becomes printable, with \ and " escaped. */
static void label(FILE *to, const char *before, const char *name, const char *value)
{
	char safe[LABEL_MAX];

	text_safe_again(safe, sizeof(safe), value, false);
	fprintf(to, "%s%s=\"", before, name);
	for (const char *c = safe; *c; c++) {
		if (*c == '\\' || *c == '"')
			putc('\\', to);
		putc(*c, to);
	}
	putc('"', to);
}

/* Prints one sample. The arguments after `value` are pairs of a label's name and value; NULL ends them. */
#define sample(to, name, value, ...) print_sample(to, name, value, (const char *const[]){ __VA_ARGS__ })
static void print_sample(FILE *to, const char *name, long long value, const char *const *labels)
{
	fprintf(to, "vgpu_lease_%s", name);
	for (size_t i = 0; labels[i]; i += 2)
		label(to, i ? "," : "{", labels[i], labels[i + 1]);
	fprintf(to, "%s %lld\n", labels[0] ? "}" : "", value);
}

enum number { CAPACITY, IN_USE, AVAILABLE };

static void print_counts(FILE *to, const struct world *world, enum number number, const char *name, const char *help)
{
	const struct inventory *inv = &world->inv;

	family(to, name, "gauge", help);
	for (size_t g = 0; g < inv->npgpus; g++)
		for (EACH(const struct inv_offer *, offer, inv->pgpus[g]->offers, inv->pgpus[g]->noffers)) {
			const struct inv_pgpu *card = inv->pgpus[g];
			const char *type = offer->type->id;
			struct capacity_count count;

			if (!pool_serves(card, type))
				continue;
			capacity_count(&count, world, card, offer);
			const int numbers[] = { count.capacity, count.used, count.available };
			if (numbers[number] >= 0)
				sample(to, name, numbers[number], "pgpu", card->address, "type", type, NULL);
		}
}

/* Returns -1 if the framebuffer of some vGPU is unknown. */
static long long framebuffer_used_mib(const struct inventory *inv, const struct inv_pgpu *card)
{
	long long sum = 0;

	for (const struct inv_device *d = NULL; (d = inventory_next_on(inv, card, d));) {
		const struct inv_type *type = inventory_type(inv, card, d->vgpu.type);

		if (!type || type->framebuffer_mib < 0)
			return -1;
		sum += type->framebuffer_mib;
	}
	return sum;
}

static void print_pgpus(FILE *to, const struct world *world)
{
	const struct inventory *inv = &world->inv;
	const struct missing_card *list = world->missing_cards;

	family(to, "pgpu_ready", "gauge", "1 if a configured pGPU is ready, else 0.");
	for (size_t g = 0; g < inv->npgpus; g++) {
		const struct inv_pgpu *card = inv->pgpus[g];

		if (card->pool.section || pool_names(inv->config, card, ""))
			sample(to, "pgpu_ready", card->pool.in_pool && card->ready, "pgpu", card->address, NULL);
	}
	/* Print each missing pGPU once, even if several sections name it. */
	for (EACH(const struct missing_card *, missing, list, world->nmissing_cards)) {
		const char *address = missing->card.address;

		if (!inventory_pgpu(inv, address) && !text_find(list, (size_t)(missing - list), sizeof(*list), address))
			sample(to, "pgpu_ready", 0, "pgpu", address, NULL);
	}
	family(to, "framebuffer_used_bytes", "gauge", "Framebuffer of all vGPUs on a pGPU.");
	for (size_t g = 0; g < inv->npgpus; g++) {
		long long mib = framebuffer_used_mib(inv, inv->pgpus[g]);

		if (mib >= 0)
			sample(to, "framebuffer_used_bytes", mib << 20, "pgpu", inv->pgpus[g]->address, NULL);
	}
}

static void print_leases(FILE *to, const struct leases *leases)
{
	size_t states[LEASE_RELEASING + 1] = { 0 };
	int64_t oldest_ms = 0;

	for (EACH(const struct lease *, lease, leases->list, leases->n)) {
		states[lease->state]++;
		if (lease->state == LEASE_RELEASING && (oldest_ms == 0 || lease->since_ms < oldest_ms))
			oldest_ms = lease->since_ms;
	}
	family(to, "leases", "gauge", "Leases by state.");
	for (enum lease_state state = LEASE_RESERVED; state <= LEASE_RELEASING; state++)
		sample(to, "leases", (long long)states[state], "state", lease_state_words[state], NULL);
	if (states[LEASE_RELEASING]) {
		family(to, "oldest_releasing_timestamp_seconds", "gauge",
		       "Since when the oldest releasing lease is releasing.");
		fprintf(to, "vgpu_lease_oldest_releasing_timestamp_seconds %.3f\n",
			(double)sys_wall_ms(oldest_ms) / 1000);
	}
	family(to, "info", "gauge", "A leased vGPU and its domain; always 1.");
	/* The label is "instance_name", because Prometheus itself sets "instance". */
	for (EACH(const struct lease *, lease, leases->list, leases->n))
		sample(to, "info", 1, "id", lease->vgpu.id, "type", lease->vgpu.type, "pgpu", lease->vgpu.pgpu,
		       "domain", lease->name, "uuid", lease->domain, "project", lease->project, "instance_name",
		       lease->instance, NULL);
}

/* The handler updates the modification time of STORE_HANDLER after each pass. */
static void print_handler(FILE *to, const struct store *store, bool config_valid)
{
	struct stat st;

	family(to, "config_valid", "gauge", "1 if there is a valid configuration, else 0.");
	sample(to, "config_valid", config_valid, NULL);
	family(to, "handler_running", "gauge", "1 if the device handler is running, else 0.");
	sample(to, "handler_running", store_locked(store, STORE_HANDLER), NULL);
	if (store->run < 0 || fstatat(store->run, STORE_HANDLER, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	family(to, "handler_last_pass_timestamp_seconds", "gauge",
	       "When the device handler last completed a pass over all vGPUs.");
	sample(to, "handler_last_pass_timestamp_seconds", st.st_mtime, NULL);
}

static void print_duration(FILE *to, enum count_op op, const struct count *count)
{
	const char *name = "vgpu_lease_hook_duration_seconds", *word = count_op_words[op];
	unsigned long long n = 0;

	for (size_t i = 0; i < COUNT_BUCKETS; i++) {
		n += count->buckets[i];
		fprintf(to, "%s_bucket{op=\"%s\",le=\"%g\"} %llu\n", name, word, count_bounds_ms[i] / 1000.0, n);
	}
	n += count->buckets[COUNT_BUCKETS];
	fprintf(to, "%s_bucket{op=\"%s\",le=\"+Inf\"} %llu\n", name, word, n);
	fprintf(to, "%s_sum{op=\"%s\"} %.3f\n", name, word, (double)count->sum_ms / 1000);
	fprintf(to, "%s_count{op=\"%s\"} %llu\n", name, word, n);
}

static void print_hook(FILE *to, const struct host *host)
{
	struct counts counts;

	(void)counts_read(host, &counts); /* without the file, all counts are 0 */
	family(to, "refusals_total", "counter", "Domains that the hook refused since boot, by reason.");
	for (enum refusal refusal = 0; refusal < REFUSAL_NONE; refusal++)
		sample(to, "refusals_total", (long long)counts.refusals[refusal], "reason", refusal_words[refusal],
		       NULL);
	family(to, "hook_duration_seconds", "histogram",
	       "Duration of the hook's operations on domains with vGPUs, since boot.");
	for (enum count_op op = COUNT_PREPARE; op <= COUNT_RELEASE; op++)
		print_duration(to, op, &counts.ops[op]);
}

int metrics_print(FILE *to, const struct world *world, const struct gc *pass, bool config_valid, struct err *err)
{
	autoleases struct leases leases = { 0 };
	int orphans = 0;

	if (lease_list(world->store, &leases, err) < 0)
		return -err->code;
	print_handler(to, world->store, config_valid);
	print_pgpus(to, world);
	print_counts(to, world, CAPACITY, "capacity", "vGPUs of a configured type that fit on an empty pGPU.");
	print_counts(to, world, IN_USE, "in_use", "vGPUs of a configured type that exist on a pGPU.");
	print_counts(to, world, AVAILABLE, "available", "vGPUs of a configured type that could be created now.");
	print_leases(to, &leases);
	for (EACH(const struct gc_item *, item, pass->items, pass->n))
		orphans += !item->leased && item->exists && item->outcome == GC_GOES;
	family(to, "orphans", "gauge", "vGPUs that no lease, domain or open file refers to.");
	sample(to, "orphans", orphans, NULL);
	print_hook(to, world->host);
	return 0;
}
