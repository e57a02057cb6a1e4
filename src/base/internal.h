/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the two parts of bounded share. Included by bounded*.c only. */
#pragma once

#include <stdbool.h>

/* Is this a child of timed_child_run()? It is waited for as a whole. */
bool timed_child_is_child(void);

/* libvirt reads our stdout and stderr to their end: whoever keeps them open keeps libvirt waiting. */
void timed_child_drop_standard(void);
