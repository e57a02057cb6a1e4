/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The only file that uses libxml2: loads it at run time, parses with it, and reads its tree. */
#include "base/xml.h"

#include <dlfcn.h>
#include <errno.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"

/* libxml2's own objects. */
struct xml_doc {
	xmlDoc tree;
};

struct xml_elem {
	xmlNode node;
};

/* The functions of libxml2 that this file calls. All exist from version 2.9 on. */
static struct {
	void *handle;
	__typeof__(xmlNewParserCtxt) *xmlNewParserCtxt;
	__typeof__(xmlFreeParserCtxt) *xmlFreeParserCtxt;
	__typeof__(xmlCtxtReadMemory) *xmlCtxtReadMemory;
	__typeof__(xmlStopParser) *xmlStopParser;
	__typeof__(xmlFreeDoc) *xmlFreeDoc;
	__typeof__(xmlSetStructuredErrorFunc) *xmlSetStructuredErrorFunc;
	__typeof__(xmlNodeGetContent) *xmlNodeGetContent;
	__typeof__(xmlFree) *xmlFree;
} lib;

static int load(struct err *err)
{
	void *handle;

	if (lib.handle)
		return 0;
	/* RTLD_LAZY, because libxml2 loads ICU and the C++ library, and a parse needs few of their symbols. */
	handle = dlopen(XML_SONAME, RTLD_LAZY | RTLD_LOCAL);
	if (!handle)
		return err_set(err, ELIBACC, "libxml2 cannot be loaded (%s); install it", dlerror());
#define SYMBOL(name) (*(void **)&lib.name = dlsym(handle, #name))
	if (!SYMBOL(xmlNewParserCtxt) || !SYMBOL(xmlFreeParserCtxt) || !SYMBOL(xmlCtxtReadMemory) ||
	    !SYMBOL(xmlStopParser) || !SYMBOL(xmlFreeDoc) || !SYMBOL(xmlSetStructuredErrorFunc) ||
	    !SYMBOL(xmlNodeGetContent) || !SYMBOL(xmlFree)) {
		dlclose(handle);
		return err_set(err, ELIBACC, "%s is not a usable libxml2; install version 2.9.14 or later", XML_SONAME);
	}
#undef SYMBOL
	lib.handle = handle;
	return 0;
}

/* What the parser found. The context's _private, which libxml2 leaves to its caller, points here. */
struct met {
	bool doctype;
	int line, code;                  /* of the first fatal error; 0: none */
	startElementNsSAX2Func add_elem; /* libxml2's handler, which adds an element to the tree */
	const char *tag, *end;           /* the name in the last start tag; NULL: not found; the end of the document */
};

static void free_ctxt(xmlParserCtxtPtr *ctxt)
{
	if (*ctxt)
		lib.xmlFreeParserCtxt(*ctxt);
}

/* libxml2 calls this after the name of a document type, before anything that the type declares. */
static void refuse_doctype(void *ctxt, const xmlChar *name, const xmlChar *external, const xmlChar *system)
{
	struct met *met = ((xmlParserCtxtPtr)ctxt)->_private;

	(void)name;
	(void)external;
	(void)system;
	met->doctype = true;
	lib.xmlStopParser(ctxt);
}

/* '<' begins only tags, and the other kinds of markup, in which it can appear again. */
const char *xml_next_tag(const char *at, const char *end)
{
	static const char *const others[][2] = { { "<!--", "-->" }, { "<![CDATA[", "]]>" }, { "<?", "?>" } };

	while ((at = memchr(at, '<', (size_t)(end - at)))) {
		size_t left = (size_t)(end - at), n = 0, i = 0;

		for (; i < ARRAY_SIZE(others); i++) {
			n = strlen(others[i][0]);
			if (left >= n && memcmp(at, others[i][0], n) == 0)
				break;
		}
		if (i == ARRAY_SIZE(others)) {
			at++;
			if (at == end || *at != '/')
				return at;
			continue;
		}
		/* Search behind the beginning, because "<!-->" does not close a comment. */
		at = memmem(at + n, left - n, others[i][1], strlen(others[i][1]));
		if (!at)
			break;
	}
	return NULL;
}

/* libxml2 calls this for each start tag, in document order. An element's _private becomes the place of its tag. */
static void add_elem(void *ctxt, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri, int nns,
		     const xmlChar **ns, int nattrs, int ndefaults, const xmlChar **attrs)
{
	xmlParserCtxtPtr parser = ctxt;
	struct met *met = parser->_private;

	met->add_elem(ctxt, name, prefix, uri, nns, ns, nattrs, ndefaults, attrs);
	met->tag = met->tag ? xml_next_tag(met->tag, met->end) : NULL;
	if (parser->node)
		parser->node->_private = (void *)met->tag;
}

#if LIBXML_VERSION >= 21200
#define HANDED_ERROR const xmlError
#else
#define HANDED_ERROR xmlError
#endif

/* Records the first fatal error, which causes the others. Without a handler libxml2 would print the document. */
static void note_error(void *ctxt, HANDED_ERROR *error)
{
	struct met *met = ((xmlParserCtxtPtr)ctxt)->_private;

	if (error->level != XML_ERR_FATAL || met->code)
		return;
	met->line = error->line;
	met->code = error->code;
}

/* Describes an error in our words, because libxml2's text quotes the document. */
static const char *cause(int code)
{
	static const struct {
		const char *text;
		int codes[3];
	} causes[] = {
		{ "contains no element", { XML_ERR_DOCUMENT_EMPTY, XML_ERR_DOCUMENT_START } },
		{ "text or a second root element after the end", { XML_ERR_DOCUMENT_END } },
		{ "an end tag does not match its start tag", { XML_ERR_TAG_NAME_MISMATCH } },
		{ "a tag is not closed", { XML_ERR_TAG_NOT_FINISHED, XML_ERR_GT_REQUIRED, XML_ERR_LTSLASH_REQUIRED } },
		{ "an '&' that is not an XML entity (write &amp;)",
		  { XML_ERR_UNDECLARED_ENTITY, XML_ERR_ENTITYREF_NO_NAME, XML_ERR_ENTITYREF_SEMICOL_MISSING } },
		{ "a '<' within an attribute (write &lt;)", { XML_ERR_LT_IN_ATTRIBUTE } },
		{ "an attribute has no value in quotes",
		  { XML_ERR_ATTRIBUTE_NOT_STARTED, XML_ERR_ATTRIBUTE_NOT_FINISHED, XML_ERR_ATTRIBUTE_WITHOUT_VALUE } },
		{ "missing space between two attributes, or in the XML declaration", { XML_ERR_SPACE_REQUIRED } },
		{ "a comment is not closed, or has -- in it",
		  { XML_ERR_HYPHEN_IN_COMMENT, XML_ERR_COMMENT_NOT_FINISHED } },
		{ "an attribute appears twice in one tag", { XML_ERR_ATTRIBUTE_REDEFINED } },
		{ "a character that XML does not allow",
		  { XML_ERR_INVALID_CHAR, XML_ERR_INVALID_CHARREF, XML_ERR_INVALID_ENCODING } },
		{ "an encoding that libxml2 does not know",
		  { XML_ERR_UNKNOWN_ENCODING, XML_ERR_UNSUPPORTED_ENCODING } },
	};

	for (size_t i = 0; code && i < ARRAY_SIZE(causes); i++)
		for (size_t c = 0; c < ARRAY_SIZE(causes[i].codes); c++)
			if (causes[i].codes[c] == code)
				return causes[i].text;
	return "not well-formed";
}

static int parse_error(const struct met *met, struct err *err)
{
	if (met->code == XML_ERR_NO_MEMORY)
		return err_set(err, ENOMEM, "the XML cannot be parsed: it has too many names, or memory is exhausted");
	if (met->code == XML_I18N_CONV_FAILED)
		return err_set(err, EINVAL, "the XML is not in the encoding that it declares; convert it to UTF-8");
	return err_set(err, EINVAL, "the XML is wrong in line %d: %s (libxml2's error %d)", met->line, cause(met->code),
		       met->code);
}

/* True if each byte below 0x80 is the same character in this encoding as in ASCII. */
static bool encoding_is_plain(const char *name)
{
	return !name || strcasecmp(name, "UTF-8") == 0 || strcasecmp(name, "UTF8") == 0 ||
	       strcasecmp(name, "ASCII") == 0 || strcasecmp(name, "US-ASCII") == 0 ||
	       strncasecmp(name, "ISO-8859-", 9) == 0 || strncasecmp(name, "windows-125", 11) == 0;
}

int xml_parse(struct xml_doc **out, const char *bytes, size_t len, struct err *err)
{
	/* NOCDATA turns CDATA sections into text. NOENT, HUGE and the options that load or validate must stay off. */
	const int options = XML_PARSE_NONET | XML_PARSE_NOCDATA;
	__attribute__((cleanup(free_ctxt))) xmlParserCtxtPtr ctxt = NULL;
	struct met met = { .tag = bytes, .end = bytes + len };
	xmlDocPtr tree;
	int r = load(err);

	if (r < 0)
		return r;
	if (len == 0)
		return err_set(err, EINVAL, "the XML is empty");
	if (len > INT32_MAX)
		return err_set(err, E2BIG, "the XML is too large");
	if (memchr(bytes, '\0', len))
		return err_set(err, EINVAL,
			       "the XML has a NUL byte in it (UTF-16 is not supported; convert it to UTF-8)");

	ctxt = mem_check(lib.xmlNewParserCtxt());
	ctxt->_private = &met;
	ctxt->sax->serror = note_error;
	ctxt->sax->internalSubset = refuse_doctype;
	met.add_elem = ctxt->sax->startElementNs;
	ctxt->sax->startElementNs = add_elem;
	/* Conversion errors reach only the global handler. It is reset below, because libvirt's library also parses. */
	lib.xmlSetStructuredErrorFunc(ctxt, note_error);
	tree = lib.xmlCtxtReadMemory(ctxt, bytes, (int)len, NULL, NULL, options);
	lib.xmlSetStructuredErrorFunc(NULL, NULL);
	*out = (struct xml_doc *)tree;

	/* Check for the document type first, because a stopped parser returns a document without a root. */
	if (met.doctype)
		r = err_set(err, EINVAL, "the XML has a document type declaration, which no domain needs; remove it");
	else if (!tree || !xml_root(*out))
		r = parse_error(&met, err);
	else if (!encoding_is_plain((const char *)tree->encoding) || !met.tag || xml_next_tag(met.tag, met.end))
		r = err_set(err, EINVAL, "the XML is in an unsupported encoding; convert it to UTF-8");
	if (r < 0) {
		xml_free(out);
		*out = NULL;
	}
	return r;
}

void xml_free(struct xml_doc *const *doc)
{
	if (*doc)
		lib.xmlFreeDoc(&(*doc)->tree);
}

static const struct xml_elem *elem_of(const xmlNode *node)
{
	return (const struct xml_elem *)node;
}

const char *xml_name(const struct xml_elem *elem)
{
	return (const char *)elem->node.name;
}

const char *xml_ns(const struct xml_elem *elem)
{
	const xmlNs *ns = elem->node.ns;

	return ns && ns->href ? (const char *)ns->href : "";
}

/* The first matching element among `node` and its next siblings. */
static const struct xml_elem *match(const xmlNode *node, const char *ns, const char *name)
{
	for (; node; node = node->next) {
		if (node->type != XML_ELEMENT_NODE || (name && strcmp((const char *)node->name, name) != 0))
			continue;
		if (!ns || strcmp(xml_ns(elem_of(node)), ns) == 0)
			return elem_of(node);
	}
	return NULL;
}

const struct xml_elem *xml_root(const struct xml_doc *doc)
{
	return match(doc->tree.children, NULL, NULL);
}

const struct xml_elem *xml_child(const struct xml_elem *elem, const char *ns, const char *name)
{
	return elem ? match(elem->node.children, ns, name) : NULL;
}

const struct xml_elem *xml_next(const struct xml_elem *elem, const char *ns, const char *name)
{
	return match(elem->node.next, ns, name);
}

const char *xml_attr(const struct xml_elem *elem, const char *name)
{
	const xmlAttr *attr = elem ? elem->node.properties : NULL;

	while (attr && strcmp((const char *)attr->name, name) != 0)
		attr = attr->next;
	if (!attr)
		return NULL;
	return attr->children && attr->children->content ? (const char *)attr->children->content : "";
}

const char *xml_next_attr(const struct xml_elem *elem, const void **attr)
{
	const xmlAttr *next = *attr ? ((const xmlAttr *)*attr)->next : elem->node.properties;

	*attr = next;
	return next ? (const char *)next->name : NULL;
}

#define BLANK " \t\r\n"

/* libxml2 has the attributes in the order of the document, without those that declare a namespace. */
bool xml_find_attr(const struct xml_elem *elem, const char *name, struct xml_place *place)
{
	const xmlAttr *attr = elem->node.properties;
	const char *at = elem->node._private;

	at += strcspn(at, BLANK "/>");
	while (attr) {
		const char *is = (const char *)attr->name, *from = at, *word = at + strspn(at, BLANK), *value;
		size_t n = strcspn(word, BLANK "=/>"), len = strlen(is);

		if (n == 0)
			return false;
		value = word + strcspn(word, "'\"") + 1;
		at = (const char *)rawmemchr(value, value[-1]) + 1;
		if (strncmp(word, "xmlns", 5) == 0 && (n == 5 || (n > 6 && word[5] == ':')))
			continue;
		if (n < len || memcmp(word + n - len, is, len) != 0)
			return false;
		if (strcmp(is, name) == 0) {
			*place = (struct xml_place){ .whole = { from, at }, .value = { value, at - 1 } };
			return true;
		}
		attr = attr->next;
	}
	return true;
}

bool xml_text(const struct xml_elem *elem, char *buf, size_t size)
{
	xmlChar *text = mem_check(lib.xmlNodeGetContent(&elem->node));
	bool fits = text_copy(buf, size, (const char *)text);

	(*lib.xmlFree)(text);
	return fits;
}
