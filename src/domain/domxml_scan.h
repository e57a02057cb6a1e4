/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Locates start tags and their attributes in the bytes of a document that libxml2 has found well-formed and without a
 * document type. In such a document every element has one start tag, in the same order, and '<' begins only tags,
 * comments, CDATA sections and processing instructions. The scanner does not interpret the tags.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct span {
	size_t at, len; /* bytes of the document */
};

/* An attribute in a tag; value.at is 0 if the tag does not have it. */
struct attr {
	struct span whole; /* includes the white space before the attribute */
	struct span value; /* without its quotes */
};

struct scan {
	const char *xml;
	size_t len;
	size_t at; /* where the next search starts */
};

/* Finds the next start tag (or empty element). 1: found; 0: no more tags; -EINVAL: not such a document. */
int scan_tag(struct scan *scan, struct span *tag);

/* Does the tag's element have this name, apart from its prefix? */
bool scan_tag_is(const char *xml, struct span tag, const char *name);

/* Finds the attribute prefix:name, or name if the prefix is "". False: the tag does not have it. */
bool scan_attr(const char *xml, struct span tag, const char *prefix, const char *name, struct attr *attr);
