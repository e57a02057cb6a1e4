/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For functions of a given form, in the place of the real ones or called back: they may not need all of it. */
#pragma once

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
