/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nvidia, of an older kernel: a test stand-in for NVIDIA's vGPU host driver with the mdev framework; loaded in test
 * machines only, in place of the one with VFIO's (nvidia.c), whose name and trouble it has. A PCI function that is
 * bound to it by driver_override is a T4, the parent of its vGPUs; with VFs it is an A40, each of whose VFs is the
 * parent of one. All vGPUs of a card have one framebuffer size. A vGPU is a PCI device without memory of its own, and
 * migrates (nvidia_migration.c).
 */
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/mdev.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/umh.h>
#include <linux/vfio.h>

#include "nvidia.h"

#include "cards.h"

enum { PLUGIN_WAIT_MS = 10000 };

char driver_version[VERSION_MAX] = "570.133.10";

static bool zombies;
module_param(zombies, bool, 0644);
MODULE_PARM_DESC(zombies, "a vGPU that is removed goes on occupying its card");

static unsigned int removal_ms;
module_param(removal_ms, uint, 0644);
MODULE_PARM_DESC(removal_ms, "how long after its close the driver removes a vGPU by itself; 0: it does not");
static bool as_l40s;
module_param(as_l40s, bool, 0644);
MODULE_PARM_DESC(as_l40s, "a card with VFs is an L40S, of the types that nvidia.c has");

/* A card, which is the driver's data of its PF. */
struct card {
	struct identity was; /* before it came to this driver */
	const struct model *model;
	struct mutex lock;      /* of all that its parents have as well */
	unsigned int used, mib; /* how many vGPUs, and of what size */
	struct parent *itself;  /* NULL: its VFs are the parents */
};

struct parent {
	struct mdev_parent mdev;
	struct pci_dev *pdev;
	struct card *card;
	bool is_used; /* by a vGPU: a VF carries one */
	struct mdev_type types[TYPES];
	struct mdev_type *list[TYPES];
};

struct vgpu {
	struct vfio_device vdev;
	struct parent *parent;
	u8 config[CONFIG_SIZE];
	char params[PARAMS_MAX + 1];
	bool is_open;
	unsigned long closed; /* jiffies of the last close; 0: none */
	struct delayed_work removal;
	struct migration migration;
};

static struct parent *parent_of(const struct mdev_type *type)
{
	return container_of(type->parent, struct parent, mdev);
}

static const struct mdev_kind *kind_of(const struct mdev_type *type)
{
	const struct parent *parent = parent_of(type);

	return &parent->card->model->types[type - parent->types];
}

static unsigned int most_of(const struct model *model, const struct mdev_kind *kind)
{
	return min(model->mib / kind->mib, model->most);
}

/* With the card's lock held: how many more of them there can be. */
static unsigned int capacity(const struct parent *parent, const struct mdev_kind *kind)
{
	const struct card *card = parent->card;
	unsigned int most = most_of(card->model, kind);

	if ((card->used && card->mib != kind->mib) || card->used >= most)
		return 0;
	if (parent->pdev->is_virtfn)
		return !parent->is_used;
	return most - card->used;
}

static unsigned int get_available(struct mdev_type *type)
{
	struct parent *parent = parent_of(type);

	pass(parent->pdev, AT_LIST);
	guard(mutex)(&parent->card->lock);
	return capacity(parent, kind_of(type));
}

static ssize_t show_description(struct mdev_type *type, char *buf)
{
	const struct mdev_kind *kind = kind_of(type);
	struct parent *parent = parent_of(type);
	int ret = pass(parent->pdev, AT_CURRENT);

	if (ret)
		return ret;
	return sysfs_emit(buf, "num_heads=4, frl_config=%u, framebuffer=%uM, max_resolution=%s, max_instance=%u\n",
			  kind->frl, kind->mib, kind->resolution, most_of(parent->card->model, kind));
}

/* The vGPU's own attributes */

static struct vgpu *vgpu_of(struct device *dev)
{
	return dev_get_drvdata(dev);
}

static ssize_t vgpu_params_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct vgpu *vgpu = vgpu_of(dev);

	guard(mutex)(&vgpu->parent->card->lock);
	return sysfs_emit(buf, "%s\n", vgpu->params);
}

/* All is replaced, and the last byte is lost: writers end with a newline. */
static ssize_t vgpu_params_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct vgpu *vgpu = vgpu_of(dev);
	int ret = pass(vgpu->parent->pdev, AT_PARAMS);

	if (ret)
		return ret;
	guard(mutex)(&vgpu->parent->card->lock);
	if (vgpu->is_open)
		return -EPERM;
	if (count > PARAMS_MAX)
		return -E2BIG;
	snprintf(vgpu->params, count, "%s", buf);
	return count;
}

static DEVICE_ATTR_RW(vgpu_params);

static struct attribute *vgpu_attrs[] = { &dev_attr_vgpu_params.attr, NULL };
static const struct attribute_group vgpu_group = { .name = "nvidia", .attrs = vgpu_attrs };
static const struct attribute_group *vgpu_groups[] = { &vgpu_group, NULL };

struct migration *migration_of(struct vfio_device *vdev)
{
	return &container_of(vdev, struct vgpu, vdev)->migration;
}

/* Only sysfs can remove a vGPU: so it is a process that does it, as NVIDIA's vgpu-mgr is one. */
static void remove_by_itself(struct work_struct *work)
{
	struct vgpu *vgpu = container_of(to_delayed_work(work), struct vgpu, removal);
	char *env[] = { "PATH=/usr/bin:/bin", NULL }, command[96];
	char *argv[] = { "/bin/sh", "-c", command, NULL };

	snprintf(command, sizeof(command), "echo 1 >/sys/bus/mdev/devices/%s/remove", dev_name(vgpu->vdev.dev));
	call_usermodehelper(argv[0], argv, env, UMH_WAIT_EXEC);
}

static int vgpu_open(struct vfio_device *vdev)
{
	struct vgpu *vgpu = container_of(vdev, struct vgpu, vdev);
	const struct mdev_kind *kind = kind_of(to_mdev_device(vdev->dev)->type);
	int ret = pass(vgpu->parent->pdev, AT_OPEN);
	u32 type;

	if (ret || (ret = kstrtou32(kind->id, 10, &type)))
		return ret;
	cancel_delayed_work(&vgpu->removal);
	migration_begin(&vgpu->migration, type, kind->mib);
	guard(mutex)(&vgpu->parent->card->lock);
	vgpu->is_open = true;
	return 0;
}

static void vgpu_close(struct vfio_device *vdev)
{
	struct vgpu *vgpu = container_of(vdev, struct vgpu, vdev);

	pass(vgpu->parent->pdev, AT_CLOSE);
	migration_reset(&vgpu->migration);
	guard(mutex)(&vgpu->parent->card->lock);
	vgpu->is_open = false;
	vgpu->closed = jiffies ?: 1;
	if (READ_ONCE(removal_ms))
		schedule_delayed_work(&vgpu->removal, msecs_to_jiffies(removal_ms));
}

static ssize_t vgpu_read(struct vfio_device *vdev, char __user *buf, size_t count, loff_t *offset)
{
	return config_read(container_of(vdev, struct vgpu, vdev)->config, buf, count, offset);
}

static ssize_t vgpu_write(struct vfio_device *vdev, const char __user *buf, size_t count, loff_t *offset)
{
	return config_write(container_of(vdev, struct vgpu, vdev)->config, buf, count, offset);
}

static long vgpu_ioctl(struct vfio_device *vdev, unsigned int command, unsigned long argument)
{
	if (command == VFIO_DEVICE_RESET)
		migration_reset(migration_of(vdev));
	return config_ioctl(command, (void __user *)argument);
}

static const struct vfio_device_ops vgpu_ops = {
	.name = "nvidia-vgpu-vfio",
	.open_device = vgpu_open,
	.close_device = vgpu_close,
	.read = vgpu_read,
	.write = vgpu_write,
	.ioctl = vgpu_ioctl,
	.bind_iommufd = vfio_iommufd_emulated_bind,
	.unbind_iommufd = vfio_iommufd_emulated_unbind,
	.attach_ioas = vfio_iommufd_emulated_attach_ioas,
	.detach_ioas = vfio_iommufd_emulated_detach_ioas,
};

/* Others see what it takes as used until the creation ends. */
static int occupy(struct parent *parent, const struct mdev_kind *kind)
{
	guard(mutex)(&parent->card->lock);
	if (!capacity(parent, kind))
		return -EIO;
	parent->is_used = true;
	parent->card->mib = kind->mib;
	parent->card->used++;
	return 0;
}

static void vacate(struct parent *parent)
{
	guard(mutex)(&parent->card->lock);
	parent->is_used = false;
	parent->card->used--;
}

static int vgpu_probe(struct mdev_device *mdev)
{
	struct parent *parent = parent_of(mdev->type);
	struct vgpu *vgpu;
	int ret = occupy(parent, kind_of(mdev->type));

	if (ret)
		return ret;
	ret = pass(parent->pdev, AT_CREATE);
	if (ret)
		goto err_occupied;
	vgpu = vfio_alloc_device(vgpu, vdev, &mdev->dev, &vgpu_ops);
	if (IS_ERR(vgpu)) {
		ret = PTR_ERR(vgpu);
		goto err_occupied;
	}
	vgpu->parent = parent;
	config_make(vgpu->config, &parent->card->model->identity);
	INIT_DELAYED_WORK(&vgpu->removal, remove_by_itself);
	migration_init(&vgpu->vdev);
	dev_set_drvdata(&mdev->dev, vgpu);
	ret = vfio_register_emulated_iommu_dev(&vgpu->vdev);
	if (ret)
		goto err_vgpu;
	return 0;

err_vgpu:
	vfio_put_device(&vgpu->vdev);
err_occupied:
	vacate(parent);
	return ret;
}

static bool plugin_holds(const struct vgpu *vgpu)
{
	return vgpu->closed && time_before(jiffies, vgpu->closed + msecs_to_jiffies(READ_ONCE(plugin_ms)));
}

/* Nothing keeps it from going: vgpu-mgr is only waited for. */
static void vgpu_remove(struct mdev_device *mdev)
{
	struct vgpu *vgpu = vgpu_of(&mdev->dev);
	struct parent *parent = vgpu->parent;
	unsigned long end = jiffies + msecs_to_jiffies(PLUGIN_WAIT_MS);

	vfio_unregister_group_dev(&vgpu->vdev);
	cancel_delayed_work_sync(&vgpu->removal);
	while (plugin_holds(vgpu) && time_before(jiffies, end))
		msleep(20);
	pass(parent->pdev, AT_REMOVE);
	vfio_put_device(&vgpu->vdev);
	if (!zombies)
		vacate(parent);
}

static struct mdev_driver vgpu_driver = {
	.device_api = VFIO_DEVICE_API_PCI_STRING,
	.driver = {
		.name = "nvidia-vgpu-vfio",
		.owner = THIS_MODULE,
		.mod_name = KBUILD_MODNAME,
		.dev_groups = vgpu_groups,
	},
	.probe = vgpu_probe,
	.remove = vgpu_remove,
	.get_available = get_available,
	.show_description = show_description,
};

static struct pci_driver nvidia_driver;

static struct parent *add_parent(struct pci_dev *pdev, struct card *card)
{
	struct parent *parent = devm_kzalloc(&pdev->dev, sizeof(*parent), GFP_KERNEL);
	int ret;

	if (!parent)
		return ERR_PTR(-ENOMEM);
	parent->pdev = pdev;
	parent->card = card;
	for (int i = 0; i < TYPES; i++) {
		parent->types[i].sysfs_name = card->model->types[i].id;
		parent->types[i].pretty_name = card->model->types[i].name;
		parent->list[i] = &parent->types[i];
	}
	ret = mdev_register_parent(&parent->mdev, &pdev->dev, &vgpu_driver, parent->list, TYPES);
	return ret ? ERR_PTR(ret) : parent;
}

static int vf_probe(struct pci_dev *pdev)
{
	struct card *card = pci_iov_get_pf_drvdata(pdev, &nvidia_driver);
	struct parent *parent;

	if (IS_ERR(card))
		return PTR_ERR(card);
	pass_for(pdev, &card->model->identity);
	parent = add_parent(pdev, card);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	pci_set_drvdata(pdev, parent);
	return 0;
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
	card->model = !pci_num_vf(pdev) ? &t4 : as_l40s ? &l40s : &a40;
	pass_for(pdev, &card->model->identity);
	pci_set_drvdata(pdev, card);
	if (pci_num_vf(pdev))
		return 0;
	card->itself = add_parent(pdev, card);
	if (!IS_ERR(card->itself))
		return 0;
	pass_for(pdev, &card->was);
	return PTR_ERR(card->itself);
}

/* vGPUs go with their parent. */
static void nvidia_remove(struct pci_dev *pdev)
{
	struct parent *parent;
	struct card *card;

	if (pdev->is_virtfn) {
		parent = pci_get_drvdata(pdev);
		mdev_unregister_parent(&parent->mdev);
		return;
	}
	card = pci_get_drvdata(pdev);
	if (card->itself)
		mdev_unregister_parent(&card->itself->mdev);
	pci_disable_sriov(pdev);
	pass_for(pdev, &card->was);
}

/* VFs are enabled while another driver has the card, as NVIDIA's sriov-manage does it. */
static const struct pci_device_id nvidia_ids[] = { { PCI_DEVICE(NVIDIA, 0x1eb8) }, { 0 } };

static struct pci_driver nvidia_driver = {
	.name = "nvidia",
	.id_table = nvidia_ids,
	.probe = nvidia_probe,
	.remove = nvidia_remove,
};

static int __init nvidia_init(void)
{
	int ret = mdev_register_driver(&vgpu_driver);

	if (ret)
		return ret;
	ret = pci_register_driver(&nvidia_driver);
	if (ret)
		mdev_unregister_driver(&vgpu_driver);
	return ret;
}

static void __exit nvidia_exit(void)
{
	pci_unregister_driver(&nvidia_driver);
	mdev_unregister_driver(&vgpu_driver);
}

module_init(nvidia_init);
module_exit(nvidia_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION("570.133.10");
MODULE_DESCRIPTION("Cards that are parents of mdevs, as NVIDIA's: in test machines");
