/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cards that can be simulated, as tables, and the description of a host with them:
 *
 *     NAME[/SHAPE][:COUNT][@ADDRESS][+...]      t4:8    a40/16:2+mtty    bench/48x30:16    l40s@0001:c8:00.0
 *
 * ADDRESS is the first card's; the next cards are on the next buses. NVIDIA's types are from vgpuConfig.xml (driver
 * 510) and from listings of real hosts, GVT-g's are from i915. man/vgpu-lease-sim.1 says what is made up.
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

/* The driver, which decides on capacity, errnos and the contents of a device's directory. */
enum sim_family { SIM_NVIDIA, SIM_MTTY, SIM_MBOCHS, SIM_COUNTED, SIM_GVT, SIM_PLAIN };

/* How vGPUs are created: as mdevs, by setting a VF's type, or not at all, because plain VFs are used as they are. */
enum sim_framework { SIM_FW_MDEV, SIM_FW_VARIANT, SIM_FW_VF };

/*
 * A row of a type table. `id` is the number in the type's ID (nvidia-222, mtty-1). NVIDIA: the board's name is not part
 * of `name`.
 */
struct sim_profile {
	int id;
	const char *name;
	const char *description;
	int size; /* NVIDIA: how many fit, if not given by the framebuffer; GVT-g: the weight; else see sim_type */
	int low, high, fence;
	const char *instance; /* NVIDIA: the GPU instance of a MIG-backed type, such as 1g.5gb */
};

struct sim_model {
	const char *name;
	const char *says; /* its line in --list-models */
	enum sim_family family;
	enum sim_framework framework;
	const char *driver;                        /* of the parent; the first part of a type's id */
	const char *vgpu_driver;                   /* of the mdevs, or of plain VFs at the start */
	const char *board;                         /* NVIDIA: the prefix of a type's name */
	const char *address;                       /* of the first card */
	unsigned vendor, device, subdevice, class; /* vendor 0: a virtual device, which has the driver's name */
	int cards_max;
	int vfs;            /* SR-IOV VFs, unless SHAPE sets the number; 0: the PF itself has types */
	int first_vf;       /* the function number of the first VF */
	unsigned vf_device; /* the device id of a VF, if it differs from the PF's; else 0 */
	int types;          /* types, unless SHAPE sets the number; 0: all of `profiles` */
	int shared;         /* ports, MB, devices, or MiB of aperture that all types share; not NVIDIA */
	bool has_names;     /* types have a file `name`; NVIDIA's always do */
	int framebuffer_gib;
	int instances_max;                       /* the maximum number of vGPUs of one type on a card */
	int slices;                              /* slices for GPU instances; 0: no MIG */
	const char *resolution_q, *resolution_c; /* of Q and C types; NULL: 7680x4320 and 4096x2160 */
	const struct sim_profile *profiles;
};

/* A type as the driver shows it. `name` and `description` are empty if it has no such file. */
struct sim_type {
	char id[TYPE_SIZE];
	int number; /* NVIDIA: the number in `id` */
	char name[64];
	char description[160];
	int size;             /* NVIDIA: framebuffer in MiB; else how much one vGPU takes of the model's `shared` */
	int capacity;         /* of an empty card */
	const char *instance; /* see sim_profile */
	int low, high, fence; /* GVT-g: the MiB of aperture and the fences that one vGPU takes */
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

/* Parses a host's description. -EINVAL: invalid; for an unknown model the text lists all. */
int sim_model_parse(struct sim_spec *out, const char *text, struct err *err);

/* The address of a card (`vf` -1) or of its VF number `vf`, from 0 on; the driver's name for a virtual device. */
void sim_model_address(char out[PARENT_SIZE], const struct sim_item *item, int card, int vf);

void sim_model_list(FILE *out);

extern const struct sim_model sim_models_nvidia[],
	sim_models_other[]; /* tables for model.c alone; an entry without a name ends each */
