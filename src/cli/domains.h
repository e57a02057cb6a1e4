/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The domains of this host that a command line may name: those that have a lease or a file of libvirt's. */
#pragma once

#include <stdbool.h>

#include "cli/cmd.h"

/*
 * Does a lease or a file of libvirt's name this domain, a name or UUID? Where that cannot be told it may; the reason is
 * then in `why`, whose code is 0 otherwise.
 */
bool domains_know(const struct cmd *cmd, const char *domain, struct err *why);

/* Adds the domain, or the PCI address, that was meant, if one is similar. Returns the error's negative code. */
int domains_suggest(const struct cmd *cmd, const char *domain, struct err *err);

/* A --domain that the host does not know is mostly a typo, and an error. */
int domains_check(const struct cmd *cmd, struct err *err);
