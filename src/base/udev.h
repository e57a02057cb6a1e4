/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* udev events about vGPUs. Only this module uses libudev, which takes time to load, so the hook does not link it. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/*
 * Receives udev events: a vGPU (mdev) appears or disappears; a parent is registered or unregistered (MDEV_STATE); a PCI
 * device or VF appears, disappears or changes its driver. An event is only a reason to look. It can be lost, or come
 * early: a device's mdev_type is linked after its "add".
 */
struct udev_watch;

int udev_watch_open(struct udev_watch **out, struct err *err);
void udev_watch_close(struct udev_watch *watch);

int udev_watch_fd(const struct udev_watch *watch);

/* Reads all pending events; returns true if one of them is a reason to look. */
bool udev_watch_read(struct udev_watch *watch);
