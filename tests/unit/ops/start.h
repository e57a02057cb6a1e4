/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A start or an arrival of a domain with one mdev, on a small host with NVIDIA cards; each read of a driver is seen. */
#pragma once

#include "ops/lifecycle.h"

#include "lib/asked.h"
#include "lib/cards.h"
#include "lib/small_host.h"
#include "lib/xml.h"

#define CARD "0000:84:00.0"
#define TYPE "nvidia-222"
#define T4(card, available, max)                                                                                       \
	CARD_OF(card, "1eb8") OFFERS(card, TYPE, "GRID T4-1B", available) FRAMEBUFFER(card, TYPE, "1024", max)
#define DIRECTORIES "proc/\nrun/\netc/libvirt/qemu/\nsys/bus/mdev/devices/\n"

static struct section section = { .type = TYPE, .max_instances = NO_LIMIT };
static struct config config;

/* What it comes to, of the domain VM with the mdev B; NULL: its metadata ask for no type. */
static inline int call(const char *type, int (*flow)(const struct lifecycle *lifecycle, struct err *err))
{
	char xml[1024], metadata[256] = "";
	struct lifecycle lifecycle = {
		.host = &tree.host, .config = &config, .policy = &config.policy, .why_no_config = ""
	};
	struct domxml *doc;
	int r;

	if (type)
		snprintf(metadata, sizeof(metadata), LEASE("<v:device uuid='" B "' type='%s'/>"), type);
	snprintf(xml, sizeof(xml), DOMAIN("%s", MDEV_XML(B)), metadata);
	err = (struct err){ 0 };
	must(domxml_parse(&doc, xml, strlen(xml), 0, &err));
	lifecycle.doc = doc;
	lifecycle.request = domxml_request(doc);
	asked.host = &tree.host;
	asked.reads = asked.locked = 0;
	r = flow(&lifecycle, &err);
	domxml_free(doc);
	return r;
}

/* The pool is all cards, for one type. */
static inline void configure(int lock_timeout_s)
{
	config_default(&config);
	config.sections = &section;
	config.nsections = 1;
	config.policy.lock_timeout_s = lock_timeout_s;
}
