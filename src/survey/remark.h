/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a domain's metadata say that has no effect on this host: words that nobody reads, a NUMA node that is not there.
 * Warnings, for who looks at a definition; a start goes on without a word.
 */
#pragma once

#include "domain/domxml.h"
#include "base/host.h"

/* Says each, with what to do about it. */
typedef void remark_say(void *arg, const char *text, const char *fix);

/* `doc` was parsed with DOMXML_REMARKS. */
void remark_domain(const struct domxml *doc, const struct host *host, remark_say *say, void *arg);
