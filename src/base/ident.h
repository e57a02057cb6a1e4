/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses UUIDs, PCI addresses, parents and types strictly, because they can become part of a path. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
	UUID_SIZE = 37,
	PCI_SIZE = 18,    /* dddddddd:bb:ss.f and NUL; the domain has four to eight digits */
	PARENT_SIZE = 64, /* a device's name in sysfs: a PCI address, or a word such as mtty */
	TYPE_SIZE = 64,   /* nvidia-222, i915-GVTg_V5_4, mtty-1 */
	ID_SIZE = 40,     /* the name of a vGPU and its lease: an mdev's UUID, or a VF's address */
};

/* Accepts a UUID of the form 8-4-4-4-12. Writes it in lower case, as the kernel does (%pUl). */
bool uuid_parse(char out[UUID_SIZE], const char *s);

/* True for a placeholder: 00000000-0000-0000-0000-0000000000NN. */
bool uuid_is_placeholder(const char *uuid);

/* Makes a random UUID (version 4). Aborts if the kernel returns no random bytes. */
void uuid_random(char out[UUID_SIZE]);

/* Accepts a PCI address with a domain of four to eight digits (nvidia-smi prints eight). Writes it as sysfs does. */
bool pci_parse(char out[PCI_SIZE], const char *s);

/* Corrects a likely misspelling, such as 84:00.0, 0000:84:00:0 or libvirt's pci_0000_84_00_0. */
bool pci_guess(char out[PCI_SIZE], const char *s);

/* Accepts a parent's name: a PCI address, or letters, digits and _ . - with a letter or digit first. */
bool parent_parse(char out[PARENT_SIZE], const char *s);

/* Like parent_parse(), and accepts libvirt's name of a virtual parent: mtty_mtty becomes mtty. */
bool parent_given(char out[PARENT_SIZE], const char *s);

/* Accepts a type's id: letters, digits and _ . - with a letter or digit first. */
bool type_parse(char out[TYPE_SIZE], const char *s);

/* Accepts a vGPU's id, a UUID or a PCI address, and writes its canonical form. */
bool id_parse(char out[ID_SIZE], const char *s);

/* Like pci_guess(), and takes the UUID out of libvirt's name of an mdev, mdev_UUID or mdev_UUID_PARENT. */
bool id_guess(char out[ID_SIZE], const char *s);

/* True for a resource class of Nova: VGPU, or CUSTOM_ followed by capital letters, digits and _. */
bool class_is_valid(const char *s);
