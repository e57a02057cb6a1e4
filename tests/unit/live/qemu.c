/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What QEMU is asked, and what its answers mean; libvirt's monitor is a list of answers. */
#include "live/qemu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"

static const char *answers[3];
static char asked[1024];
static size_t nasked;

int virt_monitor(struct virt *virt, const char *uuid, const char *command, char **answer, struct err *err)
{
	const char *text = answers[nasked];

	(void)virt;
	(void)uuid;
	snprintf(asked, sizeof(asked), "%s", command);
	*answer = NULL;
	if (!text)
		return err_set(err, EIO, "no answer");
	nasked++;
	*answer = strdup(text);
	return *answer ? 0 : -ENOMEM;
}

static void answer(const char *first, const char *second)
{
	answers[0] = first;
	answers[1] = second;
	nasked = 0;
}

static void blockers(void)
{
	char reasons[QEMU_REASONS][QEMU_TEXT], many[1024] = "{\"return\":{\"blocked-reasons\":[\"r\"";
	struct err err = { 0 };
	size_t n;

	answer("{\"return\":{\"blocked-reasons\":[\"no \\\"x\\\"\",\"second\"],\"status\":\"none\"},\"id\":\"libvirt-9\"}",
	       NULL);
	ok(qemu_blockers(NULL, "u", reasons, &n, &err) == 0 && n == 2, "QEMU's reasons are counted");
	is(reasons[0], "no \"x\"", "and told in its words");
	is(reasons[1], "second", "each");
	answer("{\"return\":{\"status\":\"none\"}}", NULL);
	ok(qemu_blockers(NULL, "u", reasons, &n, &err) == 0 && n == 0, "none are none");
	answer("{\"return\":{}}", NULL);
	ok(qemu_blockers(NULL, "u", reasons, &n, &err) == 0 && n == 0, "also where it has never migrated");
	answer("{\"return\":[", NULL);
	ok(qemu_blockers(NULL, "u", reasons, &n, &err) == -EPROTO, "half an answer is an error: %s", err.text);
	answer(NULL, NULL);
	ok(qemu_blockers(NULL, "u", reasons, &n, &err) == -EIO && n == 0, "so is none");
	for (int i = 0; i < QEMU_REASONS + 4; i++)
		strcat(many, ",\"r\"");
	strcat(many, "]}}");
	answer(many, NULL);
	ok(qemu_blockers(NULL, "u", reasons, &n, &err) == 0 && n == QEMU_REASONS, "more than can be kept are left out");
}

static void devices(void)
{
	char shown[QEMU_TEXT];
	struct err err = { 0 };

	answer("{\"return\":\"/sys/bus/mdev/devices/u1\"}", NULL);
	ok(qemu_device(NULL, "u", "hostdev0", shown, &err) == 0 && nasked == 1, "an mdev is a path");
	is(shown, "/sys/bus/mdev/devices/u1", "of sysfs");
	ok(strstr(asked, "/machine/peripheral/hostdev0\""), "libvirt's alias names the device");
	answer("{\"return\":\"\"}", "{\"return\":\"0000:84:00.4\"}");
	ok(qemu_device(NULL, "u", "hostdev0", shown, &err) == 0, "a VF has no path");
	is(shown, "0000:84:00.4", "but an address");
	answer("{\"error\":{\"class\":\"DeviceNotFound\"}}", "{\"error\":{\"class\":\"DeviceNotFound\"}}");
	ok(qemu_device(NULL, "u", "hostdev0", shown, &err) == 0 && !*shown && nasked == 2,
	   "a device that QEMU does not have is none, and no error");
	answer("{\"return\":\"x\"}", NULL);
	ok(qemu_device(NULL, "u", "a\"}, {\"execute\": \"quit\"", shown, &err) == -EINVAL && nasked == 0,
	   "an alias that would be a command is not asked about: %s", err.text);
	ok(qemu_device(NULL, "u", "", shown, &err) == -EINVAL && nasked == 0, "nor is an empty one");
}

int main(void)
{
	blockers();
	devices();
	return tap_done();
}
