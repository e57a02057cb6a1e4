/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cards that can be simulated, as tables, and the description of a host made of them:
 *
 *     NAME[/SHAPE][:COUNT][+...]      t4:8    a40/16:2+mtty    bench/48x30:16
 *
 * Types of the T4 and the A40 are those of NVIDIA's vgpuConfig.xml (driver 510), GVT-g's are i915's. The number of
 * places of an A40's types is made up from its 48 GiB and its 32 VFs; nothing is taken from a real A40's sysfs.
 *
 * Depends on: err, ident, text. Knows nothing of the tree or of what the cards do.
 */
#pragma once

#include <stdio.h>

#include "err.h"
#include "ident.h"

enum {
	SIM_MODELS_MAX = 8, /* different models on one host */
	SIM_TYPES_MAX = 40, /* types of one card */
	SIM_CARDS_MAX = 16, /* cards of one model */
	SIM_VFS_MAX = 252,  /* VFs of one card: the functions of one bus, less those before the first VF */
	SIM_NVIDIA_VF = 4,  /* the function number of the first VF: .4 up to Hopper */
};

/* Whose driver it is: decides on room, errnos and what a device's folder holds. */
enum sim_family { SIM_NVIDIA, SIM_MTTY, SIM_MDPY, SIM_GVT };

struct sim_profile; /* a row of a type table */

struct sim_model {
	const char *name;
	const char *says; /* one line for --list-models */
	enum sim_family family;
	const char *driver;                        /* of the parent; the first part of a type's id */
	const char *mdev_driver;                   /* of the mdevs */
	const char *board;                         /* what a type's name begins with */
	unsigned vendor, device, subdevice, class; /* vendor 0: no PCI device but a virtual one, called `driver` */
	int bus, slot;                             /* of the first card; the next ones are on the buses behind it */
	int cards_max;
	int vfs;   /* SR-IOV VFs where no SHAPE says otherwise; 0: types on the PF itself */
	int types; /* likewise; 0: all of `profiles` */
	int framebuffer_gib;
	int instances_max; /* no type has more of them on one card */
	const struct sim_profile *profiles;
};

/* A type as the driver shows it. `name` and `description` are empty where there is no such file. */
struct sim_type {
	char id[TYPE_SIZE];
	char name[64];
	char description[160];
	int size;             /* NVIDIA: framebuffer in MiB; mtty: ports */
	int capacity;         /* of an empty card */
	int low, high, fence; /* GVT-g: what one takes of the aperture, in MiB, and of the fences */
};

/* So many cards of one model. */
struct sim_item {
	const struct sim_model *model;
	int cards, vfs;
	int ntypes;
	struct sim_type types[SIM_TYPES_MAX];
};

struct sim_spec {
	int nitems;
	struct sim_item items[SIM_MODELS_MAX];
};

/* Reads a host's description; -EINVAL with a message that says what is known. */
int sim_model_parse(struct sim_spec *out, const char *text, struct err *err);

/* The address of a card (vf -1) or of its VF number `vf`, from 0 on; the driver's name where it is no PCI device. */
void sim_model_address(char out[PARENT_SIZE], const struct sim_model *model, int card, int vf);

/* Lists the models, one a line. */
void sim_model_list(FILE *out);
