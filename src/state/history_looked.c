/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * run/vgpu-lease/looked records the last complete look at the host. The first line is "TIME BOOT". Each device that the
 * look saw has a line "ID TIME": the time of the last look that did not see the device, or "-" if there is none.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "sys/sys.h"
#include "host/libvirt_daemon.h"
#include "host/mdevctl_files.h"
#include "state/history.h"

#define LOOKED "looked"
enum { LOOKED_MAX = 1 << 20 };

/* Returns the text of the file, which the caller frees, and the time of its look. NULL: no valid look in this boot. */
static char *looked_read(const struct store *store, int64_t *at_ms)
{
	autoclose int fd = store->run < 0 ? -1 : openat(store->run, LOOKED, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char boot[UUID_SIZE], was[UUID_SIZE], *text = NULL;
	size_t len;

	if (fd < 0 || sys_slurp(fd, LOOKED_MAX, &text, &len) < 0)
		return NULL;
	sys_boot_id(boot);
	if (sscanf(text, "%" SCNd64 " %36s", at_ms, was) == 2 && strcmp(was, boot) == 0 && *at_ms <= sys_now_ms())
		return text;
	free(text);
	return NULL;
}

/* The time of the last look that did not see this device, from `text`, the record of the look at `at_ms`; -1: none. */
static int64_t without_of(const char *text, int64_t at_ms, const char *id)
{
	char start[ID_SIZE + 2];
	const char *line;
	int64_t without;

	snprintf(start, sizeof(start), "\n%s ", id);
	line = strstr(text, start);
	if (!line)
		return at_ms;
	return sscanf(line + strlen(start), "%" SCNd64, &without) == 1 ? without : -1;
}

bool affinity_is_new(const struct store *store, const struct vgpu_ref *vgpu, int64_t window_ms)
{
	int64_t at_ms = -1;
	autofree char *text = looked_read(store, &at_ms);
	int64_t without = text ? without_of(text, at_ms, vgpu->id) : -1;
	struct definition definition;
	struct err ignored;
	int defined;

	if (without < 0 || sys_now_ms() - without >= window_ms)
		return false;
	/* A device that was created again from an older definition is not new. */
	defined = mdevctl_definition(&definition, store->host, vgpu->id, &ignored);
	return (defined == 0 || (defined == 1 && definition.created_ms > without)) &&
	       !libvirt_is_younger(store->host, inventory_created_ms(store->host, vgpu));
}

/*
 * Has a device with this ID been made since the look? A VF's type is not read, because its driver could hang while the
 * store is locked; a lease shows that the VF has a type.
 */
static bool is_back(const struct store *store, const char *id)
{
	char path[VGPU_PATH_SIZE], uuid[UUID_SIZE];
	struct lease lease;
	struct err ignored;

	return lease_get(store, id, &lease, &ignored) != 0 ||
	       (uuid_parse(uuid, id) && inventory_path(path, id, "", &ignored) == 0 &&
		sys_exists(store->host->root, path));
}

/*
 * Forgets the origin of devices gone since the last look, unless the record is that of a new device with the ID.
 * Changes `text`.
 */
static void forget_gone(const struct store *store, char *text, const struct inventory *inv)
{
	char *line, id[ID_SIZE];

	strsep(&text, "\n"); /* the time and the boot */
	while ((line = strsep(&text, "\n")))
		if (id_parse(id, strsep(&line, " ")) && !inventory_device(inv, id) && !is_back(store, id) &&
		    !mdevctl_defines(store->host, id))
			affinity_gone(store, id);
}

void looked_note(const struct store *store, const struct inventory *inv, int64_t at_ms)
{
	int64_t last_ms = -1;
	autofree char *last = looked_read(store, &last_ms);
	autofree char *text = NULL;
	char boot[UUID_SIZE];
	size_t len = 0;
	FILE *to;

	if (store->run < 0 || (last && last_ms >= at_ms))
		return;
	sys_boot_id(boot);
	to = mem_open(&text, &len);
	fprintf(to, "%" PRId64 " %s\n", at_ms, boot);
	for (size_t i = 0; i < inv->ndevices; i++) {
		const char *id = inv->devices[i].vgpu.id;
		int64_t without = last ? without_of(last, last_ms, id) : -1;

		if (without < 0)
			fprintf(to, "%s -\n", id);
		else
			fprintf(to, "%s %" PRId64 "\n", id, without);
	}
	mem_close(to);
	if (last)
		forget_gone(store, last, inv);
	(void)sys_publish(store->run, LOOKED, text, len);
}
