/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names that may become part of a path: UUIDs, PCI addresses, parents, types. Whatever comes from outside is turned
 * into one of these at the edge; nothing else is ever put into a path.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
	UUID_SIZE = 37,   /* 36 characters and NUL */
	PCI_SIZE = 18,    /* dddddddd:bb:ss.f and NUL; the domain has four digits, more where the kernel gives more */
	PARENT_SIZE = 64, /* a device's name in sysfs: a PCI address, or a word such as mtty */
	TYPE_SIZE = 64,   /* nvidia-222, i915-GVTg_V5_4, mtty-1 */
	ID_SIZE = 40,     /* what names a vGPU and its lease: an mdev's UUID, or a VF's address */
};

/*
 * A UUID in its canonical form: 36 characters, dashes at their places. The kernel lowers upper case (%pUl), so
 * everything here does, too; two spellings are one device. False where it is none.
 */
bool uuid_parse(char out[UUID_SIZE], const char *s);

/* 00000000-0000-0000-0000-0000000000NN: "lease one for me" (NN from 00 to ff). */
bool uuid_is_placeholder(const char *uuid);

/* A random UUID (version 4); aborts where the kernel gives no random bytes. */
void uuid_random(char out[UUID_SIZE]);

/*
 * A PCI address with domain, in lower case as in sysfs: "0000:84:00.0". Also accepts nvidia-smi's "00000000:84:00.0".
 */
bool pci_parse(char out[PCI_SIZE], const char *s);

/* The address that a word almost is: without its domain (84:00.0), as 0000:84:00:0, or as libvirt names the device. */
bool pci_guess(char out[PCI_SIZE], const char *s);

/* A parent's name: a PCI address, or letters, digits and _ . - with a letter or digit first. */
bool parent_parse(char out[PARENT_SIZE], const char *s);

/* A type's id: letters, digits and _ . - with a letter or digit first. */
bool type_parse(char out[TYPE_SIZE], const char *s);

/* A vGPU's id: a UUID or a PCI address, in canonical form. */
bool id_parse(char out[ID_SIZE], const char *s);

/* Is it one of these? */
bool id_among(char (*ids)[ID_SIZE], size_t n, const char *id);

/* A class as Nova defines it: VGPU or CUSTOM_ and capital letters, digits, _. */
bool class_is_valid(const char *s);
