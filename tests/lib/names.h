/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names of the vGPUs and domains in tests. */
#pragma once

#define U(n) "c6f1a2b3-0000-4000-8000-00000000000" #n
#define A U(a)
#define B U(b)
#define C U(c)
#define D U(d)
#define E U(e)
#define VM "67a42c8b-1111-4000-8000-000000000001"
#define OTHER "67a42c8b-1111-4000-8000-000000000002"
#define GUEST(n) "dddddddd-0000-4000-8000-00000000000" #n
#define NIL "00000000-0000-0000-0000-000000000000"
