/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sets of small numbers (CPUs, NUMA nodes) in the notation that the kernel and libvirt share: "0-3,8". libvirt also
 * takes "0-7,^5": 0 to 7 without 5.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CPUS_MAX = 16384, CPU_WORDS = CPUS_MAX / 64 }; /* the limit that libvirt has for CPUs */

/*
 * Adds the list's numbers to the set: bit N % 64 of bits[N / 64]. Numbers from `nbits` (a multiple of 64) on are read
 * and left out. False, and the set as it was, where this is no list; the empty list is one.
 */
bool cpuset_parse(const char *list, uint64_t *bits, size_t nbits);
