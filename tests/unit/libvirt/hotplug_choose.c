/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a running domain gets: an mdev of its own, or a VF that is free; leased, and with the XML to attach it. */
#include "libvirt/internal.h"
#include "unit/libvirt/fake_virt.h"

#include "lib/messages.h"
#include "lib/live.h"

#define MDEV_TYPE "nvidia-222"
#define VF_TYPE "nvidia-1147"

static int choose(const char *type, struct vgpu_request *choice)
{
	struct hotplug hp = { .host = &live.tree.host, .store = &store, .config = &config };
	struct request domain = { .name = "vm1", .uuid = VM };
	int r;

	err = (struct err){ 0 };
	*choice = (struct vgpu_request){ .id = "" };
	fake.running = true;
	must(hotplug_open(&hp, "vm1", &err));
	r = hotplug_choose(&hp, &domain, type, choice, &err);
	hotplug_close(&hp);
	return r;
}

/* "TYPE, STATE of DOMAIN": the lease of this vGPU. */
static const char *leased_as(const char *id)
{
	static char text[256];
	struct lease lease;

	if (lease_get(&store, id, &lease, &err) != 1)
		return "none";
	snprintf(text, sizeof(text), "%s, %s of %s", lease.vgpu.type, lease_state_words[lease.state], lease.domain);
	return text;
}

static void mdevs(void)
{
	struct vgpu_request choice;
	autofree char *hostdev = NULL, *expected = NULL;

	ok_err(choose(MDEV_TYPE, &choice) == 0, "an mdev");
	is(leased_as(choice.id), MDEV_TYPE ", active of " VM, "is leased to the domain");
	ok(exists(choice.id), "and exists");
	hostdev = hotplug_hostdev(&choice);
	expected = mem_format("<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='%s'/>"
			      "</source></hostdev>",
			      choice.id);
	is(hostdev, expected, "as which libvirt attaches it");
}

static void vfs(void)
{
	struct vgpu_request first, second, third;
	autofree char *hostdev = NULL;

	ok_err(choose(VF_TYPE, &first) == 0, "a type that only VFs provide");
	is(leased_as(first.id), VF_TYPE ", active of " VM, "is leased as a VF");
	hostdev = hotplug_hostdev(&first);
	is(hostdev,
	   "<hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x0000' bus='0x26' "
	   "slot='0x00' function='0x4'/></source></hostdev>",
	   "which stays with its driver");
	ok_err(choose("CUSTOM_VF", &second) == 0 && strcmp(first.id, second.id) != 0, "the next VF, by class");
	is(leased_as(second.id), VF_TYPE ", active of " VM, "has the type as well");
	ok_err(choose(VF_TYPE, &third) == -ENOSPC && says(err.text, "M_FULL", "0000:26:00.0", "2", "2") &&
		       says(err.text, "M_FIX_FREE"),
	       "without a free one it is refused");
	is(leased_as(third.id), "none", "and nothing leased");
}

static void plain_vfs(void)
{
	struct vgpu_request choice;
	autofree char *hostdev = NULL;

	ok_err(choose("flex", &choice) == 0, "a plain VF");
	is(leased_as(choice.id), "flex, active of " VM, "is leased");
	hostdev = hotplug_hostdev(&choice);
	ok(strstr(hostdev, "managed='yes'") != NULL, "and bound to a driver of VFIO by libvirt: %s", hostdev);
}

static void refusals(void)
{
	struct vgpu_request choice;
	char longest[TYPE_NAME_SIZE + 8];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	ok_err(choose(longest, &choice) == -EINVAL, "what cannot be a type is refused");
}

LIVE_TESTS("t4:1+l40s/2:1+flex/2:1",
	   "[devices]\nenabled_mdev_types = " MDEV_TYPE ", " VF_TYPE "\n"
	   "[mdev_" MDEV_TYPE "]\ndevice_match = 10de:1eb8\n"
	   "[mdev_" VF_TYPE "]\ndevice_match = 10de:26b9\nmdev_class = CUSTOM_VF\n"
	   "[vf_flex]\ndevice_match = 8086:56c0\n",
	   mdevs, vfs, plain_vfs, refusals)
