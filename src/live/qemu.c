/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What QEMU itself says of a domain. */
#include "live/qemu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/ident.h"
#include "base/json.h"

/* Sends a command; what it returns, as it stands, or "" where QEMU answers with an error of its own. */
static int ask(struct virt *virt, const char *domain, const char *command, char *value, size_t size, struct err *err)
{
	autofree char *answer = NULL;
	struct json_field field = { .key = "return", .value = value, .size = size, .raw = true };
	const char *wrong;
	int r = virt_monitor(virt, domain, command, &answer, err);

	if (r < 0)
		return r;
	wrong = json_read(answer, strlen(answer), &field, 1);
	return wrong ? err_set(err, EPROTO, "invalid answer of QEMU: %s", wrong) : 0;
}

int qemu_blockers(struct virt *virt, const char *domain, char reasons[QEMU_REASONS][QEMU_TEXT], size_t *n,
		  struct err *err)
{
	char answer[8192], list[8192];
	struct json_field field = { .key = "blocked-reasons", .value = list, .size = sizeof(list), .raw = true };
	const char *wrong;
	int r = ask(virt, domain, "{\"execute\": \"query-migrate\"}", answer, sizeof(answer), err);

	*n = 0;
	if (r < 0)
		return r;
	wrong = json_read(answer, strlen(answer), &field, 1);
	if (wrong)
		return err_set(err, EPROTO, "invalid answer of QEMU: %s", wrong);
	while (field.found && *n < QEMU_REASONS && json_item(list, *n, reasons[*n], QEMU_TEXT))
		++*n;
	return 0;
}

int qemu_device(struct virt *virt, const char *domain, const char *alias, char shown[QEMU_TEXT], struct err *err)
{
	/* An mdev's is its path, a VF's its address; a device has both, one of them empty. */
	static const char *const properties[] = { "sysfsdev", "host" };
	char name[TYPE_SIZE];

	shown[0] = '\0';
	/* libvirt's names are of these characters; nothing else becomes part of a command. */
	if (!type_parse(name, alias))
		return err_set(err, EINVAL, "invalid device alias '%.40s'", alias);
	for (size_t i = 0; i < ARRAY_SIZE(properties) && !*shown; i++) {
		char command[256], answer[QEMU_TEXT + 16];
		int r;

		snprintf(
			command, sizeof(command),
			"{\"execute\": \"qom-get\", \"arguments\": {\"path\": \"/machine/peripheral/%s\", \"property\": "
			"\"%s\"}}",
			name, properties[i]);
		r = ask(virt, domain, command, answer, sizeof(answer), err);
		if (r < 0)
			return r;
		if (answer[0] == '"')
			snprintf(shown, QEMU_TEXT, "%.*s", (int)strlen(answer) - 2, answer + 1);
	}
	return 0;
}
