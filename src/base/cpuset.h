/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parses sets of small numbers (CPUs, NUMA nodes) in the notation of the kernel and libvirt, such as "0-3,8". libvirt
 * also writes "0-7,^5": 0 to 7 without 5.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CPUS_MAX = 16384, CPU_WORDS = CPUS_MAX / 64 }; /* libvirt's limit for CPUs */

/*
 * Adds the list's numbers to the set: number N is bit N % 64 of bits[N / 64]. Numbers from `nbits` (a multiple of 64)
 * on are ignored. Returns false, and leaves the set unchanged, if the list is invalid; an empty list is valid.
 */
bool cpuset_parse(const char *list, uint64_t *bits, size_t nbits);
