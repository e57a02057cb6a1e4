/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names of PCI devices from udev's hardware database ("TU104GL [Tesla T4]"), and udev events about vGPUs.
 *
 * Only this module uses libudev. The hook does not link it, because libudev takes time to load.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct udev_names;

/* Opens this machine's database; NULL if it has none. udev_names_find(NULL, ...) finds nothing. */
struct udev_names *udev_names_open(void);
void udev_names_close(struct udev_names *names);

/*
 * The name of the device with these IDs (four hex digits each), valid until the next call; NULL: not in the database.
 */
const char *udev_names_find(const struct udev_names *names, const char *vendor, const char *device);

/*
 * Receives udev events: a vGPU (mdev) appears or disappears; a parent is registered or unregistered (MDEV_STATE); a PCI
 * device or VF appears, disappears or changes its driver. An event is only a reason to look. Events can be lost or come
 * early: a device's mdev_type is linked after its "add".
 */
struct udev_watch;

int udev_watch_open(struct udev_watch **out, struct err *err);
void udev_watch_close(struct udev_watch *watch);

int udev_watch_fd(const struct udev_watch *watch);

/* Reads all pending events; returns true if one of them is a reason to look. */
bool udev_watch_read(struct udev_watch *watch);
