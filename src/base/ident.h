/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses names strictly, because they can become part of a path. The result is in canonical form. */
#pragma once

#include <stdbool.h>

enum {
	UUID_SIZE = 37,
	PCI_SIZE = 18,    /* dddddddd:bb:ss.f and NUL; the domain has four to eight digits */
	PARENT_SIZE = 64, /* a device's name in sysfs: a PCI address, or a word such as mtty */
	TYPE_SIZE = 64,   /* nvidia-222, i915-GVTg_V5_4, mtty-1 */
	ID_SIZE = 40,     /* the name of a vGPU and its lease: an mdev's UUID, or a VF's address */
};

/* A UUID of the form 8-4-4-4-12; in lower case, as the kernel writes it (%pUl). */
bool uuid_parse(char out[UUID_SIZE], const char *s);

/* 00000000-0000-0000-0000-0000000000NN */
bool uuid_is_placeholder(const char *uuid);

/* A random UUID (version 4). Aborts if the kernel returns no random bytes. */
void uuid_random(char out[UUID_SIZE]);

/* A PCI address with a domain of four to eight digits (nvidia-smi prints eight); as in sysfs. */
bool pci_parse(char out[PCI_SIZE], const char *s);

/* Corrects a likely misspelling, such as 84:00.0, 0000:84:00:0 or libvirt's pci_0000_84_00_0. */
bool pci_guess(char out[PCI_SIZE], const char *s);

/* A parent's name: a PCI address, or letters, digits and _ . - with a letter or digit first. */
bool parent_parse(char out[PARENT_SIZE], const char *s);

/* parent_parse(), and libvirt's name of a virtual parent: mtty_mtty becomes mtty. */
bool parent_given(char out[PARENT_SIZE], const char *s);

/* A type's id: letters, digits and _ . - with a letter or digit first. */
bool type_parse(char out[TYPE_SIZE], const char *s);

/* A vGPU's id: a UUID or a PCI address. */
bool id_parse(char out[ID_SIZE], const char *s);

/* pci_guess(), and the UUID in libvirt's name of an mdev, mdev_UUID or mdev_UUID_PARENT. */
bool id_guess(char out[ID_SIZE], const char *s);

/* A resource class of Nova: VGPU, or CUSTOM_ followed by capital letters, digits and _. */
bool class_is_valid(const char *s);
