/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a PCI device is called: "TU104GL [Tesla T4]", from udev's hardware database.
 *
 * The only module that knows libudev. The hook is not linked with it: libudev costs time to load.
 *
 * Depends on: libudev. Knows nothing of the rest.
 */
#pragma once

struct pcinames; /* an open database */

/* Opens the database of this machine; NULL where it has none: then no device has a name. */
struct pcinames *pcinames_open(void);
void pcinames_close(struct pcinames *names);

/*
 * The name of a device by its vendor and device ids, four hex digits each; NULL where there is none. Lives until the
 * next call.
 */
const char *pcinames_find(const struct pcinames *names, const char *vendor, const char *device);
