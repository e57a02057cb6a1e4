/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cards that can be simulated, as tables, and the description of a host made of them:
 *
 *     NAME[/SHAPE][:COUNT][@ADDRESS][+...]      t4:8    a40/16:2+mtty    bench/48x30:16    l40s@0001:c8:00.0
 *
 * ADDRESS is that of the first card; the next ones are on the buses behind it. Types of NVIDIA's cards are those of
 * vgpuConfig.xml (driver 510) and of the listings of real hosts, GVT-g's are i915's; what was made up says so in
 * man/vgpu-lease-sim.1.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/ident.h"

enum {
	SIM_MODELS_MAX = 8, /* different models on one host */
	SIM_TYPES_MAX = 40, /* types of one card */
	SIM_CARDS_MAX = 16, /* cards of one model */
	SIM_VFS_MAX = 252,  /* VFs of one card: the functions of one bus, less those before the first VF */
};

/* Whose driver it is: decides on capacity, errnos and what a device's directory holds. */
enum sim_family { SIM_NVIDIA, SIM_MTTY, SIM_MBOCHS, SIM_COUNTED, SIM_GVT, SIM_PLAIN };

/* How vGPUs come about: as mdevs, by setting a VF's type, or not at all: the VFs are handed out as they are. */
enum sim_framework { SIM_FW_MDEV, SIM_FW_VARIANT, SIM_FW_VF };

/* A row of a type table. NVIDIA: a number, and the type's name without the board. Samples: the id's second part. */
struct sim_profile {
	int id;
	const char *name;
	const char *description;
	int size; /* NVIDIA: how many fit on a card, where that does not follow from the framebuffer */
	int low, high, fence;
	const char *instance; /* NVIDIA: the GPU instance that one of a MIG-backed type takes, as 1g.5gb */
};

struct sim_model {
	const char *name;
	const char *says; /* one line for --list-models */
	enum sim_family family;
	enum sim_framework framework;
	const char *driver;                        /* of the parent; the first part of a type's id */
	const char *vgpu_driver;                   /* of the mdevs, or of plain VFs at the start */
	const char *board;                         /* NVIDIA: what a type's name begins with */
	const char *address;                       /* of the first card */
	unsigned vendor, device, subdevice, class; /* vendor 0: no PCI device but a virtual one, called `driver` */
	int cards_max;
	int vfs;            /* SR-IOV VFs where no SHAPE says otherwise; 0: types on the PF itself */
	int first_vf;       /* the function number of the first one */
	unsigned vf_device; /* the device id of a VF, where it is another than the PF; 0 */
	int types;          /* likewise, of types; 0: all of `profiles` */
	int shared;         /* ports, MB, devices, MiB of aperture that all types share; NVIDIA: see below */
	bool has_names;     /* likewise: types have a file `name` */
	int framebuffer_gib;
	int instances_max;                       /* no type has more of them on one card */
	int slices;                              /* that GPU instances are made of; 0: no MIG */
	const char *resolution_q, *resolution_c; /* of the series: both have grown; NULL: 7680x4320 and 4096x2160 */
	const struct sim_profile *profiles;
};

/* A type as the driver shows it. `name` and `description` are empty where there is no such file. */
struct sim_type {
	char id[TYPE_SIZE];
	int number; /* NVIDIA: of the id */
	char name[64];
	char description[160];
	int size;             /* NVIDIA: framebuffer in MiB; else: what one takes of the model's `shared` */
	int capacity;         /* of an empty card */
	const char *instance; /* see sim_profile */
	int low, high, fence; /* GVT-g: what one takes of the aperture, in MiB, and of the fences */
};

/* So many cards of one model. */
struct sim_item {
	const struct sim_model *model;
	unsigned domain, bus, slot; /* of the first card */
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
void sim_model_address(char out[PARENT_SIZE], const struct sim_item *item, int card, int vf);

/* Lists the models, one a line. */
void sim_model_list(FILE *out);

/* The tables; of sim_model_*.c, for sim_model.c alone. */
extern const struct sim_model sim_models_nvidia[], sim_models_other[]; /* ends with one that has no name */
