/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lookups in a request: what asks for this very device, and what no vGPU of the domain can be. */
#include "model/vgpu.h"

#include "lib/tap.h"

#define VF "0000:41:00.2"
#define PLACEHOLDER "00000000-0000-0000-0000-000000000001"
#define OTHER "c6f1a2b3-0000-4000-8000-00000000000c"

int main(void)
{
	struct vgpu_request vgpus[] = { { .id = PLACEHOLDER, .any = true }, { .kind = REQUEST_PCI, .id = VF } };
	char excluded[][ID_SIZE] = { OTHER };
	const struct request request = { .vgpus = vgpus, .nvgpus = 2, .excluded = excluded, .nexcluded = 1 };
	const struct request nothing = { 0 };

	ok(request_find(&request, VF) == &vgpus[1], "a vGPU is found by its ID");
	ok(!request_find(&request, OTHER) && !request_find(&nothing, VF), "one that is not requested is not");
	ok(request_names(&request, VF), "a VF asks for this very device");
	ok(request_find(&request, PLACEHOLDER) && !request_names(&request, PLACEHOLDER), "a placeholder does not");
	ok(!request_names(&request, OTHER), "nor is a hostdev of another kind a request");
	ok(request_excludes(&request, OTHER), "whose ID no vGPU can get");
	ok(!request_excludes(&request, VF), "that of a vGPU itself it can");
	return tap_done();
}
