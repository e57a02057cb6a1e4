/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only module that includes libvirt's headers: domains by UUID, XML as text, devices.
 *
 * Loading libvirt takes ten times as long as the rest of a command, so it is loaded at the first connection, once per
 * process, and never unloaded. libvirt prints nothing by itself; its error message becomes the error's text. Callers
 * can rely on these codes:
 *   ENOENT: no such domain
 *   ENOTCONN: the connection is lost; virt_close() it and open another
 *   EBUSY: another operation on the domain is in progress
 *   EPERM: not possible in the domain's current state
 *   EACCES: permission denied
 *   ELIBACC: libvirt cannot be loaded
 *   EIO: any other error
 *
 * The hook never uses this module, because libvirt waits for the hook. Single-threaded. libvirtd closes a connection
 * that answers no keepalive for 30 seconds. Only calls answer keepalives, so never leave a connection idle for longer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/ident.h"

#define VIRT_DEFAULT_URI "qemu:///system"

struct virt; /* a connection */

/* Connects to `uri` (NULL: VIRT_DEFAULT_URI). If libvirt is missing or not running, the error text says what to do. */
int virt_open(struct virt **out, const char *uri, struct err *err);
void virt_close(struct virt *virt); /* ignores NULL */

/* --- domains --- */

struct virt_domain {
	char uuid[UUID_SIZE];
	char *name;
	bool running;    /* active, which includes paused */
	bool persistent; /* has a definition that remains after shutdown */
	char *xml;       /* of the running domain or, if it is not running, of its definition */
};

void virt_domain_free(struct virt_domain *domain);

/* Lists all domains that do not disappear meanwhile. A domain's XML is NULL if it cannot be read (domain busy). */
int virt_list(struct virt *virt, struct virt_domain **out, size_t *n, struct err *err);
void virt_list_free(struct virt_domain *list, size_t n);

/* Finds a domain by name or UUID. A string in UUID form is never taken for a name. */
int virt_find(struct virt *virt, const char *name_or_uuid, struct virt_domain *out, struct err *err);

/* The two sides of a domain: the running domain, and its definition. Parameters named `sides` accept both, ORed. */
enum { VIRT_LIVE = 1, VIRT_CONFIG = 2 };

/* Reads one side of the domain's XML; the caller frees it. VIRT_CONFIG includes secrets, so never log it. */
int virt_xml(struct virt *virt, const char *uuid, unsigned int side, char **xml, struct err *err);

/* Defines a domain, or redefines the domain with the same UUID. */
int virt_define(struct virt *virt, const char *xml, struct err *err);

int virt_attach_device(struct virt *virt, const char *uuid, const char *xml, unsigned int sides, struct err *err);

/* Detaches a device. A running domain keeps the device until its guest has released it. */
int virt_detach_device(struct virt *virt, const char *uuid, const char *xml, unsigned int sides, struct err *err);

/*
 * Detaches the device with this XML and alias from the running domain, and waits until QEMU has closed it. Returns:
 *   0: detached
 *   -EAGAIN: the guest refused
 *   -ETIMEDOUT: the guest did not respond within `wait_ms`, but still may
 *   -ESHUTDOWN: the domain stopped
 *   other: libvirt's error
 */
int virt_detach_wait(struct virt *virt, const char *uuid, const char *xml, const char *alias, int wait_ms,
		     struct err *err);

/* Saves the running domain's memory, which its next start restores. */
int virt_managed_save(struct virt *virt, const char *uuid, struct err *err);

/* Does the domain have a managed save image? Returns 1, 0, or a negative error. */
int virt_has_managed_save(struct virt *virt, const char *uuid, struct err *err);

/* Reads the domain's XML in its managed save image. The caller frees it. */
int virt_saved_xml(struct virt *virt, const char *uuid, char **xml, struct err *err);

/* Starts a defined domain, from its saved image if it has one. */
int virt_start(struct virt *virt, const char *uuid, struct err *err);

/* Sets the element of namespace `ns`, with prefix `key`, in the domain's metadata; `xml` NULL removes it. */
int virt_set_metadata(struct virt *virt, const char *uuid, const char *ns, const char *key, const char *xml,
		      unsigned int sides, struct err *err);
