/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words for frameworks and types; lookups in a request. */
#include "model/vgpu.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"

bool type_is_named(const char *name, const char *word)
{
	static const char *const brands[] = { "GRID ", "NVIDIA " };

	if (strcmp(name, word) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(brands); i++)
		if (strncmp(name, brands[i], strlen(brands[i])) == 0)
			return strcmp(name + strlen(brands[i]), word) == 0;
	return false;
}

bool type_has_driver_of(const char *type, const char *other)
{
	size_t len = strcspn(type, "-");

	return len == strcspn(other, "-") && strncmp(type, other, len) == 0;
}

const char *const framework_words[FW_VF + 1] = { "mdev", "variant", "vf" };

bool request_has(const struct request *request, enum vgpu_request_kind kind)
{
	for (size_t i = 0; i < request->nvgpus; i++)
		if (request->vgpus[i].kind == kind)
			return true;
	return false;
}

const struct vgpu_request *request_find(const struct request *request, const char *id)
{
	return text_find(request->vgpus, request->nvgpus, sizeof(*request->vgpus), id);
}

bool request_names(const struct request *request, const char *id)
{
	const struct vgpu_request *req = request_find(request, id);

	return req && !req->any;
}

bool request_excludes(const struct request *request, const char *id)
{
	return text_find(request->excluded, request->nexcluded, ID_SIZE, id);
}
