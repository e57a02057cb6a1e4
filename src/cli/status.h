/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `status`, `inventory`, `list`, `show` and `log` share: pGPUs, vGPUs, one object, and its events. */
#pragma once

#include "cli/cmd.h"
#include "check/check.h"

/* A vGPU that is leased, or that exists without a lease. */
struct status_vgpu {
	const struct vgpu_ref *ref;
	const struct lease *lease;
	const struct card_row *row; /* used only by status_read() */
	int mib;
};

struct card_row {
	const struct inv_pgpu *card;
	const struct section *missing; /* the section that configures a missing card; NULL: not missing */
	const char *type;              /* the configured type, or the first of several; "": none */
	struct capacity_count count;   /* the counts of `type`; UNKNOWN: the card does not offer `type` */
	struct capacity_framebuffer mib;
	char reason[REASON_SIZE]; /* why the card is not in the pool, or has no vGPU available */
	char model[256];          /* from udev's hardware database; "": unknown */
	const struct status_vgpu *vgpus;
	size_t nvgpus;
};

struct status {
	struct cmd *cmd;
	struct check check;
	struct card_row *rows; /* rows[nrows] has the vGPUs of unlisted pGPUs */
	size_t nrows;
	struct status_vgpu *vgpus; /* sorted by row and ID */
	size_t nvgpus, nall;       /* vGPUs that match the filters, and all vGPUs */
	char host[256];
};

/* Reads what matches the filters. Does not set `check` and `host`. */
int status_read(struct status *status, struct cmd *cmd, struct err *err);
void status_end(struct status *status);

#define autostatus __attribute__((cleanup(status_end)))

/* Writes one row; table_text() can still replace its cells. */
void status_vgpu(struct rows *rows, const struct status_vgpu *v);

/* Write the member "pgpus", and the member "vgpus" of one pGPU. */
void status_json_pgpus(struct json_out *json, const struct status *status);
void status_json_vgpus(struct json_out *json, const struct card_row *row);

/* Returns the row of the pGPU, or rows[nrows] if the pGPU is not listed. */
struct card_row *status_row(const struct status *status, const char *pgpu);

/* Finds a pGPU by its address, spelt as in sysfs. NULL: `err` says why. */
const struct inv_pgpu *cards_pgpu(const struct world *world, const char *name, struct err *err);

/* "": unknown, because the card has no parents. */
const char *cards_framework(const struct inv_pgpu *card);

/* Writes a row for each type of the pGPU. */
void cards_offers(struct rows *rows, const struct world *world, const struct card_row *row);

enum show_kind { SHOW_DOMAIN, SHOW_VGPU, SHOW_PGPU };

/*
 * Call these after cmd_survey(). show_kind() says what the operand names. show_lease() returns a vGPU's lease, even a
 * void one; NULL: none. show_ref() says where a vGPU is or was, and its type.
 */
enum show_kind show_kind(const struct cmd *cmd);
const struct lease *show_lease(const struct cmd *cmd, const char *id);
struct vgpu_ref show_ref(const struct cmd *cmd, const char *id);

/* Prints a vGPU or a pGPU, and its events. Returns what a sub-command returns. */
int show_object(struct cmd *cmd, bool is_vgpu, struct err *err);

/* NULL: unknown. `nova`: the vGPU is Nova's. `lease` may be NULL. */
const char *show_owner(const struct host *host, const struct vgpu_ref *vgpu, const struct lease *lease, bool nova);

/* Writes the members "exists", "open" and "open_by". `open` is the result of vfio_users_open(). */
void show_json_use(struct json_out *json, enum presence exists, int open, pid_t by);

/*
 * Prints the events of `object` (NULL: all), oldest first, as lines or as the array "events": the `last` ones, or all
 * since call->since_us if `last` is 0. *ever: there are events, perhaps older ones. Returns their number, and sets
 * err->code if some may be missing. Negative: the journal cannot be read, and nothing is printed.
 */
int events_print(struct cmd *cmd, const char *object, int last, bool *ever, struct err *err);
