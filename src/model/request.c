/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lookups in a request. */
#include "model/request.h"

#include <string.h>

const struct vgpu_request *request_find(const struct request *request, const char *id)
{
	for (size_t i = 0; i < request->nvgpus; i++)
		if (strcmp(request->vgpus[i].id, id) == 0)
			return &request->vgpus[i];
	return NULL;
}

bool request_names(const struct request *request, const char *id)
{
	const struct vgpu_request *req = request_find(request, id);

	return req && !req->any;
}

bool request_excludes(const struct request *request, const char *id)
{
	return id_among(request->excluded, request->nexcluded, id);
}
