/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses names that may become part of a path: UUIDs, PCI addresses, parents, types. */
#include "base/ident.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/text.h"

bool uuid_parse(char out[UUID_SIZE], const char *s)
{
	for (int i = 0; i < UUID_SIZE - 1; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s[i] != '-' : !isxdigit((unsigned char)s[i]))
			return false;
		out[i] = (char)tolower((unsigned char)s[i]);
	}
	out[UUID_SIZE - 1] = '\0';
	return s[UUID_SIZE - 1] == '\0';
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
	size_t domain = strcspn(s, ":"), len;

	if (domain < 4 || domain > 8)
		return false;
	for (; domain > 4 && *s == '0'; domain--)
		s++;
	/* Parsed by hand, for every name in sysfs: strtoul() and snprintf() take ten times as long. */
	len = domain + strlen(":00:00.0");
	for (size_t i = 0; i < len; i++) {
		char mark = '\0';

		if (i == domain || i == domain + 3)
			mark = ':';
		else if (i == domain + 6)
			mark = '.';
		if (mark ? s[i] != mark : !isxdigit((unsigned char)s[i]))
			return false;
		out[i] = (char)tolower((unsigned char)s[i]);
	}
	out[len] = '\0';
	return s[len] == '\0' && out[domain + 4] <= '1' && out[len - 1] <= '7';
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
	char pci[PCI_SIZE];

	if (pci_parse(pci, s))
		return text_copy(out, PARENT_SIZE, pci);
	return is_word(s) && text_copy(out, PARENT_SIZE, s);
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
	char uuid[UUID_SIZE], pci[PCI_SIZE];

	if (uuid_parse(uuid, s))
		return text_copy(out, ID_SIZE, uuid);
	return pci_parse(pci, s) && text_copy(out, ID_SIZE, pci);
}

bool id_guess(char out[ID_SIZE], const char *s)
{
	char pci[PCI_SIZE], uuid[UUID_SIZE];

	if (strncmp(s, "mdev_", 5) != 0)
		return pci_guess(pci, s) && text_copy(out, ID_SIZE, pci);
	snprintf(uuid, sizeof(uuid), "%s", s + 5);
	for (char *c = uuid; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return uuid_parse(uuid, uuid) && text_copy(out, ID_SIZE, uuid);
}

bool class_is_valid(const char *s)
{
	return strcmp(s, "VGPU") == 0 || (strncmp(s, "CUSTOM_", 7) == 0 && s[7] && !s[strspn(s, CAPITALS)]);
}
