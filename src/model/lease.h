/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A lease says which domain, by UUID, a vGPU belongs to; the XML of two domains can name the same device. It is written
 * before its device is created, and dropped after the device is removed, so a process that dies in between leaves a
 * record of the unfinished work.
 *
 *   reserved   held until its deadline for a domain that migrates or is restored; the device does not exist yet, or
 *              vgpu-lease did not create it
 *   creating   a process is creating the device; void if no process is at work on it and the device is absent
 *   active     the domain has the device
 *   releasing  its domain has ended, and the lease is dropped once no process has the device open; if the domain
 *              arrives again, the device is kept for it until the deadline
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/vgpu.h"

enum lease_state { LEASE_RESERVED, LEASE_CREATING, LEASE_ACTIVE, LEASE_RELEASING };
enum lease_origin { LEASE_CREATED, LEASE_ADOPTED };

struct lease {
	struct vgpu_ref vgpu;
	char domain[UUID_SIZE];
	char name[DOMAIN_NAME_SIZE];  /* for messages */
	char project[PROJECT_SIZE];   /* "" none */
	char instance[INSTANCE_SIZE]; /* the domain's name in Nova; "" none */
	enum lease_state state;
	enum lease_origin origin;
	int numa;            /* NUMA node, or UNKNOWN */
	int framebuffer_mib; /* or UNKNOWN */
	int64_t since_ms;    /* when the lease was last written, CLOCK_MONOTONIC */
	int64_t deadline_ms; /* when a reservation expires, or a release may begin; CLOCK_MONOTONIC; 0 none */
	pid_t writer;        /* with writer_start: the process that wrote the lease */
	uint64_t writer_start;
	char boot[UUID_SIZE]; /* the boot in which the lease was written; "": an earlier version wrote it */
	int64_t node;         /* the inode of the mdev's link in sysfs; 0: not yet seen, or not an mdev */
	/* Not stored in the file; set by survey and by fate_mark(): */
	bool at_work; /* a process works on the lease, or is expected to finish its release in time */
	bool hangs;   /* its driver has not answered for too long: no start waits for it */
	enum presence device;
	bool reclaimable; /* can be removed to make capacity: its domain has gone, or only its release is pending */
	bool keeps;       /* its release makes no capacity, because the device stays */
	/* Set by plan: an earlier request of the domain gets the vGPU. */
	bool promised;
};

struct leases {
	struct lease *list; /* sorted by id */
	size_t n;
	int garbage; /* invalid files, which were skipped */
	int aside;   /* invalid files that were moved to garbage/ */
};

extern const char *const lease_state_words[LEASE_RELEASING + 1];
extern const char *const lease_origin_words[LEASE_ADOPTED + 1];

/* True if the lease belongs to this domain, a UUID or a name. A string in UUID form is never a name. */
bool lease_is_of(const struct lease *lease, const char *domain);

/* Returns a lease of this vGPU for the requesting domain. The caller sets the remaining fields. */
struct lease lease_for(const struct request *request, const struct vgpu_ref *vgpu);

/* Returns the length, or -ENOSPC. */
int lease_format(const struct lease *lease, char *buf, size_t size);

/* Returns 0, -EINVAL, or -EPROTONOSUPPORT for a later version's lease, which must not be changed. */
int lease_parse(struct lease *lease, const char *text);

/* True if both are NULL, or one record: ID, domain, state, writer and time are the same. */
bool lease_same(const struct lease *a, const struct lease *b);

/* Is the lease an expired reservation, or a creation without a device (as for any plain VF) and without a process? */
bool lease_is_void(const struct lease *lease, bool exists, bool at_work, int64_t now_ms);

struct lease *lease_find(const struct leases *leases, const char *id);

/* Do `leases` have this very record, which was not written again since? */
bool lease_is_among(const struct leases *leases, const struct lease *lease);

/* Appends a copy. Add leases in the order of their IDs. */
void lease_add(struct leases *leases, const struct lease *lease);
void lease_list_free(struct leases *leases);

#define autoleases __attribute__((cleanup(lease_list_free)))

/*
 * Who removes a vGPU after its domain has released it.
 *
 * mdevctl owns an mdev whose UUID has a definition on its parent. Nova owns an mdev that a Nova instance names, and one
 * that no domain names, if its pGPU is in the pool and the pool comes from a nova.conf: Nova counts it, whatever its
 * type, and never removes it. A VF, which has no definition, belongs to the software that set its type.
 *
 * The hook creates a missing mdev of another owner, but never removes it: Nova would count the remaining definition as
 * a device, pick it for the next instance and fail, and would resume a suspended instance without its vGPU.
 */
enum owner { OWNER_HOOK, OWNER_NOVA, OWNER_MDEVCTL, OWNER_OTHER };

struct owner_facts {
	enum framework framework;
	bool created; /* by the hook */
	bool defined; /* mdevctl has a definition of the UUID on its parent, or may have one */
	bool nova;    /* a Nova instance names it or, if no domain does, Nova counts it */
};

enum owner owner_of(const struct owner_facts *facts);

/* The origin of this owner's vGPU. A release removes a `created` vGPU and keeps an `adopted` one. */
enum lease_origin owner_origin(enum owner owner);

/* NULL for OWNER_OTHER. */
extern const char *const owner_words[OWNER_OTHER + 1];

/* Why a release keeps the vGPU, as a clause of a message; NULL for OWNER_HOOK and OWNER_OTHER. */
const char *owner_why_kept(enum owner owner);
