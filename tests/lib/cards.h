/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parents of mdevs in the text of a tree: NVIDIA's cards, or a virtual one, what they offer, and what is on them. */
#pragma once

#define ON_CARD(card) "sys/devices/" card
#define PARENT(card) "sys/class/mdev_bus/" card " -> ../../devices/" card "\n"
#define CARD_OF(card, device) PARENT(card) ON_CARD(card) "/modalias = pci:v000010ded0000" device "\n"
#define ON_TYPE(card, type) ON_CARD(card) "/mdev_supported_types/" type
#define AVAILABLE(card, type, number) ON_TYPE(card, type) "/available_instances = " number "\n"
#define OFFERS(card, type, name, number)                                                                               \
	ON_TYPE(card, type)                                                                                            \
	"/name = " name "\n" ON_TYPE(card, type) "/device_api = vfio-pci\n" AVAILABLE(card, type, number)
#define FRAMEBUFFER(card, type, mib, max)                                                                              \
	ON_TYPE(card, type)                                                                                            \
	"/description = num_heads=4, frl_config=45, framebuffer=" mib "M, max_resolution=1x1, max_instance=" max "\n"
#define MDEV_ON(card, type, id)                                                                                        \
	ON_CARD(card)                                                                                                  \
	"/" id "/mdev_type -> ../mdev_supported_types/" type "\n"                                                      \
	"sys/bus/mdev/devices/" id " -> ../../../devices/" card "/" id "\n"
