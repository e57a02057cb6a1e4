/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pgpu: the kernel's sample mtty, as it is, on PCI functions, for managers that take no virtual parent, as Nova 31. Its
 * cards are QEMU's edu devices. Each has the types pgpu-1 (one port) and pgpu-2 (two), and 24 ports; loaded in test
 * machines only, and by hand, so that a scenario can load and unload it as a driver of a GPU.
 */
#include <linux/module.h>
#include <linux/pci.h>

/* All of mtty but its beginning and its end. */
#pragma push_macro("module_init")
#pragma push_macro("module_exit")
#undef module_init
#undef module_exit
#define module_init(function)
#define module_exit(function)
#include "../mtty.c"
#pragma pop_macro("module_init")
#pragma pop_macro("module_exit")

struct card {
	struct mdev_parent parent;
	struct mtty_type types[ARRAY_SIZE(mtty_types)];
	struct mdev_type *list[ARRAY_SIZE(mtty_types)];
	atomic_t ports;
};

static int ports_of(struct mdev_type *type)
{
	return container_of(type, struct mtty_type, type)->nr_ports;
}

static struct card *card_of(struct mdev_type *type)
{
	return container_of(type->parent, struct card, parent);
}

static int pgpu_probe_mdev(struct mdev_device *mdev)
{
	struct card *card = card_of(mdev->type);
	int ret = -ENOSPC;

	if (atomic_sub_return(ports_of(mdev->type), &card->ports) >= 0)
		ret = mtty_probe(mdev);
	if (ret)
		atomic_add(ports_of(mdev->type), &card->ports);
	return ret;
}

static void pgpu_remove_mdev(struct mdev_device *mdev)
{
	mtty_remove(mdev);
	atomic_add(ports_of(mdev->type), &card_of(mdev->type)->ports);
}

static unsigned int pgpu_available(struct mdev_type *type)
{
	return max(atomic_read(&card_of(type)->ports), 0) / ports_of(type);
}

static struct mdev_driver pgpu_mdev_driver = {
	.device_api = VFIO_DEVICE_API_PCI_STRING,
	.driver = { .name = "pgpu_mdev", .owner = THIS_MODULE, .mod_name = KBUILD_MODNAME },
	.probe = pgpu_probe_mdev,
	.remove = pgpu_remove_mdev,
	.get_available = pgpu_available,
};

static int pgpu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct card *card = devm_kzalloc(&pdev->dev, sizeof(*card), GFP_KERNEL);
	size_t i;

	if (!card)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(mtty_types); i++) {
		card->types[i] = mtty_types[i];
		card->list[i] = &card->types[i].type;
	}
	atomic_set(&card->ports, MAX_MTTYS);
	pci_set_drvdata(pdev, card);
	return mdev_register_parent(&card->parent, &pdev->dev, &pgpu_mdev_driver, card->list, ARRAY_SIZE(card->list));
}

static void pgpu_remove(struct pci_dev *pdev)
{
	struct card *card = pci_get_drvdata(pdev);

	mdev_unregister_parent(&card->parent);
}

/* No alias of it: it is not loaded by itself. */
static const struct pci_device_id pgpu_ids[] = { { PCI_DEVICE(0x1234, 0x11e8) }, {} };

static struct pci_driver pgpu_driver = {
	.name = "pgpu",
	.id_table = pgpu_ids,
	.probe = pgpu_probe,
	.remove = pgpu_remove,
};

static int __init pgpu_init(void)
{
	int ret;

	/* Each card counts its own ports; mtty's one count is never the limit. */
	atomic_set(&mdev_avail_ports, INT_MAX);
	ret = mdev_register_driver(&pgpu_mdev_driver);
	if (ret)
		return ret;
	ret = pci_register_driver(&pgpu_driver);
	if (ret)
		mdev_unregister_driver(&pgpu_mdev_driver);
	return ret;
}

static void __exit pgpu_exit(void)
{
	pci_unregister_driver(&pgpu_driver);
	mdev_unregister_driver(&pgpu_mdev_driver);
}

module_init(pgpu_init);
module_exit(pgpu_exit);
