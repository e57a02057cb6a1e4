/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* udev events about vGPUs. */
#include "handler/handler.h"

#include <errno.h>
#include <libudev.h>
#include <string.h>

enum { BUFFER = 4 << 20 }; /* bytes: enabling 48 VFs of a card sends several hundred events at once */

int udev_watch_open(struct udev_monitor **out, struct err *err)
{
	/* No filter by subsystem, because each driver of virtual parents has its own subsystem. */
	struct udev_monitor *watch = udev_monitor_new_from_netlink(mem_check(udev_new()), "udev");
	int r = watch ? 0 : -ENOMEM;

	*out = NULL;
	if (watch) {
		/* This fails without privilege, as in a test. The default buffer then fills up sooner. */
		(void)udev_monitor_set_receive_buffer_size(watch, BUFFER);
		r = udev_monitor_enable_receiving(watch);
	}
	if (r < 0) {
		udev_watch_close(watch);
		return err_sys(err, -r, "udev's events cannot be received");
	}
	*out = watch;
	return 0;
}

void udev_watch_close(struct udev_monitor *watch)
{
	struct udev *udev = watch ? udev_monitor_get_udev(watch) : NULL;

	udev_monitor_unref(watch);
	udev_unref(udev);
}

int udev_watch_fd(struct udev_monitor *watch)
{
	return watch ? udev_monitor_get_fd(watch) : -1;
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

bool udev_watch_read(struct udev_monitor *watch)
{
	struct udev_device *device;
	bool concerned = false;

	errno = 0;
	/* ENOBUFS: events were lost, and one of them may concern us. */
	while ((device = udev_monitor_receive_device(watch)) || errno == ENOBUFS) {
		concerned |= !device || concerns_us(device);
		udev_device_unref(device);
		errno = 0;
	}
	/* If more messages follow one that is not from udev, the descriptor stays readable. */
	return concerned;
}
