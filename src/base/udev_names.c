/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a PCI device is called, from udev's hardware database. */
#include "base/udev.h"

#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct udev_names {
	struct udev *udev;
	struct udev_hwdb *hwdb;
};

struct udev_names *udev_names_open(void)
{
	struct udev_names *names = mem_new(1, sizeof(*names));

	names->udev = mem_check(udev_new());
	names->hwdb = udev_hwdb_new(names->udev);
	if (names->hwdb)
		return names;
	udev_names_close(names);
	return NULL;
}

void udev_names_close(struct udev_names *names)
{
	if (!names)
		return;
	udev_hwdb_unref(names->hwdb);
	udev_unref(names->udev);
	free(names);
}

const char *udev_names_find(const struct udev_names *names, const char *vendor, const char *device)
{
	struct udev_list_entry *entry;
	char modalias[64];

	if (!names || strlen(vendor) != 4 || strlen(device) != 4)
		return NULL;
	/* As the kernel writes it: eight digits each, in capitals. */
	snprintf(modalias, sizeof(modalias), "pci:v0000%sd0000%s", vendor, device);
	for (char *c = modalias + strlen("pci:v"); *c; c++)
		if (*c >= 'a' && *c <= 'f')
			*c = (char)(*c - 'a' + 'A');
	modalias[strlen("pci:v00000000")] = 'd';
	entry = udev_hwdb_get_properties_list_entry(names->hwdb, modalias, 0);
	entry = udev_list_entry_get_by_name(entry, "ID_MODEL_FROM_DATABASE");
	return entry ? udev_list_entry_get_value(entry) : NULL;
}
