/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Warns about doubtful hostdevs of a domain, and about metadata without effect on this host: unknown words, or a NUMA
 * node that does not exist. Only commands that check a definition warn; a start does not.
 */
#pragma once

#include "sys/sys.h"
#include "config/config.h"
#include "domain/domxml.h"

/* Receives a warning and its fix. */
typedef void remark_say(void *arg, const char *text, const char *fix);

/*
 * Warns about PCI hostdevs that are probably mistakes: a pGPU of the pool, a GPU's VF outside the pool, or an address
 * without a device; and about vGPUs in <qemu:commandline>. Reasons to refuse the domain are left to the plan. `doc`
 * must be parsed with DOMXML_ALL_PCI and DOMXML_REMARKS, and still have all its hostdevs; `config` may be NULL.
 */
void remark_hostdevs(const struct domxml *doc, const struct host *host, const struct config *config, remark_say *say,
		     void *arg);

/* Warns about metadata. `doc` must be parsed with DOMXML_REMARKS. */
void remark_domain(const struct domxml *doc, const struct host *host, remark_say *say, void *arg);
