/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * vgpu-lease status: print the host as a tree: its problems, the pGPUs with bars, and the vGPUs with their domains.
 * check: check the configuration against this host.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "look/libvirt_files.h"
#include "look/looked.h"

struct shapes {
	const char *branch, *last, *line, *none, *gap, *filled, *empty, *dot;
};

static const struct shapes *shapes(void)
{
	static const struct shapes ascii = { "|- ", "`- ", "|  ", "   ", "|", "#", ".", "*" },
				   utf8 = { "├─ ", "└─ ", "│  ", "   ", "│", "█", "░", "●" };

	return term_stdout()->utf8 ? &utf8 : &ascii;
}

/* Short forms of the reasons why a pGPU has no vGPU available. `vgpu-lease inventory` prints whole sentences. */
static const char *const short_reasons[] = {
	[CAUSE_IN_USE] = "full",
	[CAUSE_CAP] = "max_instances is reached",
	[CAUSE_BLOCKED] = "blocked by another type",
	[CAUSE_NO_INSTANCE] = "no GPU instance free",
	[CAUSE_UNSUITED] = "no VF bound to vfio-pci",
	[CAUSE_FAILED] = "creation failed recently",
	[CAUSE_NO_OFFER] = "driver offers none now",
	[CAUSE_OTHER_KIND] = "provides another hostdev type",
	[CAUSE_UNREADY] = "not ready",
	[CAUSE_ABSENT] = "not found",
	[CAUSE_OTHER_TYPE] = "configured for another type",
};

/* The margin of the lines below a pGPU. */
enum { MARGIN_SIZE = 32, MARGIN_COLUMNS = 6 };

static void say_under(const char *margin, const char *text)
{
	fputs(margin, stdout);
	term_wrap(MARGIN_COLUMNS, margin, text);
}

/* Prints "framebuffer ███░░░░░░░ 3 of 10 GiB". A bar is empty only if nothing is used. */
static void print_bar(const char *margin, int label_width, const char *label, int used, int whole, const char *text)
{
	const struct shapes *parts = shapes();
	const int columns = term_stdout()->width;
	int width = columns >= 120 ? 40 : !columns || columns >= 80 ? 20 : columns >= 72 ? 10 : 0;
	int filled = whole > 0 ? (int)((long)used * width / whole) : 0;

	filled = filled > width ? width : filled;
	filled += used > 0 && filled == 0 && width > 0;
	printf("%s%-*s%s%s", margin, label_width, label, width > 0 ? "  " : "",
	       term_colour(used < whole ? TERM_GREEN : TERM_YELLOW));
	for (int i = 0; i < filled; i++)
		fputs(parts->filled, stdout);
	fputs(term_colour(TERM_PLAIN TERM_DIM), stdout);
	for (int i = filled; i < width; i++)
		fputs(parts->empty, stdout);
	printf("%s  ", term_colour(TERM_PLAIN));
	term_wrap(MARGIN_COLUMNS + label_width + (width > 0 ? width + 2 : 0) + 2, margin, text);
}

/* Returns the n-th configured type of a pGPU, or NULL. `used` includes leases without a device, unless releasing. */
static const char *count_type(struct capacity_count *count, const struct status *status, const struct card_row *row,
			      size_t n)
{
	const struct world *world = &status->cmd->world;
	const struct inv_pgpu *card = row->card;

	for (size_t i = 0; card->pool.in_pool && i < card->noffers; i++) {
		const char *type = card->offers[i].type->id;

		if (!pool_serves(card, type) || n-- > 0)
			continue;
		capacity_count(count, world, card, &card->offers[i]);
		for (EACH(const struct lease *, l, world->leases.list, world->leases.n))
			count->used += l->state != LEASE_RELEASING && strcmp(l->vgpu.pgpu, card->address) == 0 &&
				       strcmp(l->vgpu.type, type) == 0 && l->vgpu.framework != FW_VF &&
				       !inventory_device(&world->inv, l->vgpu.id);
		return type;
	}
	return NULL;
}

static void print_bars(const struct status *status, const struct card_row *row, const char *margin)
{
	const struct capacity_framebuffer mib = row->mib;
	struct capacity_count count;
	const char *type;
	char text[128];
	int width = (int)strlen("framebuffer");

	for (size_t i = 0; (type = count_type(&count, status, row, i)) != NULL; i++)
		width = (int)strlen(type) > width ? (int)strlen(type) : width;
	if (mib.whole != UNKNOWN) {
		snprintf(text, sizeof(text), "%.4g of %.4g GiB", mib.used / 1024.0, mib.whole / 1024.0);
		print_bar(margin, width, "framebuffer", mib.used, mib.whole, text);
	} else if (mib.used != UNKNOWN) { /* the total is unknown, so no bar is drawn */
		snprintf(text, sizeof(text), "%-*s  %.4g GiB in use", width, "framebuffer", mib.used / 1024.0);
		say_under(margin, text);
	}
	for (size_t i = 0; (type = count_type(&count, status, row, i)) != NULL; i++) {
		snprintf(text, sizeof(text), "%d of %d, ", count.used, count.capacity);
		if (count.available)
			text_add(text, sizeof(text), "%d available", count.available);
		else if (count.cause == CAUSE_IN_USE && count.unleased)
			text_add(text, sizeof(text), "%d not leased", count.unleased);
		else
			/* A card without a vGPU is not full, but reserved, or its VFs cannot be used. */
			text_add(text, sizeof(text), "%s",
				 count.cause == CAUSE_IN_USE && !count.used ? "none available"
									    : short_reasons[count.cause]);
		print_bar(margin, width, type, count.used, count.capacity, text);
	}
}

/* Prints "mdev on 16 VFs, NUMA node 0, driver 550.90.05" and, if needed, why the pGPU is not in the pool. */
static void print_facts(const struct status *status, const struct card_row *row, const char *margin)
{
	const struct inv_pgpu *card = row->card;
	const char *reason;
	char text[REASON_SIZE + 128];

	/* A card that is not ready may have no framework yet. */
	snprintf(text, sizeof(text), "%s", card->ready ? framework_words[card->framework] : "not ready");
	if (card->nvfs)
		text_add(text, sizeof(text), " on %d VF%s", card->nvfs, card->nvfs == 1 ? "" : "s");
	if (card->numa != UNKNOWN)
		text_add(text, sizeof(text), ", NUMA node %d", card->numa);
	if (card->nvidia && *status->cmd->world.inv.nvidia_driver)
		text_add(text, sizeof(text), ", driver %s", status->cmd->world.inv.nvidia_driver);
	if (!row->missing)
		say_under(margin, text);
	if (card->pool.in_pool)
		return;
	/* print_problems() shows an error of the whole configuration. */
	reason = config_is_valid(&status->cmd->config) || !card->ready ? row->reason : "";
	snprintf(text, sizeof(text), "not in the pool%s%s", *reason ? ": " : "", reason);
	say_under(margin, text);
}

static const struct table_layout layout = {
	.columns = { COL_DOMAIN, COL_INSTANCE, COL_TYPE, COL_MIB, COL_STATE, COL_AGE, COL_ID },
	.narrow = { COL_MIB, COL_ID, COL_AGE, COL_INSTANCE, COL_TYPE },
};

/* Draws all vGPUs as one table, so that the columns of all pGPUs are aligned. The caller frees the text. */
static char *draw_vgpus(const struct status *status)
{
	static const struct table_options options = { .no_headings = true };
	struct term inner = *term_stdout();
	struct rows rows = { 0 };
	char *text = NULL;
	size_t size;

	inner.to = mem_open(&text, &size);
	inner.width -= inner.width ? 6 : 0;
	table_start(&rows.table, &layout, &options);
	for (EACH(const struct status_vgpu *, v, status->vgpus, status->nvgpus)) {
		char gib[32];

		snprintf(gib, sizeof(gib), "%.4g GiB", v->mib / 1024.0);
		status_vgpu(&rows, v);
		table_text(&rows.table, COL_MIB, v->mib > 0 ? gib : NULL);
		if (v->lease && v->lease->state == LEASE_ACTIVE &&
		    inventory_presence(&status->cmd->world.inv, &status->cmd->host, v->ref) == ABSENT)
			table_coloured(&rows.table, COL_STATE, "no device", TERM_RED);
		else if (!v->lease)
			table_coloured(&rows.table, COL_STATE,
				       affinity_is_for_guest(&status->cmd->store, v->ref->id) ? "unleased" : "foreign",
				       TERM_YELLOW);
	}
	table_end(&rows.table, &inner);
	mem_close(inner.to);
	return text;
}

/* Prints the next `n` vGPUs of draw_vgpus(). */
static void print_vgpus(const char **lines, size_t n, bool last_card)
{
	const struct shapes *parts = shapes();

	while (n--) {
		const char *shape = n ? parts->branch : parts->last;

		do {
			printf("%s%s%.*s\n", last_card ? parts->none : parts->line, shape, (int)strcspn(*lines, "\n"),
			       *lines);
			*lines += strcspn(*lines, "\n") + 1;
			shape = n ? parts->line : parts->none;
		} while (**lines == ' '); /* continuation lines begin with a blank */
	}
}

/* Writes the types and counts of an idle card. False: the card is in use or full, or the text is too long. */
static bool is_idle(const struct status *status, const struct card_row *row, char *text, size_t size)
{
	enum { COLUMNS_MAX = 48 };
	struct capacity_count count;
	const char *type;

	*text = '\0';
	for (size_t i = 0; (type = count_type(&count, status, row, i)) != NULL; i++) {
		if (!count.available || count.used > 0)
			return false;
		text_add(text, size, "%s%s: %d available", i ? ", " : "idle, ", type, count.available);
	}
	return row->mib.used <= 0 && *text && strlen(text) <= COLUMNS_MAX;
}

/* Counts the next rows that are missing for the same reason as this row, usually VFs of one card. */
static size_t more_missing(const struct card_row *row)
{
	size_t n = 0;

	/* rows[nrows] is not missing, so it ends the loop. */
	while (row->missing && !row->nvgpus && row[n + 1].missing && !row[n + 1].nvgpus &&
	       strcmp(row[n + 1].reason, row->reason) == 0)
		n++;
	return n;
}

/* True if the card is printed on one line. `close`: so was the previous card, and two such cards need no gap. */
static bool print_card(const struct status *status, const char **lines, const struct card_row *row, size_t more,
		       bool last, bool close)
{
	char idle[REASON_SIZE];
	const struct shapes *parts = shapes();
	const struct inv_pgpu *card = row->card;
	const char *model = row->model;
	autofree char *shown = term_safe(model);
	char margin[MARGIN_SIZE];
	int at = 5 + (int)strlen(card->address), width = term_stdout()->width;
	bool one_line = !row->nvgpus && is_idle(status, row, idle, sizeof(idle));

	snprintf(margin, sizeof(margin), "%s%s", last ? parts->none : parts->line,
		 row->nvgpus ? parts->line : parts->none);
	if (!close || !one_line)
		printf("%s\n", parts->gap);
	printf("%s%s%s%s", last ? parts->last : parts->branch, term_colour(TERM_BOLD),
	       *card->address ? card->address : "pGPU not found", term_colour(TERM_PLAIN));
	if (one_line) {
		/* On a wide terminal, omit a model that does not fit. `vgpu-lease inventory` shows the model. */
		if (*model && (width < 80 || at + (int)(strlen(idle) + 2 + strlen(model)) <= width))
			text_add(idle, sizeof(idle), "  %s", model);
		fputs("  ", stdout);
		term_wrap(at, margin, idle);
		return true;
	}
	if (more)
		printf(" and %zu more", more);
	else if (*model)
		printf("  %s", shown);
	else if (*card->vendor)
		printf("  %s:%s", card->vendor, card->device);
	putchar('\n');
	if (*card->address) {
		print_facts(status, row, margin);
		print_bars(status, row, margin);
	}
	print_vgpus(lines, row->nvgpus, last);
	return false;
}

static const char *const words[] = { [CHECK_PASS] = "PASS", [CHECK_WARN] = "WARN", [CHECK_FAIL] = "FAIL" };
static const char *const colours[] = { TERM_GREEN, TERM_YELLOW, TERM_RED };

static void print_word(enum check_status status)
{
	printf("%s%s%s  ", term_colour(colours[status]), words[status], term_colour(TERM_PLAIN));
}

/* Returns "WHERE: TEXT; FIX", which the caller frees. */
static char *finding_text(const struct finding *finding)
{
	const char *where = finding->where ? finding->where : "", *fix = finding->fix ? finding->fix : "";

	return mem_format("%s%s%s%s%s", where, *where ? ": " : "", finding->text, *fix ? "; " : "", fix);
}

static void print_problems(const struct status *status)
{
	const struct check *check = &status->check;

	for (enum check_status at = CHECK_FAIL; at > CHECK_PASS; at--)
		for (EACH(const struct finding *, f, check->findings, check->n)) {
			autofree char *text = finding_text(f);

			if (f->status != at)
				continue;
			fputs(shapes()->line, stdout);
			print_word(at);
			term_wrap(9, term_stdout()->utf8 ? "│        " : "|        ", text);
		}
}

static void print_tree(const struct status *status)
{
	const struct check *check = &status->check;
	const char *colour = check->count[CHECK_FAIL] ? TERM_RED : check->count[CHECK_WARN] ? TERM_YELLOW : TERM_GREEN;
	autofree char *vgpus = draw_vgpus(status), *host = term_safe(status->host);
	const char *lines = vgpus;
	char text[128], part[32] = "";
	bool close = false;
	size_t n = status->nrows + (status->rows[status->nrows].nvgpus > 0);

	printf("%s%s%s %s%s%s", term_colour(colour), shapes()->dot, term_colour(TERM_PLAIN), term_colour(TERM_BOLD),
	       host, term_colour(TERM_PLAIN));
	if (status->nvgpus < status->nall)
		snprintf(part, sizeof(part), "%zu of ", status->nvgpus);
	snprintf(text, sizeof(text), ": %zu of %zu pGPU%s in the pool, %s%zu vGPU%s", check->npool, check->ncards,
		 check->ncards == 1 ? "" : "s", part, status->nall, status->nall == 1 ? "" : "s");
	term_wrap(2 + term_columns(host, strlen(host)), shapes()->line, text);
	print_problems(status);
	for (size_t row = 0, more; row < n; row += 1 + more) {
		more = more_missing(&status->rows[row]);
		close = print_card(status, &lines, &status->rows[row], more, row + more + 1 == n, close);
	}
}

static void json_finding(struct json_out *json, const struct finding *finding)
{
	json_out_object(json, NULL);
	json_out_string(json, "status", words[finding->status]);
	json_out_string(json, "what", finding->what);
	json_out_string(json, "where", finding->where);
	json_out_string(json, "message", finding->text);
	json_out_string(json, "fix", finding->fix);
	json_out_close(json);
}

static void print_json(const struct status *status, struct json_out *json)
{
	json_out_string(json, "host", status->host);
	json_out_string(json, "nvidia_driver", status->cmd->world.inv.nvidia_driver);
	json_out_array(json, "problems");
	for (size_t i = 0; i < status->check.n; i++)
		if (status->check.findings[i].status != CHECK_PASS)
			json_finding(json, &status->check.findings[i]);
	json_out_close(json);
	status_json_pgpus(json, status);
	status_json_vgpus(json, &status->rows[status->nrows]);
}

static void check_host(struct status *status, struct cmd *cmd)
{
	char name[sizeof(status->host)] = "";

	status->check = (struct check){ .host = &cmd->host,
					.config_path = cmd->call->args.config,
					.seen = &cmd->world,
					.config = config_is_valid(&cmd->config) ? &cmd->config : NULL };
	check_run(&status->check);
	if (gethostname(name, sizeof(name) - 1) < 0)
		text_copy(name, sizeof(name), "this host");
	text_cut(status->host, sizeof(status->host), cmd->call->args.root ? cmd->call->args.root : name);
}

static int run(struct cmd *cmd, struct err *err)
{
	autostatus struct status status = { 0 };

	if (status_read(&status, cmd, err) < 0)
		return -err->code;
	check_host(&status, cmd);
	if (cmd->call->json)
		print_json(&status, cmd_json(cmd));
	else
		print_tree(&status);
	return 0;
}

const struct command cmd_status = {
	.name = "status",
	.options = CMD_JSON | CMD_DOMAIN | CMD_PGPU | CMD_TYPE | CMD_STATE,
	.summary = "Show the host at a glance (default command)",
	.help = "Print the problems that 'vgpu-lease check' finds, and each pGPU with its\n"
		"framebuffer and instances in use, and its vGPUs. --type alone also selects the\n"
		"pGPUs configured for it. Problems do not change the exit status.\n",
	.needs = CMD_CONFIG_OWN,
	.run = run,
};

static void print_check_json(const struct check *check, struct json_out *json)
{
	json_out_bool(json, "ok", check->count[CHECK_FAIL] == 0);
	json_out_number(json, "pgpus", (long)check->ncards);
	json_out_number(json, "pgpus_in_pool", (long)check->npool);
	json_out_array(json, "checks");
	for (size_t i = 0; i < check->n; i++)
		json_finding(json, &check->findings[i]);
}

static void print_check(const struct check *check)
{
	for (EACH(const struct finding *, finding, check->findings, check->n)) {
		autofree char *text = finding_text(finding);
		print_word(finding->status);
		fputs(finding->what, stdout);
		term_wrap_behind(6 + (int)strlen(finding->what), 15, text);
	}
	out_say("%zu passed, %zu warning%s, %zu failed; %zu of %zu pGPU%s in the pool", check->count[CHECK_PASS],
		check->count[CHECK_WARN], check->count[CHECK_WARN] == 1 ? "" : "s", check->count[CHECK_FAIL],
		check->npool, check->ncards, check->ncards == 1 ? "" : "s");
}

static int check_now(struct cmd *cmd, struct err *err)
{
	const struct args *args = &cmd->call->args;
	struct check check = { .host = &cmd->host, .config_path = args->config };
	const char *held = "";
	int r = host_open(&cmd->host, args->root, err);

	if (r < 0)
		return r;
	libvirt_daemon_follow(&cmd->host);
	/* check_run() can wait a long time for a held lock. Ignore an error here, because check_run() reports it. */
	if (store_open(&cmd->store, &cmd->host, false, err) == 0 && store_locked(&cmd->store, STORE_LOCK))
		held = "; /run/vgpu-lease/lock is held";
	out_progress(false, "checking this host%s", held);
	check_run(&check);
	out_progress_end();
	if (cmd->call->json)
		print_check_json(&check, cmd_json(cmd));
	else
		print_check(&check);
	r = check.count[CHECK_FAIL] ? CMD_FAILED : CMD_DONE;
	check_free(&check);
	return r;
}

const struct command cmd_check = {
	.name = "check",
	.options = CMD_JSON,
	.summary = "Check the configuration against this host",
	.help = "Print one line per check: PASS, WARN (needs attention, such as a full pGPU) or\n"
		"FAIL (broken, or not as configured; the exit status is 1). Nothing is changed.\n",
	.needs = CMD_BARE,
	.run = check_now,
};
