/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses names that may become part of a path: UUIDs, PCI addresses, parents, types. */
#include "base/ident.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/text.h"

/* Copies `s`, in lower case, if it has a hex digit for each x of `form`, and the other characters of `form`. */
static bool copy_as(const char *form, char *out, const char *s)
{
	for (; *form; form++, s++) {
		if (*form == 'x' ? !isxdigit((unsigned char)*s) : *s != *form)
			return false;
		*out++ = (char)tolower((unsigned char)*s);
	}
	*out = '\0';
	return *s == '\0';
}

bool uuid_parse(char out[UUID_SIZE], const char *s)
{
	return copy_as("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", out, s);
}

bool uuid_is_placeholder(const char *uuid)
{
	return strncmp(uuid, "00000000-0000-0000-0000-0000000000", 34) == 0;
}

void uuid_random(char out[UUID_SIZE])
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		abort();
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	snprintf(out, UUID_SIZE, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		 b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

bool pci_parse(char out[PCI_SIZE], const char *s)
{
	size_t domain = strcspn(s, ":");

	if (domain < 4 || domain > 8)
		return false;
	for (; domain > 4 && *s == '0'; domain--)
		s++;
	/* Parsed by hand, for every name in sysfs: strtoul() and snprintf() take ten times as long. */
	return copy_as(&"xxxxxxxx:xx:xx.x"[8 - domain], out, s) && out[domain + strlen(":00:")] <= '1' &&
	       out[domain + strlen(":00:00.")] <= '7';
}

bool pci_guess(char out[PCI_SIZE], const char *s)
{
	char like[PCI_SIZE + 8];
	size_t n;

	s += strncmp(s, "pci_", 4) == 0 ? 4 : 0;
	n = (size_t)snprintf(like, sizeof(like), "%s%s", strlen(s) <= strlen("84:00.0") ? "0000:" : "", s);
	if (n < 2 || n >= sizeof(like))
		return false;
	for (char *c = like; *c; c++)
		*c = *c == '_' ? ':' : *c;
	if (like[n - 2] == ':')
		like[n - 2] = '.';
	return pci_parse(out, like);
}

#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static bool is_word(const char *s)
{
	return *s && !strchr("_.-", *s) && !s[strspn(s, CAPITALS "abcdefghijklmnopqrstuvwxyz.-")];
}

bool parent_parse(char out[PARENT_SIZE], const char *s)
{
	return pci_parse(out, s) || (is_word(s) && text_copy(out, PARENT_SIZE, s));
}

bool parent_given(char out[PARENT_SIZE], const char *s)
{
	size_t n = strlen(s) / 2;

	if (!parent_parse(out, s))
		return false;
	/* libvirt and Nova put the driver's name before the name of a virtual parent: mtty_mtty. */
	if (strlen(s) % 2 && s[n] == '_' && strncmp(s, s + n + 1, n) == 0)
		out[n] = '\0';
	return true;
}

bool type_parse(char out[TYPE_SIZE], const char *s)
{
	return is_word(s) && text_copy(out, TYPE_SIZE, s);
}

bool id_parse(char out[ID_SIZE], const char *s)
{
	return uuid_parse(out, s) || pci_parse(out, s);
}

bool id_guess(char out[ID_SIZE], const char *s)
{
	char uuid[UUID_SIZE];

	if (strncmp(s, "mdev_", 5) != 0)
		return pci_guess(out, s);
	snprintf(uuid, sizeof(uuid), "%s", s + 5);
	for (char *c = uuid; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return uuid_parse(out, uuid);
}

bool class_is_valid(const char *s)
{
	return strcmp(s, "VGPU") == 0 || (strncmp(s, "CUSTOM_", 7) == 0 && s[7] && !s[strspn(s, CAPITALS)]);
}
