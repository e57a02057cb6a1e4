/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A configuration from a text in memory. No nova.conf is read. */
#pragma once

#include "config/internal.h"

/* config_load() of the text; messages call it `name`. */
static inline int config_of_text(struct config *config, const char *name, const char *text, size_t len, struct err *err)
{
	struct draft draft = { .config = config };
	int r;

	config_default(config);
	r = config_ini_read(&draft, name, text, len, err);
	if (r == 0)
		r = config_draft_finish(&draft, err);
	config_draft_free(&draft);
	if (r < 0) {
		config_free(config);
		config_default(config);
	}
	return r;
}
