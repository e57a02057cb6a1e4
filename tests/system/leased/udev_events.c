/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of udev's events are a reason to look, on a made-up /sys: to be run under umockdev-wrapper. */
#include <poll.h>
#include <umockdev.h>

#include "handler/handler.h"

#include "lib/tap.h"

#define CARD "/sys/devices/pci0000:80/0000:84:00.0"
#define MDEV CARD "/c6f1a2b3-0000-4000-8000-000000000001"
#define NIC "/sys/devices/pci0000:80/0000:85:00.0/net/eth0"

static UMockdevTestbed *bed;
static struct udev_monitor *watch;

/* Adds a device without an event. */
static void put(const char *subsystem, const char *name, const char *parent, const char *properties[])
{
	const char *none[] = { NULL };
	char *path = umockdev_testbed_add_devicev(bed, subsystem, name, parent, (char **)none, (char **)properties);

	if (!path) {
		printf("Bail out! no device %s\n", name);
		_exit(1);
	}
	g_free(path);
}

static bool concerns(const char *path, const char *action)
{
	struct pollfd fd = { .fd = udev_watch_fd(watch), .events = POLLIN };

	umockdev_testbed_uevent(bed, path, action);
	return poll(&fd, 1, 5000) == 1 && udev_watch_read(watch);
}

int main(void)
{
	const char *none[] = { NULL }, *registered[] = { "MDEV_STATE", "registered", NULL };
	struct err err;

	bed = umockdev_testbed_new();
	put("pci", "0000:84:00.0", NULL, none);
	ok(udev_watch_open(&watch, &err) == 0, "udev's events can be received");
	ok(!udev_watch_read(watch), "where there is none nothing is to be done");
	umockdev_testbed_remove_device(bed, "/sys/devices/0000:84:00.0");

	put("pci", "pci0000:80/0000:84:00.0", NULL, none);
	ok(concerns(CARD, "add"), "a card that comes is a reason to look");
	ok(!concerns(CARD, "change"), "one that only changes is none");
	umockdev_testbed_set_property(bed, CARD, "MDEV_STATE", "registered");
	ok(concerns(CARD, "change"), "unless it registers as a parent, however late");
	umockdev_testbed_set_property(bed, CARD, "MDEV_STATE", "unregistered");
	ok(concerns(CARD, "change"), "or is one no more");
	umockdev_testbed_set_property(bed, CARD, "MDEV_STATE", "registered");
	ok(concerns(CARD, "change"), "or is one again");
	ok(concerns(CARD, "unbind"), "a driver that lets a card go is a reason");
	ok(concerns(CARD, "remove"), "so is a card that goes");

	put("mtty", "mtty/mtty", NULL, registered);
	ok(concerns("/sys/devices/mtty/mtty", "change"), "a parent need not be a PCI device");

	put("mdev", "pci0000:80/0000:84:00.0/c6f1a2b3-0000-4000-8000-000000000001", NULL, none);
	ok(concerns(MDEV, "add"), "a vGPU that comes is a reason");
	ok(concerns(MDEV, "remove"), "and one that goes");

	put("net", "pci0000:80/0000:85:00.0/net/eth0", NULL, none);
	ok(!concerns(NIC, "add"), "what has to do with other things is none");

	udev_watch_close(watch);
	g_object_unref(bed);
	return tap_done();
}
