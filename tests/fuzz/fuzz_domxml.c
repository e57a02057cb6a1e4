/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes for a domain's XML. Where it is one, all its vGPUs get other addresses, and the result is a domain that
 * asks for the same with those; back to the old ones, it is the document that it was, but for the notation of the
 * addresses.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "domxml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "does not hold: %s\n", #condition);                                            \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

static void must_equal(const struct request *a, const struct request *b, const struct domxml_change *changes)
{
	MUST(strcmp(a->uuid, b->uuid) == 0 && strcmp(a->name, b->name) == 0 && strcmp(a->project, b->project) == 0);
	MUST(a->memory_nodes == b->memory_nodes && !a->cpus == !b->cpus && (!a->cpus || strcmp(a->cpus, b->cpus) == 0));
	MUST(a->nwants == b->nwants);
	for (size_t i = 0; i < a->nwants; i++) {
		const struct want x = a->wants[i], y = b->wants[i];

		MUST(strcmp(y.id, changes[i].id) == 0);
		MUST(y.placeholder == (y.kind == WANT_MDEV && uuid_is_placeholder(y.id)));
		MUST(x.kind == y.kind && x.has_metadata == y.has_metadata && x.has_params == y.has_params);
		MUST(x.has_placement == y.has_placement && x.placement == y.placement && x.numa == y.numa &&
		     x.numa_node == y.numa_node);
		MUST(strcmp(x.type, y.type) == 0 && strcmp(x.params, y.params) == 0);
		MUST(strcmp(x.source_name, y.source_name) == 0 && strcmp(x.source_framework, y.source_framework) == 0);
		MUST(strcmp(x.source_model, y.source_model) == 0 && strcmp(x.source_driver, y.source_driver) == 0);
	}
}

/* An address for each want; `fresh` ones are nobody else's, unless the input was made to have just those. */
static void choose(const struct request *request, bool fresh, struct domxml_change *changes)
{
	for (size_t i = 0; i < request->nwants; i++) {
		const struct want *want = &request->wants[i];

		changes[i] = (struct domxml_change){ .want = i };
		if (!fresh)
			snprintf(changes[i].id, ID_SIZE, "%s", want->id);
		else if (want->kind == WANT_MDEV)
			snprintf(changes[i].id, ID_SIZE, "5ce1f0e2-9b7d-4c3a-8f60-a1b2c3d4e5%02x", (unsigned char)i);
		else
			snprintf(changes[i].id, ID_SIZE, "fade:%02x:1d.3", (unsigned char)i);
	}
}

static void edit(const struct domxml *doc, const char *data, size_t size, unsigned int flags)
{
	const struct request *request = domxml_request(doc);
	struct domxml_change there[WANT_MAX], back[WANT_MAX];
	char *same = NULL, *edited = NULL, *again = NULL;
	size_t same_len, edited_len, again_len;
	struct domxml *second = NULL;
	struct err err;

	choose(request, true, there);
	choose(request, false, back);
	MUST(domxml_rewrite(doc, NULL, 0, &same, &same_len, &err) == 0);
	MUST(same_len == size && memcmp(same, data, size) == 0);
	free(steal_ptr(&same));

	/* An address that lacks a number is not rewritten; else both ways work, or neither. */
	if (domxml_rewrite(doc, back, request->nwants, &same, &same_len, &err) == 0 &&
	    domxml_rewrite(doc, there, request->nwants, &edited, &edited_len, &err) == 0) {
		MUST(domxml_parse(&second, edited, edited_len, flags, &err) == 0);
		must_equal(request, domxml_request(second), there);
		MUST(domxml_rewrite(second, back, request->nwants, &again, &again_len, &err) == 0);
		MUST(again_len == same_len && memcmp(again, same, same_len) == 0);
	}
	domxml_free(second);
	free(same);
	free(edited);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The first byte says how it is parsed. */
	unsigned int flags = size ? data[0] % 8 : 0;
	const char *xml = (const char *)data + (size > 0);
	size_t len = size - (size > 0);
	struct domxml *doc = NULL;
	struct err err = { 0 };

	domxml_concerns(xml, len);
	if (domxml_parse(&doc, xml, len, flags, &err) == 0)
		edit(doc, xml, len, flags);
	else
		MUST(err.code > 0 && err.text[0]);
	domxml_free(doc);
	return 0;
}
