/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names that may become part of a path: UUIDs, PCI addresses, parents, types. */
#include "ident.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "text.h"

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

/* Reads exactly `digits` hex digits at *s and the character behind them. */
static bool hex_part(const char **s, int digits, char behind, unsigned long *out)
{
	char part[9] = "";

	for (int i = 0; i < digits; i++) {
		if (!isxdigit((unsigned char)(*s)[i]))
			return false;
		part[i] = (*s)[i];
	}
	*out = strtoul(part, NULL, 16);
	if ((*s)[digits] != behind)
		return false;
	*s += digits + (behind != '\0');
	return true;
}

bool pci_parse(char out[PCI_SIZE], const char *s)
{
	unsigned long domain, bus, slot, function;
	size_t digits = strcspn(s, ":");

	if (digits < 4 || digits > 8 || !hex_part(&s, (int)digits, ':', &domain) || !hex_part(&s, 2, ':', &bus) ||
	    !hex_part(&s, 2, '.', &slot) || !hex_part(&s, 1, '\0', &function))
		return false;
	if (slot > 0x1f || function > 7)
		return false;
	snprintf(out, PCI_SIZE, "%04lx:%02lx:%02lx.%lx", domain, bus, slot, function);
	return true;
}

static bool is_word(const char *s)
{
	if (!isalnum((unsigned char)*s))
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("_.-", *s))
			return false;
	return true;
}

bool parent_parse(char out[PARENT_SIZE], const char *s)
{
	char pci[PCI_SIZE];

	if (pci_parse(pci, s))
		return text_copy(out, PARENT_SIZE, pci);
	return is_word(s) && text_copy(out, PARENT_SIZE, s);
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

bool class_is_valid(const char *s)
{
	if (strcmp(s, "VGPU") == 0)
		return true;
	if (strncmp(s, "CUSTOM_", 7) != 0 || !s[7])
		return false;
	return s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}
