/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What udev knows: how a PCI device is called ("TU104GL [Tesla T4]", from its hardware database), and when something
 * about vGPUs has changed on this machine.
 *
 * The only module that knows libudev. The hook is not linked with it: libudev costs time to load.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct udev_names; /* an open database */

/* Opens the database of this machine; NULL where it has none: then no device has a name. */
struct udev_names *udev_names_open(void);
void udev_names_close(struct udev_names *names);

/*
 * The name of a device by its vendor and device ids, four hex digits each; NULL where there is none. Lives until the
 * next call.
 */
const char *udev_names_find(const struct udev_names *names, const char *vendor, const char *device);

/*
 * Events of udev: a vGPU (mdev) that comes or goes, a parent that is registered or unregistered (MDEV_STATE), a PCI
 * device, VFs with it, that comes, goes, or changes its driver. An event is a reason to look, no more. Events can be
 * lost, or early: mdev_type is linked after the "add" of its device.
 */
struct udev_watch;

int udev_watch_open(struct udev_watch **out, struct err *err);
void udev_watch_close(struct udev_watch *watch);

/* Readable when there is an event. */
int udev_watch_fd(const struct udev_watch *watch);

/* Takes all events that are there; true where one is a reason to look. */
bool udev_watch_read(struct udev_watch *watch);
