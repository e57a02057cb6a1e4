/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the two parts of bounded share. Included by bounded*.c only. */
#pragma once

#include <stdbool.h>

/* Is this a child of bounded_run()? It is waited for as a whole. */
bool bounded_is_child(void);

/* libvirt reads our stdout and stderr to their end: whoever keeps them open keeps libvirt waiting. */
void bounded_drop_standard(void);
