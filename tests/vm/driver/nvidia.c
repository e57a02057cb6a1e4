/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nvidia: a test stand-in for NVIDIA's vGPU host driver with its vendor-specific VFIO framework; loaded in test
 * machines only. Its cards are PCI functions with VFs that QEMU emulates, bound to it by driver_override: to sysfs they
 * are L40S then, and each VF has a directory nvidia/ with the types that can be created, the one that it has, and its
 * parameters. A VF is opened through VFIO once it has a type. All vGPUs of a card have one framebuffer size. A guest's
 * vGPU migrates (nvidia_migration.c), and there can be trouble (nvidia_trouble.c).
 */
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "nvidia.h"

enum {
	INSTANCES_MAX = 32,
	FRAMEBUFFER = 48,
	PLUGIN_WAIT_MS = 5000,
};

char driver_version[VERSION_MAX] = "570.133.10";
module_param_string(driver_version, driver_version, sizeof(driver_version), 0644);
MODULE_PARM_DESC(driver_version, "the version that /sys/module/nvidia/version tells");
static bool like_mdev;
module_param(like_mdev, bool, 0644);
MODULE_PARM_DESC(like_mdev, "who opens a VF sees the device that an mdev of its type is, not QEMU's nvme");

/* An L40S's, in the order of the driver's list. */
static const struct vgpu_type types[] = {
	{ 1145, 1, "L40S-1B" },   { 1146, 2, "L40S-2B" },   { 1147, 1, "L40S-1Q" },   { 1148, 2, "L40S-2Q" },
	{ 1149, 3, "L40S-3Q" },   { 1150, 4, "L40S-4Q" },   { 1151, 6, "L40S-6Q" },   { 1152, 8, "L40S-8Q" },
	{ 1153, 12, "L40S-12Q" }, { 1154, 16, "L40S-16Q" }, { 1155, 24, "L40S-24Q" }, { 1156, 48, "L40S-48Q" },
	{ 1157, 1, "L40S-1A" },   { 1158, 2, "L40S-2A" },   { 1159, 3, "L40S-3A" },   { 1160, 4, "L40S-4A" },
	{ 1161, 6, "L40S-6A" },   { 1162, 8, "L40S-8A" },   { 1163, 12, "L40S-12A" }, { 1164, 16, "L40S-16A" },
	{ 1165, 24, "L40S-24A" }, { 1166, 48, "L40S-48A" }, { 2164, 3, "L40S-3B" },
};

/* A card, which is the driver's data of its PF. */
struct card {
	struct identity was;    /* before it came to this driver */
	struct mutex lock;      /* of all that its VFs have as well, but for their migration */
	unsigned int used, gib; /* how many vGPUs, and of what size */
};

static struct vf *vf_of(struct device *dev)
{
	return container_of(dev_get_drvdata(dev), struct vf, core);
}

/* With the card's lock held, as all that follows. */
static bool fits(const struct vf *vf, const struct vgpu_type *type)
{
	const struct card *card = vf->card;

	return vf->state == EMPTY && (!card->used || card->gib == type->gib) &&
	       card->used < min(FRAMEBUFFER / type->gib, INSTANCES_MAX);
}

static bool has_type(const struct vf *vf)
{
	return vf->state == ACTIVE || vf->state == REMOVING;
}

static void empty(struct vf *vf)
{
	vf->card->used--;
	vf->state = EMPTY;
	vf->closed = 0;
	vf->params[0] = '\0';
}

static ssize_t creatable_vgpu_types_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vf *vf = vf_of(dev);
	int ret = pass(vf->core.pdev, AT_LIST), at;

	if (ret)
		return ret;
	at = sysfs_emit(buf, "ID    : vGPU Name\n");
	guard(mutex)(&vf->card->lock);
	for (int i = 0; i < ARRAY_SIZE(types); i++)
		if (fits(vf, &types[i]))
			at += sysfs_emit_at(buf, at, "%-5u : NVIDIA %s\n", types[i].id, types[i].name);
	return at;
}

static ssize_t current_vgpu_type_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vf *vf = vf_of(dev);
	int ret = pass(vf->core.pdev, AT_CURRENT);

	if (ret)
		return ret;
	guard(mutex)(&vf->card->lock);
	return sysfs_emit(buf, "%u\n", has_type(vf) ? vf->type->id : 0);
}

/* Others see neither the vGPU nor what it takes as free until this ends. */
static int create(struct vf *vf, long id)
{
	int ret;

	scoped_guard(mutex, &vf->card->lock)
	{
		const struct vgpu_type *type = types, *end = types + ARRAY_SIZE(types);

		if (vf->state != EMPTY)
			return -EPERM;
		while (type < end && type->id != id)
			type++;
		if (type == end || !fits(vf, type))
			return -EIO;
		vf->type = type;
		vf->state = CREATING;
		vf->card->gib = type->gib;
		vf->card->used++;
	}
	ret = pass(vf->core.pdev, AT_CREATE);
	guard(mutex)(&vf->card->lock);
	if (ret)
		empty(vf);
	else
		vf->state = ACTIVE;
	return ret;
}

static bool plugin_holds(const struct vf *vf)
{
	return vf->closed && time_before(jiffies, vf->closed + msecs_to_jiffies(READ_ONCE(plugin_ms)));
}

static int remove(struct vf *vf)
{
	unsigned long end = jiffies + msecs_to_jiffies(PLUGIN_WAIT_MS);
	int ret;

	scoped_guard(mutex, &vf->card->lock)
	{
		if (vf->state != ACTIVE || vf->is_open)
			return -EPERM;
		vf->state = REMOVING;
	}
	while (plugin_holds(vf) && time_before(jiffies, end))
		msleep(20);
	ret = plugin_holds(vf) ? -EBUSY : pass(vf->core.pdev, AT_REMOVE);
	guard(mutex)(&vf->card->lock);
	if (ret)
		vf->state = ACTIVE;
	else
		empty(vf);
	return ret;
}

static ssize_t current_vgpu_type_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct vf *vf = vf_of(dev);
	long id;
	int ret = kstrtol(buf, 10, &id);

	if (ret || id < 0)
		return -EINVAL;
	ret = id ? create(vf, id) : remove(vf);
	return ret ?: count;
}

static ssize_t vgpu_params_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vf *vf = vf_of(dev);

	guard(mutex)(&vf->card->lock);
	return has_type(vf) ? sysfs_emit(buf, "%s\n", vf->params) : -ENXIO;
}

/* All is replaced, and the last byte is lost: writers end with a newline. */
static ssize_t vgpu_params_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct vf *vf = vf_of(dev);
	int ret = pass(vf->core.pdev, AT_PARAMS);

	if (ret)
		return ret;
	guard(mutex)(&vf->card->lock);
	if (!has_type(vf))
		return -ENXIO;
	if (vf->is_open)
		return -EPERM;
	if (count > PARAMS_MAX)
		return -E2BIG;
	snprintf(vf->params, count, "%s", buf);
	return count;
}

/* What these are for is no concern of a time-sliced vGPU; none of it can be set here. */
static ssize_t other_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vf *vf = vf_of(dev);
	bool is_flag = strcmp(attr->attr.name, "warm_update") == 0;

	guard(mutex)(&vf->card->lock);
	return has_type(vf) ? sysfs_emit(buf, "%s\n", is_flag ? "0" : "Not Applicable") : -ENXIO;
}

static ssize_t other_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct vf *vf = vf_of(dev);

	guard(mutex)(&vf->card->lock);
	return has_type(vf) ? -EIO : -ENXIO;
}

static DEVICE_ATTR_RO(creatable_vgpu_types);
static DEVICE_ATTR_RW(current_vgpu_type);
static DEVICE_ATTR_RW(vgpu_params);
static DEVICE_ATTR(gpu_instance_id, 0644, other_show, other_store);
static DEVICE_ATTR(placement_id, 0644, other_show, other_store);
static DEVICE_ATTR(warm_update, 0644, other_show, other_store);

static struct attribute *vf_attrs[] = {
	&dev_attr_creatable_vgpu_types.attr,
	&dev_attr_current_vgpu_type.attr,
	&dev_attr_gpu_instance_id.attr,
	&dev_attr_placement_id.attr,
	&dev_attr_vgpu_params.attr,
	&dev_attr_warm_update.attr,
	NULL,
};

static const struct attribute_group vf_group = { .name = "nvidia", .attrs = vf_attrs };

static int vf_open(struct vfio_device *vdev)
{
	struct vf *vf = container_of(vdev, struct vf, core.vdev);
	int ret = pass(vf->core.pdev, AT_OPEN);

	if (ret)
		return ret;
	scoped_guard(mutex, &vf->card->lock)
	{
		if (vf->state != ACTIVE)
			return -ENODEV;
		vf->is_open = true;
	}
	ret = vfio_pci_core_enable(&vf->core);
	if (ret) {
		guard(mutex)(&vf->card->lock);
		vf->is_open = false;
		return ret;
	}
	migration_begin(&vf->migration, vf->type->id, vf->type->gib * 1024);
	vf->like_mdev = READ_ONCE(like_mdev);
	config_make(vf->config, &l40s_identity);
	vfio_pci_core_finish_enable(&vf->core);
	return 0;
}

static void vf_close(struct vfio_device *vdev)
{
	struct vf *vf = container_of(vdev, struct vf, core.vdev);

	pass(vf->core.pdev, AT_CLOSE);
	migration_reset(&vf->migration);
	vfio_pci_core_close_device(vdev);
	guard(mutex)(&vf->card->lock);
	vf->is_open = false;
	vf->closed = jiffies ?: 1;
}

static int vf_init(struct vfio_device *vdev)
{
	migration_init(vdev);
	return vfio_pci_core_init_dev(vdev);
}

struct migration *migration_of(struct vfio_device *vdev)
{
	return &container_of(vdev, struct vf, core.vdev)->migration;
}

static ssize_t vf_read(struct vfio_device *vdev, char __user *buf, size_t count, loff_t *offset)
{
	struct vf *vf = container_of(vdev, struct vf, core.vdev);

	return vf->like_mdev ? config_read(vf->config, buf, count, offset)
			     : vfio_pci_core_read(vdev, buf, count, offset);
}

static ssize_t vf_write(struct vfio_device *vdev, const char __user *buf, size_t count, loff_t *offset)
{
	struct vf *vf = container_of(vdev, struct vf, core.vdev);

	return vf->like_mdev ? config_write(vf->config, buf, count, offset)
			     : vfio_pci_core_write(vdev, buf, count, offset);
}

static long vf_ioctl(struct vfio_device *vdev, unsigned int command, unsigned long argument)
{
	struct vf *vf = container_of(vdev, struct vf, core.vdev);

	if (!vf->like_mdev)
		return vfio_pci_core_ioctl(vdev, command, argument);
	if (command == VFIO_DEVICE_RESET)
		migration_reset(&vf->migration);
	return config_ioctl(command, (void __user *)argument);
}

static const struct vfio_device_ops vf_ops = {
	.name = "nvidia-vgpu-vfio-pci",
	.init = vf_init,
	.release = vfio_pci_core_release_dev,
	.open_device = vf_open,
	.close_device = vf_close,
	.ioctl = vf_ioctl,
	.device_feature = vfio_pci_core_ioctl_feature,
	.read = vf_read,
	.write = vf_write,
	.mmap = vfio_pci_core_mmap,
	.request = vfio_pci_core_request,
	.match = vfio_pci_core_match,
	.bind_iommufd = vfio_iommufd_physical_bind,
	.unbind_iommufd = vfio_iommufd_physical_unbind,
	.attach_ioas = vfio_iommufd_physical_attach_ioas,
	.detach_ioas = vfio_iommufd_physical_detach_ioas,
};

static struct pci_driver nvidia_driver;

static const struct identity l40s_vf = { NVIDIA, L40S, NVIDIA, 0 };

static int vf_probe(struct pci_dev *pdev)
{
	struct card *card = pci_iov_get_pf_drvdata(pdev, &nvidia_driver);
	struct vf *vf;
	int ret;

	if (IS_ERR(card))
		return PTR_ERR(card);
	pass_for(pdev, &l40s_vf);
	vf = vfio_alloc_device(vf, core.vdev, &pdev->dev, &vf_ops);
	if (IS_ERR(vf))
		return PTR_ERR(vf);
	vf->card = card;
	dev_set_drvdata(&pdev->dev, &vf->core);
	ret = vfio_pci_core_register_device(&vf->core);
	if (ret)
		goto err_vf;
	ret = sysfs_create_group(&pdev->dev.kobj, &vf_group);
	if (ret)
		goto err_registered;
	return 0;

err_registered:
	vfio_pci_core_unregister_device(&vf->core);
err_vf:
	vfio_put_device(&vf->core.vdev);
	return ret;
}

static int nvidia_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct card *card;

	if (pdev->is_virtfn)
		return vf_probe(pdev);
	card = devm_kzalloc(&pdev->dev, sizeof(*card), GFP_KERNEL);
	if (!card)
		return -ENOMEM;
	mutex_init(&card->lock);
	card->was = (struct identity){ pdev->vendor, pdev->device, pdev->subsystem_vendor, pdev->subsystem_device };
	pass_for(pdev, &l40s_identity);
	pci_set_drvdata(pdev, card);
	return 0;
}

/* Of a card all VFs go: they are parts of it. A vGPU that is left goes with its VF. */
static void nvidia_remove(struct pci_dev *pdev)
{
	struct card *card;
	struct vf *vf;

	if (!pdev->is_virtfn) {
		card = pci_get_drvdata(pdev);
		pci_disable_sriov(pdev);
		pass_for(pdev, &card->was);
		return;
	}
	vf = vf_of(&pdev->dev);
	sysfs_remove_group(&pdev->dev.kobj, &vf_group);
	vfio_pci_core_unregister_device(&vf->core);
	scoped_guard(mutex, &vf->card->lock) if (vf->state != EMPTY) empty(vf);
	vfio_put_device(&vf->core.vdev);
}

static void reset_done(struct pci_dev *pdev)
{
	if (pdev->is_virtfn)
		migration_reset(&vf_of(&pdev->dev)->migration);
}

static const struct pci_error_handlers nvidia_err_handler = { .reset_done = reset_done };

/* VFs are enabled while another driver has the card, as NVIDIA's sriov-manage does it: sriov_numvfs is ENOENT here. */
static const struct pci_device_id nvidia_ids[] = { { PCI_DEVICE(NVIDIA, L40S) }, { 0 } };

static struct pci_driver nvidia_driver = {
	.name = "nvidia",
	.id_table = nvidia_ids,
	.probe = nvidia_probe,
	.remove = nvidia_remove,
	.err_handler = &nvidia_err_handler,
	.driver_managed_dma = true,
};

/* In place of MODULE_VERSION's, which cannot change. */
static ssize_t version_show(struct module_attribute *attr, struct module_kobject *module, char *buf)
{
	return sysfs_emit(buf, "%.*s\n", (int)strcspn(driver_version, "\n"), driver_version);
}

static const struct module_attribute version = __ATTR_RO(version);

static int __init nvidia_init(void)
{
	int ret = sysfs_create_file(&THIS_MODULE->mkobj.kobj, &version.attr);

	return ret ?: pci_register_driver(&nvidia_driver);
}

static void __exit nvidia_exit(void)
{
	pci_unregister_driver(&nvidia_driver);
}

module_init(nvidia_init);
module_exit(nvidia_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Cards whose VFs are vGPUs, as NVIDIA's: in test machines");
