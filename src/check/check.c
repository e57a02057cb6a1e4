/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs the checks in order, and collects their findings. */
#include "check/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "look/inventory.h"
#include "look/libvirt_files.h"
#include "internal.h"

void check_begin(struct check *check, const char *what)
{
	check->what = what;
	check->where[0] = '\0';
}

struct check *check_at(struct check *check, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(check->where, sizeof(check->where), fmt, ap);
	va_end(ap);
	return check;
}

struct check *check_at_location(struct check *check, struct location at)
{
	return at.line ? check_at(check, "%.512s:%d", at.file, at.line)
		       : check_at(check, "%.512s", at.file ? at.file : "");
}

struct check *check_at_path(struct check *check, const char *path)
{
	return check_at(check, "%s/%s", check->host->name, path);
}

void check_report(struct check *check, enum check_status status, const char *fix, const char *fmt, ...)
{
	struct finding *finding = mem_add(&check->findings, &check->n, sizeof(*finding));
	va_list ap;

	*finding = (struct finding){ .status = status,
				     .what = check->what,
				     .where = *check->where ? mem_strdup(check->where) : NULL,
				     .fix = fix ? mem_strdup(fix) : NULL };
	va_start(ap, fmt);
	finding->text = mem_vformat(fmt, ap);
	va_end(ap);
	check->count[status]++;
}

const char *check_fix(struct check *check, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(check->fix, sizeof(check->fix), fmt, ap);
	va_end(ap);
	return check->fix;
}

void check_unreadable(struct check *check, const char *fix, const struct err *err)
{
	bool denied = err_denied(err->code);

	check_report(check, denied ? CHECK_WARN : CHECK_FAIL, denied ? "run as root" : fix, "%s", err->text);
}

void check_note(struct check *check, enum check_status status, const struct err *note, const char *fix)
{
	char hint[REASON_SIZE];

	inventory_name_hint(check->host, note->word, hint);
	check_at(check, "%.*s", note->where > 2 ? (int)note->where - 2 : 0, note->text);
	check_report(check, status, fix, "%s%s%s", note->text + note->where, *hint ? "; " : "", hint);
}

static const char *config_advice(const struct err *err)
{
	return err_denied(err->code) ? "run as root"
				     : "until the configuration is corrected, starts and migrations that need a new "
				       "vGPU are refused; existing vGPUs are used";
}

/* Returns the fix for a missing configuration. init configures only pGPUs that are ready. */
static const char *first_config(const struct inventory *inv)
{
	for (size_t g = 0; g < inv->npgpus; g++)
		if (inv->pgpus[g]->gpu && (inv->pgpus[g]->ready || (!inv->pgpus[g]->nvidia && inv->pgpus[g]->nvfs)))
			return "create it with 'vgpu-lease init --write'";
	return inv->npgpus ? "make a pGPU ready ('vgpu-lease inventory' shows the problems), then run 'vgpu-lease init "
			     "--write'"
			   : "install a GPU that can have vGPUs, then run 'vgpu-lease init --write'";
}

static void config_fails(struct check *check, int r, const struct config_notes *mistakes, const struct err *err)
{
	/* A missing permission is a failure too: no pGPU or start is checked without the file. */
	for (size_t i = 0; i < mistakes->n; i++)
		check_note(check, CHECK_FAIL, &mistakes->list[i], config_advice(&mistakes->list[i]));
	if (mistakes->n)
		return;
	if (r != -ENOENT) {
		check_fail(check, config_advice(err), "%s", err->text);
		return;
	}
	if (check->config_path)
		check_at(check, "%s", check->config_path);
	else
		check_at_path(check, "etc/vgpu-lease.conf");
	check_fail(check, first_config(&check->world->inv), "does not exist, so no vGPU can be created");
}

static void config_passes(struct check *check, const struct config *config)
{
	for (size_t i = 0; i < config->nfiles; i++)
		check_pass(check_at(check, "%s", config->files[i]), "valid");
	/* check_starts() reports types without a pGPU (ENODEV). */
	for (size_t i = 0; i < config->warnings.n; i++)
		if (config->warnings.list[i].code != ENODEV)
			check_note(check, CHECK_WARN, &config->warnings.list[i], "correct the file, or ignore this");
}

/* Are there VFs that are vGPUs? If the files of the domains are read, check_starts() names a VF that no domain has. */
static bool has_vfs(const struct inventory *inv)
{
	for (size_t i = 0; i < inv->nparents; i++)
		if (inv->parents[i]->card->framework != FW_MDEV)
			return true;
	return false;
}

/* Skips a check without its input. Another finding reports the missing input. */
static void run_all(struct check *check)
{
	struct err unread;

	check_begin(check, "domain");
	if (!check->only_pool && libvirt_files_read(&check->disk, check->host, &unread) < 0) {
		check_unreadable(check, "fix the cause", &unread);
		/* With an incomplete list of files, a faulty domain could pass. */
		libvirt_files_free(steal_ptr(&check->disk));
	}
	if (check->disk && check->inv && has_vfs(check->inv) && !check->world->disk)
		(void)!libvirt_files_read(&check->world->disk, check->host, &unread);
	if (check->inv) {
		check_cards(check);
		check_starts(check);
	}
	if (check->only_pool)
		return;
	if (check->inv)
		check_definitions(check);
	check_hook(check);
	if (check->disk)
		check_domains(check);
	check_state(check);
}

int check_plan(struct check *check, const struct config *config, const struct request *request, enum plan_mode mode,
	       struct err *err)
{
	static const struct request nothing;
	struct world *world = check->world;
	int r;

	if (check->no_start.code) {
		*err = check->no_start;
		return -err->code;
	}
	world->config = config;
	world->asked = request;
	world->mode = mode;
	r = preview_plan(&check->plan, world, err);
	/* The caller may free its request and configuration before the next check reads the world. */
	world->config = check->config;
	world->asked = world->request = &nothing;
	world->mode = PLAN_PREPARE;
	return r;
}

/* Reads the host into check->world. If no leases can be read, sets check->no_start, and the world is without them. */
static int look_at_host(struct check *check, struct store *none, struct err *err)
{
	struct world *world = check->world;

	check->no_start = check->store_err;
	*world = (struct world){ .host = check->host, .store = &check->store, .config = check->config };
	if (!check->store_err.code && survey_see(world, &check->no_start) == 0)
		return 0;
	survey_end(world);
	*world = (struct world){ .host = check->host, .store = none, .config = check->config };
	return survey_see(world, err);
}

/* Restores the caller's world, which check_plan() has changed. */
static void give_back(struct world *world, const struct config *config)
{
	struct err ignored;

	world->config = config;
	for (size_t i = 0; i < world->inv.ndevices; i++)
		world->inv.devices[i].facts = (struct device_facts){ 0 };
	for (size_t i = 0; i < world->inv.nparents; i++)
		world->inv.parents[i]->facts = (struct device_facts){ 0 };
	(void)!survey_see(world, &ignored);
}

void check_run(struct check *check)
{
	struct world own = { 0 }, *world = check->seen ? check->seen : &own;
	const struct config *config = world->config;
	struct config_notes mistakes = { 0 };
	struct config loaded = { 0 };
	struct store none = STORE_NONE;
	struct err err = { 0 }, unseen;
	int r = check->config ? 0 : config_load(&loaded, check->host, check->config_path, &mistakes, &err);
	int seen;

	check->config = check->config ? check->config : &loaded;
	(void)!store_open(&check->store, check->host, false, &check->store_err);
	check->world = world;
	seen = check->seen ? 0 : look_at_host(check, &none, &unseen);
	check_begin(check, "config");
	if (r < 0)
		config_fails(check, r, &mistakes, &err);
	else if (!check->only_pool)
		config_passes(check, check->config);
	config_notes_free(&mistakes);
	check_begin(check, "pgpu");
	check->ncards = world->inv.npgpus;
	if (seen < 0) {
		check_fail(check, "see that /sys is mounted", "the host cannot be read: %s", unseen.text);
	} else if (config_is_valid(check->config)) {
		check->inv = &world->inv;
		check->explained = mem_new(check->config->nsections + 1, sizeof(*check->explained));
	}
	for (size_t g = 0; seen >= 0 && !check->inv && g < check->ncards; g++) {
		const struct inv_pgpu *card = world->inv.pgpus[g];

		check_pass(check_at(check, "%s", card->address), "not in the pool: %s",
			   card->ready ? "no valid configuration" : card->reason);
	}
	run_all(check);
	libvirt_files_free(steal_ptr(&check->disk));
	free(steal_ptr(&check->explained));
	check->inv = NULL;
	plan_free(&check->plan);
	if (check->seen)
		give_back(world, config);
	else
		survey_end(world);
	store_close(&check->store);
	check->config = NULL;
	config_free(&loaded);
}

void check_free(struct check *check)
{
	for (size_t i = 0; i < check->n; i++) {
		free(check->findings[i].where);
		free(check->findings[i].text);
		free(check->findings[i].fix);
	}
	free(check->findings);
}
