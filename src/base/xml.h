/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An XML document as libxml2 understands it: elements, attributes, text. No more than reading needs.
 *
 * The bytes are hostile: nothing is fetched, no entity but XML's own five is expanded, a document type declaration is
 * refused when its name has been read, nesting ends at libxml2's 256 levels, and libxml2's messages, which quote the
 * document (it can hold passwords), are never passed on: an error is a line number and a cause in words of ours.
 *
 * libxml2, and ICU behind it, takes longer to load than the hook to run: it is opened with the first document that is
 * parsed, once for the process, and never closed.
 *
 * The only module that includes libxml2.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct xml_doc;
struct xml_elem; /* owned by its document, as are the texts that the functions below return */

/*
 * Parses. -EINVAL: not well-formed, a document type declaration, a NUL byte, an encoding in which '<' and quotes may be
 * other bytes than in ASCII (accepted: UTF-8, ASCII, ISO-8859-*, windows-125*); -ENOMEM: more names
 * than libxml2 takes, or memory is exhausted in it; -ELIBACC: libxml2 cannot be loaded.
 */
int xml_parse(struct xml_doc **out, const char *bytes, size_t len, struct err *err);
void xml_free(struct xml_doc *doc);

const struct xml_elem *xml_root(const struct xml_doc *doc);

/* How many elements the document has. */
size_t xml_count(const struct xml_doc *doc);

/* The element's place in the document: how many start tags stand before its own. */
size_t xml_index(const struct xml_elem *elem);

/* The element's name without prefix, and its namespace; "" where it is in none. */
const char *xml_name(const struct xml_elem *elem);
const char *xml_ns(const struct xml_elem *elem);

/*
 * The element's first child, and its next sibling, that are elements of this namespace ("" none, NULL any) and name
 * (NULL any); else NULL.
 */
const struct xml_elem *xml_child(const struct xml_elem *elem, const char *ns, const char *name);
const struct xml_elem *xml_next(const struct xml_elem *elem, const char *ns, const char *name);

/*
 * The value of the first attribute of this name, with whatever prefix that is declared (libvirt looks no closer); NULL
 * where there is none. The second gives that attribute's prefix, "" where it has none.
 */
const char *xml_attr(const struct xml_elem *elem, const char *name);
const char *xml_attr_prefix(const struct xml_elem *elem, const char *name);

/* The name, without prefix, of the element's attribute number `i`; NULL where it has fewer. */
const char *xml_attr_name(const struct xml_elem *elem, size_t i);

/*
 * All text in the element, as XPath's string() gives it, into buf[size]; false, and buf empty, where it does not fit.
 */
bool xml_text(const struct xml_elem *elem, char *buf, size_t size);
