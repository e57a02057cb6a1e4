/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads an XML document with libxml2, which only this module includes.
 *
 * The bytes are hostile. Nothing is fetched, only XML's five entities are expanded, and a document type declaration is
 * refused as soon as its name is read. libxml2 limits nesting to 256 levels. Its messages can quote passwords of the
 * document, so an error is a line number and a cause in our words.
 *
 * The first parse loads libxml2: with ICU, that takes longer than a run of the hook without it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Finds the name in the next start tag of well-formed XML, without libxml2; NULL: none. A document type counts too. */
const char *xml_next_tag(const char *at, const char *end);

struct xml_doc;
struct xml_elem; /* owned by the document, as are the strings that the functions return */

/*
 * Parses. Returns 0, or:
 *   -EINVAL: not well-formed; a document type declaration; an unknown entity; a NUL byte; or an encoding other than
 *     UTF-8, ASCII, ISO-8859-* and windows-125* (in other encodings, '<' or a quote may not be its ASCII byte)
 *   -E2BIG: larger than INT32_MAX
 *   -ENOMEM: more names than libxml2 accepts, or libxml2 is out of memory
 *   -ELIBACC: libxml2 cannot be loaded
 */
int xml_parse(struct xml_doc **out, const char *bytes, size_t len, struct err *err);
void xml_free(struct xml_doc *const *doc);

#define autoxml __attribute__((cleanup(xml_free)))

const struct xml_elem *xml_root(const struct xml_doc *doc);

/* The element's name without prefix, and its namespace; "" if it has none. */
const char *xml_name(const struct xml_elem *elem);
const char *xml_ns(const struct xml_elem *elem);

/*
 * Returns the element's first child, or its next sibling, with this namespace and name; NULL: not found. `ns` is "" for
 * elements without a namespace. If `ns` or `name` is NULL, any matches. xml_child() accepts NULL as `elem`.
 */
const struct xml_elem *xml_child(const struct xml_elem *elem, const char *ns, const char *name);
const struct xml_elem *xml_next(const struct xml_elem *elem, const char *ns, const char *name);

/* The value of the first attribute of this name, with any prefix, as in libvirt; NULL: none, or `elem` is NULL. */
const char *xml_attr(const struct xml_elem *elem, const char *name);

/*
 * The name of the attribute after *attr (NULL: of the first), without a declared prefix; NULL: no more. Skips those
 * that declare a namespace.
 */
const char *xml_next_attr(const struct xml_elem *elem, const void **attr);

struct span {
	const char *from, *to;
};

/* Where an attribute is in the parsed bytes. */
struct xml_place {
	struct span whole; /* with the white space before the attribute */
	struct span value; /* without the quotes */
};

/*
 * Finds the attribute of xml_attr() in the bytes, which must still exist. *place is unchanged if it is missing. False:
 * libxml2 has changed the name of an attribute, as of xmlns:1, or of one outside ASCII.
 */
bool xml_find_attr(const struct xml_elem *elem, const char *name, struct xml_place *place);

/* Copies all text in the element, as XPath's string() does. If it does not fit, returns false and empties buf. */
bool xml_text(const struct xml_elem *elem, char *buf, size_t size);
