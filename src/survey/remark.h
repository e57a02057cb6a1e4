/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Warns about parts of a domain's metadata that have no effect on this host: unknown words, or a NUMA node that does
 * not exist. Only for people who check a definition: a start shows no warnings.
 */
#pragma once

#include "sys/sys.h"
#include "config/config.h"
#include "domain/domxml.h"

/* Receives each warning, with what to do about it. */
typedef void remark_say(void *arg, const char *text, const char *fix);

/*
 * Warns about PCI hostdevs that are probably mistakes: a pGPU of the pool, a GPU's VF outside of the pool, an address
 * without a device. The plan reports what makes the hook refuse the domain. `doc` was parsed with DOMXML_ALL_PCI, and
 * no hostdev has been removed from it; `config` may be NULL.
 */
void remark_hostdevs(const struct domxml *doc, const struct host *host, const struct config *config, remark_say *say,
		     void *arg);

/* `doc` was parsed with DOMXML_REMARKS. */
void remark_domain(const struct domxml *doc, const struct host *host, remark_say *say, void *arg);
