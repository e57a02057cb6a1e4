/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A lease as text: a line that names the format, then "key=value" lines in a fixed order. Values are percent-encoded,
 * so that a domain's name with any character is on one line.
 *
 * A later version adds its keys before "end". Earlier versions skip added keys, and drop them when they rewrite the
 * lease. A version that changes the meaning of a key also changes the number in the first line, so that earlier
 * versions leave the lease alone.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/lease.h"
#include "base/mem.h"
#include "base/text.h"

#define LEASE_NAME "vgpu-lease "
#define LEASE_MAGIC LEASE_NAME "1"

const char *const lease_state_words[LEASE_RELEASING + 1] = { "reserved", "creating", "active", "releasing" };
const char *const lease_origin_words[LEASE_ADOPTED + 1] = { "created", "adopted" };

bool lease_is_of(const struct lease *lease, const char *domain)
{
	char uuid[UUID_SIZE];

	return uuid_parse(uuid, domain) ? strcmp(uuid, lease->domain) == 0 : strcmp(domain, lease->name) == 0;
}

static void encode(char *dst, size_t size, const char *src)
{
	size_t n = 0;

	for (; *src && n + 4 < size; src++) {
		unsigned char c = (unsigned char)*src;

		if (c < 0x20 || c == '%' || c == 0x7f)
			n += (size_t)snprintf(dst + n, size - n, "%%%02x", c);
		else
			dst[n++] = (char)c;
	}
	dst[n] = '\0';
}

static bool decode(char *dst, size_t size, const char *src)
{
	size_t n = 0;

	for (; *src; src++) {
		unsigned int c = (unsigned char)*src;

		if (c < 0x20 || n + 1 >= size)
			return false;
		if (c == '%') {
			if (!isxdigit((unsigned char)src[1]) || !isxdigit((unsigned char)src[2]) ||
			    sscanf(src + 1, "%2x", &c) != 1 || c == 0)
				return false;
			src += 2;
		}
		dst[n++] = (char)c;
	}
	dst[n] = '\0';
	return true;
}

struct key {
	const char *name;
	size_t offset, size;                        /* of the member of struct lease */
	bool (*parse)(char *out, const char *text); /* of a text; NULL: any text, percent-encoded */
	bool added;                                 /* after the first version: "" if the key is missing */
	const char *const *words;                   /* of an enum */
	int64_t min, max;                           /* of a number or enum; 0: a text */
};

#define MEMBER(member) .offset = offsetof(struct lease, member), .size = sizeof(((struct lease *)NULL)->member)

/* In the order of the lines. */
static const struct key keys[] = {
	{ "id", MEMBER(vgpu.id), .parse = id_parse },
	{ "domain", MEMBER(domain), .parse = uuid_parse },
	{ "name", MEMBER(name) },
	{ "project", MEMBER(project) },
	{ "type", MEMBER(vgpu.type), .parse = type_parse },
	{ "parent", MEMBER(vgpu.parent), .parse = parent_parse },
	{ "pgpu", MEMBER(vgpu.pgpu), .parse = parent_parse },
	{ "framework", MEMBER(vgpu.framework), .words = framework_words, .max = 2 },
	{ "state", MEMBER(state), .words = lease_state_words, .max = LEASE_RELEASING },
	{ "origin", MEMBER(origin), .words = lease_origin_words, .max = LEASE_ADOPTED },
	{ "numa", MEMBER(numa), .min = UNKNOWN, .max = 1023 },
	{ "framebuffer_mib", MEMBER(framebuffer_mib), .min = UNKNOWN, .max = INT32_MAX },
	{ "since_ms", MEMBER(since_ms), .max = INT64_MAX },
	{ "deadline_ms", MEMBER(deadline_ms), .max = INT64_MAX },
	{ "writer", MEMBER(writer), .max = INT32_MAX },
	{ "writer_start", MEMBER(writer_start), .max = INT64_MAX },
	{ "instance", MEMBER(instance), .added = true },
	{ "boot", MEMBER(boot), .parse = uuid_parse, .added = true },
	{ "node", MEMBER(node), .max = INT64_MAX, .added = true },
};

enum { NKEYS = sizeof(keys) / sizeof(*keys), VALUE_SIZE = 3 * DOMAIN_NAME_SIZE + 1 };

static int64_t number_of(const void *member, size_t size)
{
	return size == sizeof(int64_t) ? *(const int64_t *)member : *(const int32_t *)member;
}

int lease_format(const struct lease *l, char *buf, size_t size)
{
	size_t len = (size_t)snprintf(buf, size, LEASE_MAGIC "\n");

	for (int i = 0; i < NKEYS && len < size; i++) {
		const struct key *key = &keys[i];
		const void *member = (const char *)l + key->offset;
		char value[VALUE_SIZE];

		if (!key->max)
			encode(value, sizeof(value), member);
		else if (key->words)
			snprintf(value, sizeof(value), "%s", key->words[number_of(member, key->size)]);
		else
			snprintf(value, sizeof(value), "%" PRId64, number_of(member, key->size));
		len += (size_t)snprintf(buf + len, size - len, "%s=%s\n", key->name, value);
	}
	if (len < size)
		len += (size_t)snprintf(buf + len, size - len, "end\n");
	return len < size ? (int)len : -ENOSPC;
}

static bool parse_value(void *member, const struct key *key, const char *value)
{
	long n = 0;

	if (!key->max)
		return (key->added && !*value) ||
		       (key->parse ? key->parse(member, value) : decode(member, key->size, value));
	if (!key->words && !text_number(value, key->min, key->max, &n))
		return false;
	while (key->words && n <= key->max && strcmp(value, key->words[n]) != 0)
		n++;
	if (key->size == sizeof(int64_t))
		*(int64_t *)member = n;
	else
		*(int32_t *)member = (int32_t)n;
	return n <= key->max;
}

/* Reads the line of the key at *text, and advances *text past it. */
static bool parse_line(struct lease *l, const struct key *key, const char **text)
{
	size_t klen = strlen(key->name), len = strcspn(*text, "\n");
	char value[VALUE_SIZE];

	if (strncmp(*text, key->name, klen) != 0 || (*text)[klen] != '=')
		return key->added;
	if (len - klen - 1 >= sizeof(value) || (*text)[len] != '\n')
		return false;
	snprintf(value, sizeof(value), "%.*s", (int)(len - klen - 1), *text + klen + 1);
	*text += len + 1;
	return parse_value((char *)l + key->offset, key, value);
}

static bool is_later(const char *text)
{
	char line[24];
	long version;

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	return strncmp(line, LEASE_NAME, strlen(LEASE_NAME)) == 0 &&
	       text_number(line + strlen(LEASE_NAME), 2, INT32_MAX, &version);
}

static const char *skip_added(const char *text)
{
	for (;;) {
		size_t key = strspn(text, "abcdefghijklmnopqrstuvwxyz_"), len = strcspn(text, "\n");

		if (key == 0 || text[key] != '=' || text[len] != '\n')
			return text;
		text += len + 1;
	}
}

int lease_parse(struct lease *l, const char *text)
{
	*l = (struct lease){ 0 };
	if (is_later(text))
		return -EPROTONOSUPPORT;
	if (strncmp(text, LEASE_MAGIC "\n", sizeof(LEASE_MAGIC)) != 0)
		return -EINVAL;
	text += sizeof(LEASE_MAGIC);
	for (int i = 0; i < NKEYS; i++)
		if (!parse_line(l, &keys[i], &text))
			return -EINVAL;
	return strcmp(skip_added(text), "end") == 0 ? 0 : -EINVAL;
}

struct lease lease_for(const struct request *request, const struct vgpu_ref *vgpu)
{
	struct lease lease = { .vgpu = *vgpu };

	memcpy(lease.domain, request->uuid, sizeof(lease.domain));
	memcpy(lease.name, request->name, sizeof(lease.name));
	memcpy(lease.project, request->project, sizeof(lease.project));
	memcpy(lease.instance, request->instance, sizeof(lease.instance));
	return lease;
}

bool lease_is_void(const struct lease *lease, bool exists, bool at_work, int64_t now_ms)
{
	if (lease->state == LEASE_RESERVED)
		return lease->deadline_ms < now_ms;
	return lease->state == LEASE_CREATING && !at_work && (!exists || lease->vgpu.framework == FW_VF);
}

bool lease_same(const struct lease *a, const struct lease *b)
{
	if (!a || !b)
		return a == b;
	return strcmp(a->vgpu.id, b->vgpu.id) == 0 && strcmp(a->domain, b->domain) == 0 && a->state == b->state &&
	       a->since_ms == b->since_ms && a->writer == b->writer && a->writer_start == b->writer_start;
}

void lease_list_free(struct leases *leases)
{
	free(leases->list);
	*leases = (struct leases){ 0 };
}

struct lease *lease_find(const struct leases *leases, const char *id)
{
	return leases->n ? bsearch(id, leases->list, leases->n, sizeof(*leases->list), text_order) : NULL;
}

bool lease_is_among(const struct leases *leases, const struct lease *lease)
{
	return lease_same(lease_find(leases, lease->vgpu.id), lease);
}

void lease_add(struct leases *leases, const struct lease *lease)
{
	*(struct lease *)mem_add(&leases->list, &leases->n, sizeof(*lease)) = *lease;
}

enum owner owner_of(const struct owner_facts *facts)
{
	if (facts->framework == FW_MDEV && facts->nova)
		return OWNER_NOVA;
	if (facts->framework == FW_MDEV && facts->defined)
		return OWNER_MDEVCTL;
	return facts->created ? OWNER_HOOK : OWNER_OTHER;
}

enum lease_origin owner_origin(enum owner owner)
{
	return owner == OWNER_HOOK ? LEASE_CREATED : LEASE_ADOPTED;
}

const char *const owner_words[OWNER_OTHER + 1] = { "vgpu-lease", "nova", "mdevctl", NULL };

const char *owner_why_kept(enum owner owner)
{
	if (owner == OWNER_NOVA)
		return "the domain is a Nova instance";
	return owner == OWNER_MDEVCTL ? "it has an mdevctl definition" : NULL;
}
