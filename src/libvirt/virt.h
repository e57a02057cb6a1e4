/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only module that includes libvirt's headers. The first connection loads libvirt, which takes ten times as long
 * as the rest of a command. libvirt prints nothing itself; its message becomes the error's text. Error codes:
 *   ENOENT: no such domain
 *   ENOTCONN: the connection is lost; virt_close() it and open another
 *   EBUSY: another operation on the domain is in progress
 *   EPERM: not possible in the domain's current state
 *   EACCES: permission denied
 *   ELIBACC: libvirt cannot be loaded
 *   EIO: any other error
 *
 * The hook never uses this module, because libvirt waits for the hook. Not thread-safe. Keepalives are answered only
 * during a call, and libvirtd closes a connection that answers none for 30 seconds, so do not leave one idle longer.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/ident.h"

#define VIRT_DEFAULT_URI "qemu:///system"

struct virt;

/* Connects to `uri`; NULL: VIRT_DEFAULT_URI. */
int virt_open(struct virt **out, const char *uri, struct err *err);
void virt_close(struct virt *virt); /* accepts NULL */

struct virt_domain {
	char uuid[UUID_SIZE];
	char *name;
	bool running;    /* a paused domain counts as running */
	bool persistent; /* keeps its definition after shutdown */
	char *xml;       /* of the running domain; of a domain that is not running, its definition */
};

void virt_domain_free(struct virt_domain *domain);

/*
 * Reads the XML of both sides of all domains as one text. Stops with an error at the first domain that cannot be read,
 * such as a busy one. The caller frees the text in any case.
 */
int virt_all_xml(struct virt *virt, char **xml, struct err *err);

/* Finds a domain by name or UUID. A string in UUID form is never a name. */
int virt_find(struct virt *virt, const char *name_or_uuid, struct virt_domain *out, struct err *err);

/* The sides of a domain: the running domain, and its definition. Parameters named `sides` accept both, ORed. */
enum { VIRT_LIVE = 1, VIRT_CONFIG = 2 };

/* Reads one side of the domain's XML, which the caller frees. VIRT_CONFIG includes secrets, so never log it. */
int virt_xml(struct virt *virt, const char *uuid, unsigned int side, char **xml, struct err *err);

int virt_define(struct virt *virt, const char *xml, struct err *err);

/* Attaches or detaches a device. A running domain keeps a detached device until its guest has released it. */
int virt_change_device(struct virt *virt, const char *uuid, bool attach, const char *xml, unsigned int sides,
		       struct err *err);

/*
 * Detaches the device with this XML and alias from the running domain, and waits until QEMU has closed it. Returns:
 *   0: detached
 *   -ETIMEDOUT: the guest did not respond within `wait_ms`, but can still release it
 *   -ESHUTDOWN: the domain stopped
 *   other: libvirt's error, as above
 */
int virt_detach_wait(struct virt *virt, const char *uuid, const char *xml, const char *alias, int wait_ms,
		     struct err *err);

/* Saves the running domain, which virt_start() restores. */
int virt_managed_save(struct virt *virt, const char *uuid, struct err *err);

/* Returns 1 and the XML in the managed save image, which the caller frees; 0: no image. */
int virt_saved_xml(struct virt *virt, const char *uuid, char **xml, struct err *err);

int virt_start(struct virt *virt, const char *uuid, struct err *err);

/* Sets the element of namespace `ns`, with prefix `key`, in the domain's metadata; `xml` NULL removes it. */
int virt_set_metadata(struct virt *virt, const char *uuid, const char *ns, const char *key, const char *xml,
		      unsigned int sides, struct err *err);
