/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a domain's metadata say that has no effect on this host: words that nobody reads, a NUMA node that is not there.
 * Warnings, for who looks at a definition; a start goes on without a word.
 */
#pragma once

#include "sys/sys.h"
#include "config/config.h"
#include "domain/domxml.h"

/* Says each, with what to do about it. */
typedef void remark_say(void *arg, const char *text, const char *fix);

/*
 * Its PCI hostdevs that cannot be meant so: a pGPU of the pool, a GPU's VF outside of it, an address without a device.
 * What makes the hook refuse the domain is the plan's to tell. `doc` was parsed with DOMXML_ALL_PCI, and still has all
 * of them; `config` may be NULL.
 */
void remark_hostdevs(const struct domxml *doc, const struct host *host, const struct config *config, remark_say *say,
		     void *arg);

/* `doc` was parsed with DOMXML_REMARKS. */
void remark_domain(const struct domxml *doc, const struct host *host, remark_say *say, void *arg);
