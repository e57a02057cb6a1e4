/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The models of cards as tables, and the description of a host with these cards:
 *
 *     NAME[/SHAPE][:COUNT][@ADDRESS][+...]      t4:8    a40/16:2+mtty    bench/48x30:16    l40s@0001:c8:00.0
 *
 * ADDRESS is that of the first card; the next cards are on the next buses. NVIDIA's types are from vgpuConfig.xml
 * (driver 510) and from listings of real hosts, and GVT-g's types are from i915. man/vgpu-lease-sim.1 says what is made
 * up.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/ident.h"

enum {
	SIM_MODELS_MAX = 8, /* different models of one host */
	SIM_TYPES_MAX = 40, /* types of one card */
	SIM_CARDS_MAX = 16, /* cards of one model */
	SIM_VFS_MAX = 252,  /* VFs of one card; the functions of a bus after the PF's */
};

/* The driver decides on capacity, errnos and the contents of a device's directory. */
enum sim_family { SIM_NVIDIA, SIM_MTTY, SIM_MBOCHS, SIM_COUNTED, SIM_GVT, SIM_PLAIN };

/* vGPUs are mdevs, VFs with a type, or plain VFs. */
enum sim_framework { SIM_FW_MDEV, SIM_FW_VARIANT, SIM_FW_VF };

/* A row of a type table. `id` is the number in the type's ID (nvidia-222). NVIDIA: `name` omits the board's name. */
struct sim_profile {
	int id;
	const char *name;
	const char *description;
	int size; /* NVIDIA: the number that fits, 0: from the framebuffer; GVT-g: the weight; others: as in sim_type */
	int low, high, fence;
	const char *instance; /* NVIDIA: the GPU instance of a MIG-backed type, such as 1g.5gb */
};

struct sim_model {
	const char *name;
	const char *says; /* its line of --list-models */
	enum sim_family family;
	enum sim_framework framework;
	const char *driver;                        /* of the parent; also the first part of a type's ID */
	const char *vgpu_driver;                   /* of an mdev, or of a plain VF at the start */
	const char *board;                         /* NVIDIA: the prefix of a type's name */
	const char *address;                       /* of the first card */
	unsigned vendor, device, subdevice, class; /* vendor 0: a virtual device, named like its driver */
	int cards_max;
	int vfs;            /* number of VFs, if SHAPE does not set it; 0: the PF itself has types */
	int first_vf;       /* the function number of the first VF */
	unsigned vf_device; /* a VF's device ID; 0: that of the PF */
	int types;          /* number of types, if SHAPE does not set it; 0: all of `profiles` */
	int shared;         /* ports, MB, devices, or MiB of aperture that all types share; not for NVIDIA */
	bool has_names;     /* types have a file `name`; always so for NVIDIA */
	int framebuffer_gib;
	int instances_max;                       /* most vGPUs of one type on a card */
	int slices;                              /* slices for GPU instances; 0: no MIG */
	const char *resolution_q, *resolution_c; /* largest resolution of Q and C types; NULL: 7680x4320, 4096x2160 */
	const struct sim_profile *profiles;
};

/* A type as the driver shows it. `name` or `description` "": the type has no such file. */
struct sim_type {
	char id[TYPE_SIZE];
	int number;
	char name[64];
	char description[160];
	int size;             /* NVIDIA: framebuffer in MiB; others: one vGPU's part of the model's `shared` */
	int capacity;         /* of an empty card */
	const char *instance; /* see sim_profile */
	int low, high, fence; /* GVT-g: MiB of aperture, and fences, of one vGPU */
};

/* Cards of one model. */
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

/* Parses a host's description. -EINVAL: invalid. The error for an unknown model lists all models. */
int sim_model_parse(struct sim_spec *out, const char *text, struct err *err);

/* The address of a card (`vf` -1) or of its VF number `vf`. A virtual device has the driver's name. */
void sim_model_address(char out[PARENT_SIZE], const struct sim_item *item, int card, int vf);

void sim_model_list(FILE *out);

extern const struct sim_model sim_models_nvidia[],
	sim_models_other[]; /* for model.c; each table ends with an entry without a name */
