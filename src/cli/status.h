/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host's pGPUs as commands show them, including configured ones that provide no vGPUs; their vGPUs; the tree that
 * `vgpu-lease status` prints; and the objects and events of `vgpu-lease show` and `log`.
 */
#pragma once

#include "cli/cmd.h"
#include "check/check.h"

enum { CARD_MODEL_SIZE = 256 };

/* A vGPU that is leased, or that exists without a lease. */
struct status_vgpu {
	const struct vgpu_ref *ref;
	const struct lease *lease;
	const struct card_row *row; /* its pGPU's, only until all are read */
	int mib;
};

struct card_row {
	const struct inv_pgpu *card;
	const struct section *missing; /* what configures a card that provides no vGPUs; NULL: the inventory has it */
	const char *type;              /* the configured type, or the first of several; "": none */
	struct capacity_count count;   /* the counts of `type`; UNKNOWN: the card does not offer `type` */
	struct capacity_framebuffer mib;
	char reason[REASON_SIZE];    /* why it is not in the pool, or has no vGPU available */
	char model[CARD_MODEL_SIZE]; /* its name in the hardware database; "": none */
	const struct status_vgpu *vgpus;
	size_t nvgpus;
};

struct status {
	struct cmd *cmd;
	struct check check;
	struct card_row *rows; /* `nrows`, and one more for the vGPUs of pGPUs that are not listed */
	size_t nrows;
	struct status_vgpu *vgpus; /* sorted by row and ID */
	size_t nvgpus, nall;       /* the number of vGPUs that match the filters, and of all vGPUs */
	char host[256];
};

/* Reads the pGPUs and vGPUs that match the filters; sets neither `check` nor `host`. Always call status_end(). */
int status_read(struct status *status, struct cmd *cmd, struct err *err);
void status_end(struct status *status);

#define autostatus __attribute__((cleanup(status_end)))

/* Writes the fields of a vGPU as one row, whose cells can still be replaced. */
void status_vgpu(struct rows *rows, const struct status_vgpu *v);

/* Write the member "pgpus", or "vgpus" with the vGPUs of a row. */
void status_json_pgpus(struct json_out *json, const struct status *status);
void status_json_vgpus(struct json_out *json, const struct card_row *row);

/* A pGPU's row; if the pGPU is not listed, the one behind the last, whose card has no address. */
struct card_row *status_row(const struct status *status, const char *pgpu);

/* Fails if neither the host nor a lease has the --pgpu (usually a typo); else spells it as leases and devices do. */
int cards_check_pgpu(struct cmd *cmd, struct err *err);

/*
 * Finds a pGPU by its address, written as in sysfs. Returns NULL if no pGPU has this address; `err` has the reason and
 * the most similar name.
 */
const struct inv_pgpu *cards_pgpu(const struct world *world, const char *name, struct err *err);

/* The card's framework; "" while the card's VFs are off, or its driver has not registered its types. */
const char *cards_framework(const struct inv_pgpu *card);

/* Writes one row for each of the pGPU's types. */
void cards_offers(struct rows *rows, const struct world *world, const struct card_row *row);

/* Draws the tree on term->to, to fit this terminal. */
void status_print(const struct status *status, const struct term *term);

enum show_kind { SHOW_DOMAIN, SHOW_VGPU, SHOW_PGPU };

/* The kind of object that the operand names, after cmd_survey(). A UUID is a domain's, unless a vGPU has or had it. */
enum show_kind show_kind(const struct cmd *cmd);

/* The lease of a vGPU, void or not; NULL: none. The vGPU's data from its device, else its lease, else its VF. */
const struct lease *show_lease(const struct cmd *cmd, const char *id);
struct vgpu_ref show_ref(const struct cmd *cmd, const char *id);

int show_object(struct cmd *cmd, bool is_vgpu, struct err *err);

/* The vGPU's owner; NULL: unknown. `nova`: its domain is a Nova instance, or Nova counts it. `lease` may be NULL. */
const char *show_owner(const struct host *host, const struct vgpu_ref *vgpu, const struct lease *lease, bool nova);

/* Writes "exists", "open" and "open_by" of a device; `open` is the result of vfio_users_open(). */
void show_json_use(struct json_out *json, enum presence exists, int open, pid_t by);

struct events_query {
	const char *object; /* a domain, vGPU or pGPU; NULL: all */
	int64_t since_us;   /* CLOCK_REALTIME; 0: all */
	int last;           /* only the latest `last` events; 0: all */
	/* Set by events_print(): */
	bool readable; /* some part of the journal can be read */
	bool ever;     /* no event was printed, but there are older events of the object */
};

/*
 * Prints the events, oldest first, as lines or as the array "events". Returns their number, or a negative errno. If
 * only a part of the journal can be read, prints the events of that part and returns an error. If no part can be read,
 * writes no array and returns -ENOENT (no journal exists) or -EACCES.
 */
int events_print(struct cmd *cmd, struct events_query *query, struct err *err);
