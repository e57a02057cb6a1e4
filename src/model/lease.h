/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Leases: which vGPU belongs to which domain. One small file each, named by the vGPU's id; it appears whole or not at
 * all.
 *
 * The owner is the domain's UUID: a domain's name can change, and the XML of the loser of a clash names the winner's
 * device. Lease first, then create; remove, then drop the lease: whoever dies in between leaves a record that says what
 * to finish.
 *
 *   reserved   promised to a domain that migrates or is restored; void at its deadline; nothing exists for it yet, or
 *              a foreign device
 *   creating   `writer` is making the device; void when the writer is dead and the device absent
 *   active     the domain's
 *   releasing  to be released as soon as nobody has the device open
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/request.h"
#include "model/vgpu.h"

enum lease_state { LEASE_RESERVED, LEASE_CREATING, LEASE_ACTIVE, LEASE_RELEASING };
enum lease_origin { LEASE_CREATED, LEASE_ADOPTED };

struct lease {
	struct vgpu_ref vgpu;
	char domain[UUID_SIZE];
	char name[DOMAIN_NAME_SIZE];  /* the domain's; for people */
	char project[PROJECT_SIZE];   /* "" none */
	char instance[INSTANCE_SIZE]; /* what Nova calls the domain; for people; "" none */
	enum lease_state state;
	enum lease_origin origin;
	int numa;            /* node; UNKNOWN */
	int framebuffer_mib; /* UNKNOWN */
	int64_t since_ms;    /* when it entered its state, CLOCK_MONOTONIC */
	int64_t deadline_ms; /* of a reservation, CLOCK_MONOTONIC; 0 none */
	pid_t writer;        /* who wrote it, and may still be at work on it; 0: the handler, which lives on */
	uint64_t writer_start;
	char boot[UUID_SIZE]; /* in which it was written; "" an earlier version, which did not say */
	/* Not in the file (survey): */
	bool at_work;         /* its writer, or whoever holds the pGPU's lock, is at it now */
	enum presence device; /* is its device there? */
};

struct leases {
	struct lease *list; /* sorted by id */
	size_t n;
	int garbage; /* files that could not be understood and were passed over */
	int aside;   /* of them, those that were moved to garbage/ */
};

/* The words of the file format and of the JSON. */
const char *lease_state_word(enum lease_state state);
const char *lease_origin_word(enum lease_origin origin);

/* Is it the lease of this domain? What looks like a UUID (in this case or another) is one, and never a name. */
bool lease_is_of(const struct lease *lease, const char *domain);

/* "UUID", or "NAME, UUID" of an instance of Nova: whose it is, behind the domain's name; cut where it is too long. */
enum { HOLDER_SIZE = UUID_SIZE + 128 };
const char *lease_holder(char buf[HOLDER_SIZE], const struct lease *lease);

/* A lease of this vGPU for the domain that requests it; the caller sets the rest. */
struct lease lease_for(const struct request *request, const struct vgpu_ref *vgpu);

/*
 * A lease as text and back. -EINVAL: not a lease; nothing of it is to be trusted. -EPROTONOSUPPORT: one of a later
 * version, which is not to be touched.
 */
int lease_format(const struct lease *lease, char *buf, size_t size);
int lease_parse(struct lease *lease, const char *text);

/* Are these one record, written by the same at the same time, or is there none in both? */
bool lease_same(const struct lease *a, const struct lease *b);

/* The lease of this ID; NULL: none. */
struct lease *lease_find(const struct leases *leases, const char *id);

void lease_list_free(struct leases *leases);

#define autoleases __attribute__((cleanup(lease_list_free)))

/* By ID, as lease_find() needs them. */
void leases_sort(struct leases *leases);
