/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A domain's XML, parsed: the document of the last call, which the next one frees. */
#pragma once

#include "lib/tap.h"
#include "lib/xml.h"

static struct err err;
static struct domxml *doc;

/* In memory of exactly its size: a sanitizer or valgrind sees a read behind its end. */
static inline int parse_bytes(const char *xml, size_t len, unsigned int flags)
{
	static char *copy;
	int r;

	domxml_free(doc);
	free(copy);
	doc = NULL;
	copy = len ? malloc(len) : NULL;
	if (len)
		memcpy(copy, xml, len);
	err = (struct err){ 0 };
	r = domxml_parse(&doc, copy, len, flags, &err);
	if (r < 0)
		doc = NULL;
	return r;
}

static inline const struct request *request_of(const char *xml, unsigned int flags)
{
	static const struct request none;

	if (parse_bytes(xml, strlen(xml), flags) == 0)
		return domxml_request(doc);
	printf("# %s\n", err.text);
	return &none;
}
