/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events of udev that are a reason to look at the host's vGPUs. */
#include <errno.h>
#include <libudev.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/udev.h"

enum { BUFFER = 4 << 20 }; /* bytes: a card with 48 VFs comes up in some hundreds of events at once */

struct udev_watch {
	struct udev *udev;
	struct udev_monitor *monitor;
};

int udev_watch_open(struct udev_watch **out, struct err *err)
{
	struct udev_watch *watch = mem_new(1, sizeof(*watch));
	int r = -ENOMEM;

	*out = NULL;
	watch->udev = mem_check(udev_new());
	/* No filter by subsystem: that of a virtual parent is its driver's own. */
	watch->monitor = udev_monitor_new_from_netlink(watch->udev, "udev");
	if (watch->monitor) {
		/* Needs a privilege that a test may not have; the default size is only sooner full. */
		(void)udev_monitor_set_receive_buffer_size(watch->monitor, BUFFER);
		r = udev_monitor_enable_receiving(watch->monitor);
	}
	if (r < 0) {
		udev_watch_close(watch);
		return err_sys(err, -r, "udev's events cannot be received");
	}
	*out = watch;
	return 0;
}

void udev_watch_close(struct udev_watch *watch)
{
	if (!watch)
		return;
	udev_monitor_unref(watch->monitor);
	udev_unref(watch->udev);
	free(watch);
}

int udev_watch_fd(const struct udev_watch *watch)
{
	return udev_monitor_get_fd(watch->monitor);
}

static bool concerns_us(struct udev_device *device)
{
	const char *subsystem = udev_device_get_subsystem(device);
	const char *action = udev_device_get_action(device);

	if (udev_device_get_property_value(device, "MDEV_STATE"))
		return true;
	if (!subsystem || !action)
		return false;
	if (strcmp(subsystem, "mdev") == 0)
		return true;
	/* "change" of a PCI device is said for many reasons; a parent's has MDEV_STATE. */
	return strcmp(subsystem, "pci") == 0 && strcmp(action, "change") != 0;
}

bool udev_watch_read(struct udev_watch *watch)
{
	struct udev_device *device;
	bool concerned = false;

	for (;;) {
		errno = 0;
		device = udev_monitor_receive_device(watch->monitor);
		if (!device) {
			/* Events were lost: there may have been one. */
			if (errno == ENOBUFS) {
				concerned = true;
				continue;
			}
			/* One that was not udev's own gives none, and others may follow it. */
			return concerned;
		}
		concerned |= concerns_us(device);
		udev_device_unref(device);
	}
}
