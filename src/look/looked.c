/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records of looks at the host.
 *
 * The file run/vgpu-lease/looked records the last complete look. Its first line is "TIME BOOT". Each device that the
 * look saw has a line "ID TIME", with the time of the last look that did not see the device; -1: no such look.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "sys/sys.h"
#include "look/libvirt_files.h"
#include "look/mdevctl_files.h"
#include "look/pool.h"
#include "look/typelist.h"
#include "state/history.h"
#include "look/looked.h"

#define LOOKED "looked"
enum { LOOKED_MAX = 1 << 20 };

/* Reads the record of the last look, and when that look was. The caller frees the text. NULL: none in this boot. */
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

/* When did a look last not see this device? -1: never. `text` is the record of the look at `at_ms`. */
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

bool affinity_is_for_guest(const struct store *store, const char *id)
{
	struct affinity was;

	return affinity_get(store, id, &was) &&
	       (was.made_this_boot || (was.for_guest && (!was.before_boot || mdevctl_defines(store->host, id, ""))));
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

/* Was this ID created since the look? For a VF only a lease counts: reading its type could hang under the lock. */
static bool is_back(const struct store *store, const char *id)
{
	const struct vgpu_ref vgpu = kernel_vgpu(id);
	struct lease lease;
	struct err ignored;

	return lease_get(store, id, &lease, &ignored) != 0 ||
	       (vgpu.framework == FW_MDEV && kernel_exists(store->host, &vgpu) != 0);
}

/* Forgets the origin of devices that have gone since the look in `text`, and have no definition. Modifies `text`. */
static void forget_gone(const struct store *store, char *text, const struct inventory *inv)
{
	char *line, id[ID_SIZE];

	strsep(&text, "\n"); /* skip the line with the time and the boot */
	while ((line = strsep(&text, "\n")))
		if (id_parse(id, strsep(&line, " ")) && !inventory_device(inv, id) && !is_back(store, id) &&
		    !mdevctl_defines(store->host, id, ""))
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

		fprintf(to, "%s %" PRId64 "\n", id, last ? without_of(last, last_ms, id) : -1);
	}
	mem_close(to);
	if (last)
		forget_gone(store, last, inv);
	(void)sys_publish(store->run, LOOKED, text, len);
}

static void remember_model(const struct store *store, const struct inventory *inv, const struct inv_pgpu *card)
{
	struct typelist list = { .whole = card->model->types_whole };
	autofree char *text = NULL, *was = typelist_format(&card->model->recorded);

	for (size_t i = 0; i < inv->ntypes; i++) {
		const struct inv_type *type = inv->types[i];

		/* The name of a type is its ID while the real name is not known. */
		if (inventory_type_is_of(type, card) && strcmp(type->id, type->name) != 0)
			typelist_add(&list, type->id, type->name);
	}
	text = typelist_format(&list);
	mem_free(list.items);
	if (strcmp(text, was) == 0 || strlen(text) >= TYPELIST_TEXT_MAX)
		return;
	autoclose int directory = store_open_lib(store->host, "types");
	if (directory >= 0)
		(void)sys_publish(directory, card->model->record, text, strlen(text));
}

void types_remember(const struct store *store, const struct inventory *inv)
{
	const struct inv_model *last = NULL;

	/* If the directory of UUID records is not available, types are not recorded either. */
	for (size_t i = 0; i < inv->npgpus && store->affinity >= 0; i++) {
		const struct inv_pgpu *card = inv->pgpus[i];

		if (card->model && card->model != last)
			remember_model(store, inv, card);
		last = card->model;
	}
}

int card_confirm(const struct store *store, const char *address, struct err *err)
{
	char text[INV_IDENTITY_SIZE + 1];
	int r;

	if (!card_record_now(text, store->host, address))
		return 0;
	text_add(text, sizeof(text), "\n");
	autoclose int directory = store_open_lib(store->host, "cards");
	r = directory < 0 ? directory : sys_publish(directory, address, text, strlen(text));
	return r < 0 ? err_sys(err, -r, "/" CARD_RECORDS "/%s", address) : 0;
}

static bool is_vf_address(const struct config *config, const char *address)
{
	for (EACH(const struct section *, s, config->sections, config->nsections))
		if (s->vf && pool_section_names(s, address))
			return true;
	return false;
}

void cards_remember(const struct store *store, const struct config *config)
{
	autoclosedir DIR *dir = sys_list(store->host->root, CARD_RECORDS);
	char was[INV_IDENTITY_SIZE];
	const struct dirent *e;
	struct err ignored;

	while ((e = sys_next(dir)))
		if (e->d_name[0] != '.' && !is_vf_address(config, e->d_name))
			unlinkat(sys_list_fd(dir), e->d_name, 0);
	for (EACH(const struct section *, s, config->sections, config->nsections))
		for (size_t a = 0; s->vf && a < s->naddresses; a++)
			if (!card_record_read(was, store->host, s->addresses[a].text))
				(void)card_confirm(store, s->addresses[a].text, &ignored);
}
