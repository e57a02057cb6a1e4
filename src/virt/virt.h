/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvirt, in the words of this project: domains by their UUID, their XML as text, devices, events, and its event loop.
 *
 * libvirt takes ten times as long to load as all the rest of a command: it is opened with the first connection, once
 * for the process, and never closed. What it says of an error becomes the error's text; it prints nothing by itself.
 * Error codes that callers can rely on: ENOENT no such domain; ENOTCONN the connection is lost (virt_close(), and open
 * another); ENODEV no such device; EBUSY another operation is under way at the domain; EPERM not in this state of the
 * domain; EACCES we may not; EOPNOTSUPP this libvirt cannot do it; EIO all else.
 *
 * Never used by the hook, which libvirt waits for. One thread only. While a connection is open, its loop should be run
 * again within some 20 seconds: a libvirtd that gets no answer to its keepalive hangs up after 30.
 *
 * The only module that includes libvirt.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/ident.h"

#define VIRT_DEFAULT_URI "qemu:///system"

struct virt; /* a connection */

/* Connects; `uri` NULL is VIRT_DEFAULT_URI. The text says what to do where libvirt is not there, or does not run. */
int virt_open(struct virt **out, const char *uri, struct err *err);
void virt_close(struct virt *virt); /* NULL is none; never from within an event */

/* Is the connection not known to be lost? */
bool virt_alive(const struct virt *virt);

/* --- domains --- */

struct virt_domain {
	char uuid[UUID_SIZE];
	char *name;
	bool running;    /* active: paused, too */
	bool settled;    /* running: and not in the middle of a start, a migration, a save or an end */
	bool persistent; /* there is a definition that stays when it is shut down */
	char *xml;       /* of the running domain where it runs, else its definition; see virt_xml() */
};

void virt_domain_free(struct virt_domain *domain);

/*
 * All domains, or the running ones alone, each with its XML: NULL where libvirt does not give it, as while another
 * operation is under way. One that goes away meanwhile is left out.
 */
int virt_list(struct virt *virt, bool running_only, struct virt_domain **out, size_t *n, struct err *err);
void virt_list_free(struct virt_domain *list, size_t n);

/* One domain by its name or UUID; a name goes first. */
int virt_find(struct virt *virt, const char *name_or_uuid, struct virt_domain *out, struct err *err);

/* Which of a domain's two sides: as it runs, and as it is defined. Where both may be given, they are or-ed. */
enum { VIRT_LIVE = 1, VIRT_CONFIG = 2 };

/*
 * The domain's XML, one side of it; the caller frees it. That of VIRT_CONFIG is whole, with what is secret, so that it
 * can be defined again: never into a log.
 */
int virt_xml(struct virt *virt, const char *uuid, unsigned int side, char **xml, struct err *err);

/* Defines a domain, in the place of one with its UUID. */
int virt_define(struct virt *virt, const char *xml, struct err *err);

/* Attaches the device of this XML to `sides`. */
int virt_attach_device(struct virt *virt, const char *uuid, const char *xml, unsigned int sides, struct err *err);

/*
 * Takes the device of this XML from `sides`. From a running domain it is gone when VIRT_EVENT_DEVICE_REMOVED says so:
 * that is for the guest to allow.
 */
int virt_detach_device(struct virt *virt, const char *uuid, const char *xml, unsigned int sides, struct err *err);

/*
 * Takes the device of this XML, whose alias is `alias`, from the running domain, and runs the loop until QEMU has let
 * it go; on a connection without virt_watch(). -EAGAIN: the guest refused, or -ETIMEDOUT: did nothing about it in that
 * time (it still may); -ESHUTDOWN: the domain stopped.
 */
int virt_detach_wait(struct virt *virt, const char *uuid, const char *xml, const char *alias, int wait_ms,
		     struct err *err);

/* Saves the running domain's memory, to be restored by its next start. */
int virt_managed_save(struct virt *virt, const char *uuid, struct err *err);

/* Is there such a saved image? 1, 0, or an error. */
int virt_has_managed_save(struct virt *virt, const char *uuid, struct err *err);

/* The XML of the domain in that image; the caller frees it. */
int virt_saved_xml(struct virt *virt, const char *uuid, char **xml, struct err *err);

/* Starts a domain that is defined: from its saved image where it has one. */
int virt_start(struct virt *virt, const char *uuid, struct err *err);

/* An element of a domain's metadata: its namespace, and the prefix that it gets where its XML has none. */
struct virt_element {
	const char *ns, *key;
};

/* Makes this the element in the domain's metadata, on these sides; NULL removes it. */
int virt_set_metadata(struct virt *virt, const char *uuid, const struct virt_element *element, const char *xml,
		      unsigned int sides, struct err *err);

/* --- events --- */

enum virt_event_kind {
	VIRT_EVENT_STARTED, /* `arrival`: as the target of a migration, the guest still runs at the source */
	VIRT_EVENT_RESUMED, /* `arrival`: the migration is complete, the guest runs here now */
	VIRT_EVENT_STOPPED,
	VIRT_EVENT_DEFINED,
	VIRT_EVENT_UNDEFINED,
	VIRT_EVENT_DEVICE_ADDED,   /* `detail` is the device's alias */
	VIRT_EVENT_DEVICE_REMOVED, /* likewise */
	VIRT_EVENT_REMOVAL_FAILED, /* likewise: the guest refused */
	VIRT_EVENT_METADATA,       /* `detail` is the namespace of the element that changed; NULL title, description */
	VIRT_EVENT_NODE_DEVICE,  /* a device of the host came, went or was defined; `detail` is libvirt's name for it */
	VIRT_EVENT_DISCONNECTED, /* libvirtd went away: the last event of this connection */
};

struct virt_event {
	enum virt_event_kind kind;
	const char *uuid, *name; /* the domain's; NULL where it is about none */
	const char *detail;      /* NULL none */
	bool arrival;
};

/* Called from the loop; may call everything but virt_close(). */
typedef void virt_on_event(void *arg, const struct virt_event *event);

/*
 * Hands all events of this connection to `on`, from now on until it is closed; once for a connection. What happened
 * before is not told: look after this call. Node devices only where libvirt has them.
 */
int virt_watch(struct virt *virt, virt_on_event *on, void *arg, struct err *err);

/* --- the loop, which all connections share --- */

/* Opens libvirt and sets up its loop: before fds and timers are added. Repeated calls do nothing. */
int virt_loop_init(struct err *err);

/* Waits for the next event, timer or descriptor, and handles it. */
int virt_loop_step(struct err *err);

/* Calls `ready` whenever `fd` can be read or has hung up, for good. A negative errno. */
int virt_loop_fd(int fd, void (*ready)(void *arg), void *arg, struct err *err);

/*
 * Calls `fire` every `ms` milliseconds; 0 at once and always, -1 not until it is set anew. An id, or a negative errno.
 */
int virt_loop_timer(int ms, void (*fire)(void *arg), void *arg, struct err *err);
void virt_loop_set_timer(int id, int ms);
void virt_loop_forget_timer(int id);
