/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stuck: a driver of mediated devices that hangs where it is told to, and for as long. A test stand-in for a vendor's
 * driver whose firmware does not answer; loaded in test machines only.
 *
 * Its parent is /sys/class/mdev_bus/stuck, its type stuck-1, its devices are PCI devices that do nothing: QEMU starts
 * with them. /sys/module/stuck/parameters/hang is a sum of the values below. A task that hangs cannot be killed, as in
 * drivers that wait for their firmware; all go on when the parameter no longer names the step they are at.
 */
#include <linux/device.h>
#include <linux/mdev.h>
#include <linux/module.h>
#include <linux/pci_regs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vfio.h>
#include <linux/wait.h>

enum {
	AT_AVAILABLE = 1,
	AT_DESCRIPTION = 2,
	AT_CREATE = 4,
	AT_REMOVE = 8,
	MAX_DEVICES = 4,
	CONFIG_SIZE = 256,
};

struct stuck_device {
	struct vfio_device vdev;
};

static DECLARE_WAIT_QUEUE_HEAD(told);
static unsigned int hang;
static atomic_t devices = ATOMIC_INIT(0);

static int hang_set(const char *text, const struct kernel_param *param)
{
	int ret = param_set_uint(text, param);

	wake_up_all(&told);
	return ret;
}

static const struct kernel_param_ops hang_ops = { .set = hang_set, .get = param_get_uint };
module_param_cb(hang, &hang_ops, &hang, 0644);
MODULE_PARM_DESC(hang, "where to hang: 1 available_instances, 2 description, 4 create, 8 remove");

static void stay_at(unsigned int step)
{
	wait_event(told, !(READ_ONCE(hang) & step));
}

/* What QEMU reads first of a PCI device's configuration space: an unassigned device of Red Hat's, of no class. */
static u8 config_byte(loff_t at)
{
	static const u8 header[] = { [PCI_VENDOR_ID] = 0x36, 0x1b, [PCI_DEVICE_ID] = 0xff, 0x10 };

	return at < sizeof(header) ? header[at] : 0;
}

static ssize_t stuck_read(struct vfio_device *vdev, char __user *buf, size_t count, loff_t *ppos)
{
	size_t done;

	for (done = 0; done < count; done++)
		if (put_user(config_byte(*ppos + done), buf + done))
			return -EFAULT;
	*ppos += done;
	return done;
}

static ssize_t stuck_write(struct vfio_device *vdev, const char __user *buf, size_t count, loff_t *ppos)
{
	*ppos += count;
	return count;
}

static long get_info(void __user *arg)
{
	struct vfio_device_info info;
	size_t size = offsetofend(struct vfio_device_info, num_irqs);

	if (copy_from_user(&info, arg, size) || info.argsz < size)
		return -EINVAL;
	info.flags = VFIO_DEVICE_FLAGS_PCI;
	info.num_regions = VFIO_PCI_NUM_REGIONS;
	info.num_irqs = VFIO_PCI_NUM_IRQS;
	return copy_to_user(arg, &info, size) ? -EFAULT : 0;
}

static long get_region_info(void __user *arg)
{
	struct vfio_region_info info;
	size_t size = offsetofend(struct vfio_region_info, offset);

	if (copy_from_user(&info, arg, size) || info.argsz < size || info.index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	info.offset = 0;
	info.size = info.index == VFIO_PCI_CONFIG_REGION_INDEX ? CONFIG_SIZE : 0;
	info.flags = info.size ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0;
	return copy_to_user(arg, &info, size) ? -EFAULT : 0;
}

static long get_irq_info(void __user *arg)
{
	struct vfio_irq_info info;
	size_t size = offsetofend(struct vfio_irq_info, count);

	if (copy_from_user(&info, arg, size) || info.argsz < size || info.index >= VFIO_PCI_NUM_IRQS)
		return -EINVAL;
	info.flags = 0;
	info.count = 0;
	return copy_to_user(arg, &info, size) ? -EFAULT : 0;
}

static long stuck_ioctl(struct vfio_device *vdev, unsigned int command, unsigned long arg)
{
	switch (command) {
	case VFIO_DEVICE_GET_INFO:
		return get_info((void __user *)arg);
	case VFIO_DEVICE_GET_REGION_INFO:
		return get_region_info((void __user *)arg);
	case VFIO_DEVICE_GET_IRQ_INFO:
		return get_irq_info((void __user *)arg);
	case VFIO_DEVICE_RESET:
		return 0;
	default:
		return -ENOTTY;
	}
}

static const struct vfio_device_ops stuck_ops = {
	.name = "vfio-stuck",
	.read = stuck_read,
	.write = stuck_write,
	.ioctl = stuck_ioctl,
	.bind_iommufd = vfio_iommufd_emulated_bind,
	.unbind_iommufd = vfio_iommufd_emulated_unbind,
	.attach_ioas = vfio_iommufd_emulated_attach_ioas,
	.detach_ioas = vfio_iommufd_emulated_detach_ioas,
};

static int stuck_probe(struct mdev_device *mdev)
{
	struct stuck_device *device;
	int ret;

	stay_at(AT_CREATE);
	if (atomic_inc_return(&devices) > MAX_DEVICES) {
		ret = -ENOSPC;
		goto err_count;
	}
	device = vfio_alloc_device(stuck_device, vdev, &mdev->dev, &stuck_ops);
	if (IS_ERR(device)) {
		ret = PTR_ERR(device);
		goto err_count;
	}
	ret = vfio_register_emulated_iommu_dev(&device->vdev);
	if (ret)
		goto err_device;
	dev_set_drvdata(&mdev->dev, device);
	return 0;

err_device:
	vfio_put_device(&device->vdev);
err_count:
	atomic_dec(&devices);
	return ret;
}

static void stuck_remove(struct mdev_device *mdev)
{
	struct stuck_device *device = dev_get_drvdata(&mdev->dev);

	stay_at(AT_REMOVE);
	vfio_unregister_group_dev(&device->vdev);
	vfio_put_device(&device->vdev);
	atomic_dec(&devices);
}

static unsigned int stuck_available(struct mdev_type *type)
{
	stay_at(AT_AVAILABLE);
	return MAX_DEVICES - atomic_read(&devices);
}

static ssize_t stuck_description(struct mdev_type *type, char *buf)
{
	stay_at(AT_DESCRIPTION);
	return sysfs_emit(buf, "hangs where it is told to\n");
}

static struct mdev_driver stuck_driver = {
	.device_api = VFIO_DEVICE_API_PCI_STRING,
	.driver = { .name = "stuck", .owner = THIS_MODULE, .mod_name = KBUILD_MODNAME },
	.probe = stuck_probe,
	.remove = stuck_remove,
	.get_available = stuck_available,
	.show_description = stuck_description,
};

static struct mdev_type stuck_type = { .sysfs_name = "1", .pretty_name = "Stuck" };
static struct mdev_type *stuck_types[] = { &stuck_type };
static struct mdev_parent stuck_parent;
static struct class *stuck_class;
static struct device *stuck_dev;

static int __init stuck_init(void)
{
	int ret = mdev_register_driver(&stuck_driver);

	if (ret)
		return ret;
	stuck_class = class_create("stuck");
	if (IS_ERR(stuck_class)) {
		ret = PTR_ERR(stuck_class);
		goto err_driver;
	}
	stuck_dev = device_create(stuck_class, NULL, 0, NULL, "stuck");
	if (IS_ERR(stuck_dev)) {
		ret = PTR_ERR(stuck_dev);
		goto err_class;
	}
	ret = mdev_register_parent(&stuck_parent, stuck_dev, &stuck_driver, stuck_types, ARRAY_SIZE(stuck_types));
	if (ret)
		goto err_device;
	return 0;

err_device:
	device_unregister(stuck_dev);
err_class:
	class_destroy(stuck_class);
err_driver:
	mdev_unregister_driver(&stuck_driver);
	return ret;
}

static void __exit stuck_exit(void)
{
	mdev_unregister_parent(&stuck_parent);
	device_unregister(stuck_dev);
	class_destroy(stuck_class);
	mdev_unregister_driver(&stuck_driver);
}

module_init(stuck_init);
module_exit(stuck_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Mediated devices whose driver hangs where it is told to");
