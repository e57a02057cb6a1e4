/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes VFs that are vGPUs themselves. */
#include "sim/vf.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/pci.h"
#include "sim/sriov.h"
#include "sim/vfio.h"

/* NVIDIA's vgpu-mgr uses the device for a short time after the close. */
static void on_closed(struct sim_group *group)
{
	struct sim_gpu *gpu = ((const struct sim_vf *)group->owner)->parent->gpu;

	if (gpu->item->model->family == SIM_NVIDIA)
		group->busy_until = group->kernel->now + sim_knob(gpu, SIM_PLUGIN_DELAY);
	sim_sriov_closed(gpu);
}

void sim_vf_make(struct sim_parent *parent)
{
	struct sim_kernel *kernel = parent->gpu->kernel;
	struct sim_vf *vf = parent->vf = mem_new(1, sizeof(*vf));

	vf->parent = parent;
	vf->group = sim_vfio_group(kernel, vf, on_closed);
	sim_vfio_detach(vf->group);
	vf->group->is_usable = parent->gpu->item->model->framework == SIM_FW_VF;
	sim_tree_link(&kernel->tree, parent->dir, "iommu_group", vf->group->dir);
	sim_tree_link(&kernel->tree, sim_tree_dir(&kernel->tree, vf->group->dir, "devices", NULL), parent->name,
		      parent->dir);
}

void sim_vf_free(struct sim_parent *parent)
{
	if (!parent->vf)
		return;
	sim_timer_forget(parent->gpu->kernel, &parent->vf->step);
	sim_vfio_group_free(parent->vf->group);
	free(parent->vf);
	parent->vf = NULL;
}

static bool is_graphics(const char *driver)
{
	static const char *const known[] = { "i915", "xe", "amdgpu" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(driver, known[i]) == 0)
			return true;
	return false;
}

static bool is_vfio(const struct sim_parent *parent, const char *driver)
{
	return strcmp(driver, parent->gpu->item->model->framework == SIM_FW_VARIANT ? "nvidia" : "vfio-pci") == 0;
}

void sim_vf_bind(struct sim_parent *parent, const char *driver)
{
	struct sim_kernel *kernel = parent->gpu->kernel;
	struct sim_tree *tree = &kernel->tree;
	struct sim_vf *vf = parent->vf;
	char card[32];

	sim_pci_bind(parent->gpu, parent->dir, driver);
	if (!vf)
		return;
	sim_tree_remove(tree, sim_tree_find(tree, parent->dir, "vfio-dev"));
	sim_tree_remove(tree, sim_tree_find(tree, parent->dir, "drm"));
	sim_vfio_detach(vf->group);
	if (driver && is_vfio(parent, driver)) {
		sim_vfio_attach(vf->group);
		sim_vfio_device(vf->group, parent->dir);
	} else if (driver && is_graphics(driver)) {
		snprintf(card, sizeof(card), "drm/card%u", ++kernel->last_drm);
		sim_tree_dir(tree, parent->dir, card, NULL);
	}
}

void sim_vf_unbind_open(struct sim_parent *parent)
{
	struct sim_tree *tree = &parent->gpu->kernel->tree;
	struct sim_group *group = parent->vf->group;

	sim_pci_bind(parent->gpu, parent->dir, NULL);
	sim_tree_remove(tree, sim_tree_find(tree, parent->dir, "vfio-dev"));
	sim_tree_remove(tree, group->device_dev);
	group->device_dev = NULL;
}

bool sim_vf_is_open(const struct sim_parent *parent)
{
	return parent->vf && parent->vf->group->holder;
}
