/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* udev events about vGPUs. */
#include "handler/handler.h"

#include <errno.h>
#include <libudev.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 4 << 20 }; /* bytes: enabling 48 VFs of a card sends several hundred events at once */

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
	/* No filter by subsystem, because each driver of virtual parents has its own subsystem. */
	watch->monitor = udev_monitor_new_from_netlink(watch->udev, "udev");
	if (watch->monitor) {
		/* This fails without privilege, as in a test. The default buffer then fills up sooner. */
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
	return watch ? udev_monitor_get_fd(watch->monitor) : -1;
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
	/* Without MDEV_STATE, a PCI device's "change" is ignored. */
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
			/* Events were lost, and one of them may concern us. */
			if (errno == ENOBUFS) {
				concerned = true;
				continue;
			}
			/* If more messages follow one that is not from udev, the descriptor stays readable. */
			return concerned;
		}
		concerned |= concerns_us(device);
		udev_device_unref(device);
	}
}
