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

int lease_format(const struct lease *l, char *buf, size_t size)
{
	char name[3 * DOMAIN_NAME_SIZE + 1], project[3 * PROJECT_SIZE + 1], instance[3 * INSTANCE_SIZE + 1];
	int n;

	encode(name, sizeof(name), l->name);
	encode(project, sizeof(project), l->project);
	encode(instance, sizeof(instance), l->instance);
	n = snprintf(buf, size,
		     LEASE_MAGIC "\nid=%s\ndomain=%s\nname=%s\nproject=%s\ntype=%s\nparent=%s\npgpu=%s\nframework=%s\n"
				 "state=%s\norigin=%s\nnuma=%d\nframebuffer_mib=%d\nsince_ms=%" PRId64
				 "\ndeadline_ms=%" PRId64 "\nwriter=%d\nwriter_start=%" PRIu64
				 "\ninstance=%s\nboot=%s\nend\n",
		     l->vgpu.id, l->domain, name, project, l->vgpu.type, l->vgpu.parent, l->vgpu.pgpu,
		     framework_words[l->vgpu.framework], lease_state_words[l->state], lease_origin_words[l->origin],
		     l->numa, l->framebuffer_mib, l->since_ms, l->deadline_ms, (int)l->writer, l->writer_start,
		     instance, l->boot);
	return n < 0 || (size_t)n >= size ? -ENOSPC : n;
}

/* Reads the line "key=value" at *text into `value` and advances *text past it. */
static bool field(const char **text, const char *key, char *value, size_t size)
{
	size_t klen = strlen(key), len = strcspn(*text, "\n");

	if (len <= klen || strncmp(*text, key, klen) != 0 || (*text)[klen] != '=' || len - klen - 1 >= size ||
	    (*text)[len] != '\n')
		return false;
	memcpy(value, *text + klen + 1, len - klen - 1);
	value[len - klen - 1] = '\0';
	*text += len + 1;
	return true;
}

static bool word(const char **text, const char *key, const char *const *words, int nwords, int *out)
{
	char value[32];

	if (!field(text, key, value, sizeof(value)))
		return false;
	for (*out = 0; *out < nwords; (*out)++)
		if (strcmp(value, words[*out]) == 0)
			return true;
	return false;
}

static bool number(const char **text, const char *key, int64_t min, int64_t *out)
{
	char value[32];
	long n;

	if (!field(text, key, value, sizeof(value)) || !text_number(value, min, INT64_MAX, &n))
		return false;
	*out = n;
	return true;
}

static bool encoded(const char **text, const char *key, char *out, size_t size)
{
	char value[3 * DOMAIN_NAME_SIZE + 1];

	return field(text, key, value, sizeof(value)) && decode(out, size, value);
}

/* A key that was added after the first version. If it is missing, `out` is "". */
static bool added(const char **text, const char *key, char *out, size_t size)
{
	size_t klen = strlen(key);

	out[0] = '\0';
	return strncmp(*text, key, klen) != 0 || (*text)[klen] != '=' || encoded(text, key, out, size);
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
	char id[ID_SIZE], domain[UUID_SIZE], type[TYPE_SIZE], parent[PARENT_SIZE], pgpu[PARENT_SIZE];
	int64_t numa, framebuffer, writer, start;
	int framework, state, origin;
	char boot[UUID_SIZE];

	*l = (struct lease){ 0 };
	if (is_later(text))
		return -EPROTONOSUPPORT;
	if (strncmp(text, LEASE_MAGIC "\n", sizeof(LEASE_MAGIC)) != 0)
		return -EINVAL;
	text += sizeof(LEASE_MAGIC);
	if (!field(&text, "id", id, sizeof(id)) || !id_parse(l->vgpu.id, id) ||
	    !field(&text, "domain", domain, sizeof(domain)) || !uuid_parse(l->domain, domain) ||
	    !encoded(&text, "name", l->name, sizeof(l->name)) ||
	    !encoded(&text, "project", l->project, sizeof(l->project)) || !field(&text, "type", type, sizeof(type)) ||
	    !type_parse(l->vgpu.type, type) || !field(&text, "parent", parent, sizeof(parent)) ||
	    !parent_parse(l->vgpu.parent, parent) || !field(&text, "pgpu", pgpu, sizeof(pgpu)) ||
	    !parent_parse(l->vgpu.pgpu, pgpu) || !word(&text, "framework", framework_words, 3, &framework) ||
	    !word(&text, "state", lease_state_words, 4, &state) ||
	    !word(&text, "origin", lease_origin_words, 2, &origin) || !number(&text, "numa", UNKNOWN, &numa) ||
	    !number(&text, "framebuffer_mib", UNKNOWN, &framebuffer) || !number(&text, "since_ms", 0, &l->since_ms) ||
	    !number(&text, "deadline_ms", 0, &l->deadline_ms) || !number(&text, "writer", 0, &writer) ||
	    !number(&text, "writer_start", 0, &start) || !added(&text, "instance", l->instance, sizeof(l->instance)) ||
	    !added(&text, "boot", boot, sizeof(boot)) || (*boot && !uuid_parse(l->boot, boot)) ||
	    strcmp(skip_added(text), "end") != 0)
		return -EINVAL;
	if (numa > 1023 || framebuffer > INT32_MAX || writer > INT32_MAX)
		return -EINVAL;
	l->vgpu.framework = (enum framework)framework;
	l->state = (enum lease_state)state;
	l->origin = (enum lease_origin)origin;
	l->numa = (int)numa;
	l->framebuffer_mib = (int)framebuffer;
	l->writer = (pid_t)writer;
	l->writer_start = (uint64_t)start;
	return 0;
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

const char *lease_holder(char buf[HOLDER_SIZE], const struct lease *lease)
{
	char name[101];

	text_cut(name, sizeof(name), lease->instance);
	snprintf(buf, HOLDER_SIZE, "%s%s%s", name, *name ? ", " : "", lease->domain);
	return buf;
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

bool lease_releases_none(const struct lease *lease)
{
	return lease->state == LEASE_RELEASING && lease->origin == LEASE_ADOPTED && lease->vgpu.framework != FW_VF;
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
