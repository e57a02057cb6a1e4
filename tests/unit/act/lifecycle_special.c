/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts without a lease: which domains may, and for which errors. */
#include "act/internal.h"

#include "lib/cards.h"
#include "lib/leases.h"
#include "lib/messages.h"
#include "lib/vgpu.h"

#define HERE A
#define GONE B
#define VF "0000:41:00.2"
#define VARIANT_VF "0000:41:00.3"

static struct vgpu_request vgpu;
static const struct request request = { .uuid = VM, .name = "vm", .vgpus = &vgpu, .nvgpus = 1 };
static struct lifecycle lifecycle = { .host = &tree.host, .request = &request };

static void exists(void)
{
	static const struct {
		const char *says;
		struct vgpu_request vgpu;
		const char *refusal; /* the message; NULL: none */
	} rows[] = {
		{ "an mdev that exists passes", { .id = HERE }, NULL },
		{ "one that does not is refused", { .id = GONE }, "M_ABSENT_NO_CONF" },
		{ "so is one that any vGPU would do for", { .id = HERE, .any = true }, "M_ABSENT_NO_CONF" },
		{ "a VF is there always", { .kind = REQUEST_PCI, .id = VF }, NULL },
		{ "but for one that is to be chosen",
		  { .kind = REQUEST_PCI, .id = VF, .any = true },
		  "M_ABSENT_NO_CONF" },
		{ "and one that takes a type and has none", { .kind = REQUEST_PCI, .id = VARIANT_VF }, "M_VF_NO_CONF" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r;

		err = (struct err){ 0 };
		vgpu = rows[i].vgpu;
		r = unleased_pass(&lifecycle, "no configuration", ERR_CONFIG, &err);
		ok(r == (rows[i].refusal ? -ENOENT : 0), "%s: %s", rows[i].says, err.text);
		ok(!rows[i].refusal || (err.about == ERR_CONFIG && says(err.text, rows[i].refusal, "no configuration")),
		   "a refusal says why");
	}
}

static int unplanned(int code)
{
	err_set(&err, code, "/run cannot be written");
	return unleased_check(&lifecycle, NULL, NULL, -code, &err);
}

static void errors(void)
{
	vgpu = (struct vgpu_request){ .id = HERE };
	ok(unplanned(EROFS) == 0 && unplanned(ENOSPC) == 0 && unplanned(EDQUOT) == 0,
	   "what exists passes where /run is full or read-only");
	ok(unplanned(EIO) == -EIO && unplanned(EACCES) == -EACCES, "no other error does");
	vgpu = (struct vgpu_request){ .id = GONE };
	ok(unplanned(EROFS) == -ENOENT, "nor what must be created");
	vgpu = (struct vgpu_request){ .id = HERE };
	lifecycle.op = "attach";
	ok(unplanned(EROFS) == -EROFS, "a command on a running guest is told of the error");
	lifecycle.op = NULL;
}

/* A plan of one step for a VM that holds the vGPU in this state, or does not (-1). */
static int planned(enum step_kind kind, enum framework framework, int state)
{
	struct step step = { .kind = kind,
			     .vgpu = *(framework == FW_VF ? PLAIN_VF(VF) : MDEV("mtty", "mtty-1", HERE)) };
	struct lease lease = { .domain = VM };
	const struct leases leases = { .list = &lease, .n = state < 0 ? 0 : 1 };
	const struct plan plan = { .steps = &step, .nsteps = 1 };
	const struct policy policy = { .lock_timeout_s = 1, .create_timeout_s = 1, .release_timeout_s = 1 };
	struct apply apply;
	int r;

	strcpy(step.vgpu.pgpu, "mtty");
	lease.vgpu = step.vgpu;
	lease.state = state < 0 ? LEASE_ACTIVE : (enum lease_state)state;
	apply_start(&apply, &store, &policy, &request, "test");
	err_set(&err, EROFS, "/run is read-only");
	r = unleased_start(&apply, &lifecycle, &plan, &leases, -EROFS, &err);
	apply_end(&apply);
	return r;
}

static void steps(void)
{
	ok(planned(STEP_ADOPT, FW_MDEV, -1) == 0, "a device that exists passes without a lease");
	ok(planned(STEP_CREATE, FW_VF, -1) == 0, "so does a plain VF, which nobody creates");
	ok(planned(STEP_CREATE, FW_MDEV, -1) == -EROFS,
	   "what would be created does not: at the end it would be nobody's");
	ok(planned(STEP_KEEP, FW_MDEV, LEASE_ACTIVE) == 0, "the domain's own active lease is enough");
	ok(planned(STEP_KEEP, FW_MDEV, LEASE_RELEASING) == -EROFS, "not one that is being released");
	ok(planned(STEP_KEEP, FW_MDEV, LEASE_RESERVED) == -EROFS, "nor a reservation");
	ok(planned(STEP_KEEP, FW_MDEV, -1) == -EROFS, "nor one that is gone");
}

/* An existing device whose node does not appear: no write hangs, so nothing needs to be left to a child. */
static void incomplete(void)
{
	const struct policy policy = { .lock_timeout_s = 1, .create_timeout_s = 1, .release_timeout_s = 1 };
	struct step step = { .kind = STEP_ADOPT, .vgpu = *MDEV("mtty", "mtty-1", HERE) };
	struct apply apply;
	struct lease lease;

	strcpy(step.vgpu.pgpu, "mtty");
	tree_remove(&tree, "dev/vfio/7");
	apply_start(&apply, &store, &policy, &request, "attach");
	ok_err(apply_lease(&apply, &step, 1, &err) == 0 && apply_step(&apply, &step, 1, 0, "", &err) == -EBUSY,
	       "it is waited for, and refused then");
	apply_undo(&apply);
	apply_end(&apply);
	ok(lease_get(&store, HERE, &lease, &err) == 0, "no lease of it stays");
}

HOST_TESTS("proc/\nrun/\n" PARENT("mtty")
		   ON_TYPE("mtty", "mtty-1") "/device_api = vfio-pci\n" MDEV_ON("mtty", "mtty-1", HERE)
			   ON_CARD("mtty") "/" HERE "/iommu_group -> ../../../kernel/iommu_groups/7\ndev/vfio/7 = x\n"
					   "sys/bus/pci/devices/" VF "/modalias = pci:v00008086d00000000\n"
					   "sys/bus/pci/devices/" VARIANT_VF "/nvidia/current_vgpu_type = 0\n",
	   exists, errors, steps, incomplete)
