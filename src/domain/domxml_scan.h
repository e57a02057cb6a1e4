/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the start tags and their attributes stand in the bytes of a document that libxml2 has found well-formed and
 * free of a document type. There every element is one start tag, in the same order, and '<' begins nothing but tags,
 * comments, CDATA sections and processing instructions. What the tags mean is not looked at here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct span {
	size_t at, len; /* bytes of the document */
};

/* An attribute in a tag; value.at is 0 if there is none. */
struct attr {
	struct span whole; /* with the white space before it */
	struct span value; /* without its quotes */
};

struct scan {
	const char *xml;
	size_t len;
	size_t at; /* where to go on */
};

/*
 * The next start tag (or empty element), '<' and '>' included: 1. 0: no more tags; -EINVAL: not such a document.
 */
int scan_tag(struct scan *scan, struct span *tag);

/* Is this the element's name in the tag, without its prefix? */
bool scan_tag_is(const char *xml, struct span tag, const char *name);

/* The attribute prefix:name, or name if the prefix is ""; false: the tag does not have it. */
bool scan_attr(const char *xml, struct span tag, const char *prefix, const char *name, struct attr *attr);
