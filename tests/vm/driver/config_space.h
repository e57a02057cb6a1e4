/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A GPU that has nothing but its configuration space, as VFIO shows it: no memory, no interrupts. Asked for its display
 * it has one, on which nothing is drawn yet: what ramfb shows stays.
 */
#include <linux/pci.h>
#include <linux/uaccess.h>
#include <linux/vfio.h>

enum { CONFIG_SIZE = 256, OFFSET_BITS = 40 };

/* What a PCI function is to sysfs and to a guest. */
struct identity {
	unsigned short vendor, device, subsystem_vendor, subsystem_device;
};

enum { NVIDIA = 0x10de, L40S = 0x26b9, L40S_BOARD = 0x1851 };

static const struct identity l40s_identity = { NVIDIA, L40S, NVIDIA, L40S_BOARD };

/* The function's own configuration space keeps what it has. */
static inline void pass_for(struct pci_dev *pdev, const struct identity *identity)
{
	pdev->vendor = identity->vendor;
	pdev->device = identity->device;
	pdev->subsystem_vendor = identity->subsystem_vendor;
	pdev->subsystem_device = identity->subsystem_device;
}

static inline void config_put(u8 *config, int at, u16 word)
{
	config[at] = word;
	config[at + 1] = word >> 8;
}

static inline void config_make(u8 *config, const struct identity *identity)
{
	memset(config, 0, CONFIG_SIZE);
	config_put(config, PCI_VENDOR_ID, identity->vendor);
	config_put(config, PCI_DEVICE_ID, identity->device);
	config_put(config, PCI_CLASS_DEVICE, PCI_CLASS_DISPLAY_3D);
	config_put(config, PCI_SUBSYSTEM_VENDOR_ID, identity->subsystem_vendor);
	config_put(config, PCI_SUBSYSTEM_ID, identity->subsystem_device);
}

/* Where an access begins in it: VFIO has the number of the region in the offset. Negative: not in it. */
static inline int config_at(loff_t offset, size_t count)
{
	u64 at = offset & (BIT_ULL(OFFSET_BITS) - 1);

	if (offset >> OFFSET_BITS != VFIO_PCI_CONFIG_REGION_INDEX || at >= CONFIG_SIZE || count > CONFIG_SIZE - at)
		return -EINVAL;
	return at;
}

static inline ssize_t config_read(const u8 *config, char __user *buf, size_t count, loff_t *offset)
{
	int at = config_at(*offset, count);

	if (at < 0)
		return at;
	if (copy_to_user(buf, config + at, count))
		return -EFAULT;
	*offset += count;
	return count;
}

/* Nothing but the command register keeps what is written. */
static inline ssize_t config_write(u8 *config, const char __user *buf, size_t count, loff_t *offset)
{
	int at = config_at(*offset, count);

	if (at < 0)
		return at;
	if (at == PCI_COMMAND && count <= 2 && copy_from_user(config + at, buf, count))
		return -EFAULT;
	*offset += count;
	return count;
}

static inline long config_device_info(void __user *to)
{
	const size_t size = offsetofend(struct vfio_device_info, num_irqs);
	struct vfio_device_info info;

	if (copy_from_user(&info, to, size))
		return -EFAULT;
	info.flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET;
	info.num_regions = VFIO_PCI_NUM_REGIONS;
	info.num_irqs = VFIO_PCI_NUM_IRQS;
	return copy_to_user(to, &info, size) ? -EFAULT : 0;
}

static inline long config_region_info(void __user *to)
{
	const size_t size = offsetofend(struct vfio_region_info, offset);
	struct vfio_region_info info;
	bool is_config;

	if (copy_from_user(&info, to, size))
		return -EFAULT;
	if (info.index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	is_config = info.index == VFIO_PCI_CONFIG_REGION_INDEX;
	info.flags = is_config ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0;
	info.cap_offset = 0;
	info.size = is_config ? CONFIG_SIZE : 0;
	info.offset = (u64)info.index << OFFSET_BITS;
	return copy_to_user(to, &info, size) ? -EFAULT : 0;
}

static inline long config_irq_info(void __user *to)
{
	const size_t size = offsetofend(struct vfio_irq_info, count);
	struct vfio_irq_info info;

	if (copy_from_user(&info, to, size))
		return -EFAULT;
	if (info.index >= VFIO_PCI_NUM_IRQS)
		return -EINVAL;
	info.flags = 0;
	info.count = 0;
	return copy_to_user(to, &info, size) ? -EFAULT : 0;
}

static inline long config_plane(void __user *to)
{
	const size_t size = offsetofend(struct vfio_device_gfx_plane_info, region_index);
	struct vfio_device_gfx_plane_info info;

	if (copy_from_user(&info, to, size))
		return -EFAULT;
	if (info.argsz < size || info.flags & VFIO_GFX_PLANE_TYPE_DMABUF)
		return -EINVAL;
	if (info.flags & VFIO_GFX_PLANE_TYPE_PROBE)
		return 0;
	info = (struct vfio_device_gfx_plane_info){ .argsz = info.argsz, .flags = info.flags };
	return copy_to_user(to, &info, size) ? -EFAULT : 0;
}

static inline long config_ioctl(unsigned int command, void __user *argument)
{
	switch (command) {
	case VFIO_DEVICE_GET_INFO:
		return config_device_info(argument);
	case VFIO_DEVICE_GET_REGION_INFO:
		return config_region_info(argument);
	case VFIO_DEVICE_GET_IRQ_INFO:
		return config_irq_info(argument);
	case VFIO_DEVICE_QUERY_GFX_PLANE:
		return config_plane(argument);
	case VFIO_DEVICE_RESET:
		return 0;
	}
	return -ENOTTY;
}
