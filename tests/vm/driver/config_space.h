/* SPDX-License-Identifier: GPL-2.0-only */
/* A PCI device that has nothing but its configuration space, as VFIO shows it: no memory, no interrupts. */
#include <linux/pci.h>
#include <linux/uaccess.h>
#include <linux/vfio.h>

enum { CONFIG_SIZE = 256, OFFSET_BITS = 40 };

static void config_put(u8 *config, int at, u16 word)
{
	config[at] = word;
	config[at + 1] = word >> 8;
}

/* Where an access begins in it: VFIO has the number of the region in the offset. Negative: not in it. */
static int config_at(loff_t offset, size_t count)
{
	u64 at = offset & (BIT_ULL(OFFSET_BITS) - 1);

	if (offset >> OFFSET_BITS != VFIO_PCI_CONFIG_REGION_INDEX || at >= CONFIG_SIZE || count > CONFIG_SIZE - at)
		return -EINVAL;
	return at;
}

static ssize_t config_read(const u8 *config, char __user *buf, size_t count, loff_t *offset)
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
static ssize_t config_write(u8 *config, const char __user *buf, size_t count, loff_t *offset)
{
	int at = config_at(*offset, count);

	if (at < 0)
		return at;
	if (at == PCI_COMMAND && count <= 2 && copy_from_user(config + at, buf, count))
		return -EFAULT;
	*offset += count;
	return count;
}

static long config_device_info(void __user *to)
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

static long config_region_info(void __user *to)
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

static long config_irq_info(void __user *to)
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

static long config_ioctl(unsigned int command, void __user *argument)
{
	switch (command) {
	case VFIO_DEVICE_GET_INFO:
		return config_device_info(argument);
	case VFIO_DEVICE_GET_REGION_INFO:
		return config_region_info(argument);
	case VFIO_DEVICE_GET_IRQ_INFO:
		return config_irq_info(argument);
	case VFIO_DEVICE_RESET:
		return 0;
	}
	return -ENOTTY;
}
