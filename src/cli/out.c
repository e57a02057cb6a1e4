/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the commands print alike. */
#include "cli/out.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "base/auto.h"
#include "base/text.h"

void out_say(const char *fmt, ...)
{
	autofree char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	autofree char *safe = n < 0 ? NULL : malloc(4 * (size_t)n + 1); /* each byte can become \xNN */
	if (!safe)
		abort();
	text_safe(safe, 4 * (size_t)n + 1, text);
	puts(safe);
}

void out_warn(const char *fmt, ...)
{
	struct err err = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err.text, sizeof(err.text), fmt, ap);
	va_end(ap);
	err_print(stderr, "vgpu-lease: warning", &err);
}

void out_wall_time(char out[32], int64_t boot_ms)
{
	int64_t ago_ms = host_now_ms() - boot_ms;
	struct timespec now;
	struct tm tm;
	time_t then;

	clock_gettime(CLOCK_REALTIME, &now);
	then = now.tv_sec - (time_t)((ago_ms - now.tv_nsec / 1000000 + 999) / 1000);
	gmtime_r(&then, &tm);
	strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void out_json_vgpu(struct json_out *json, const struct vgpu_ref *vgpu)
{
	json_out_string(json, "id", vgpu->id);
	json_out_text(json, "type", vgpu->type);
	json_out_string(json, "framework", framework_word(vgpu->framework));
	json_out_text(json, "parent", vgpu->parent);
	json_out_text(json, "pgpu", vgpu->pgpu);
}

void out_json_lease(struct json_out *json, const struct lease *lease)
{
	json_out_string(json, "state", lease ? lease_state_word(lease->state) : NULL);
	if (lease)
		out_json_domain(json, lease->domain, lease->name);
	else
		json_out_string(json, "domain", NULL);
}

void out_json_domain(struct json_out *json, const char *uuid, const char *name)
{
	json_out_object(json, "domain");
	json_out_text(json, "uuid", uuid);
	json_out_string(json, "name", name);
	json_out_close(json);
}

void out_json_count(struct json_out *json, const struct capacity_count *count)
{
	json_out_number(json, "capacity", count->capacity);
	json_out_number(json, "used", count->used);
	json_out_number(json, "available", count->available);
}

void out_table_count(struct table *table, const struct capacity_count *count)
{
	table_number(table, count->capacity);
	table_number(table, count->used);
	table_number(table, count->available);
}

const char *out_class(const struct config *config, const char *type)
{
	const struct section *section = config_section(config, type);

	return section ? section->class : NULL;
}

void out_json_type(struct json_out *json, const struct inv_type *type, const struct config *config)
{
	json_out_string(json, "id", type->id);
	json_out_string(json, "name", type->name);
	json_out_string(json, "class", out_class(config, type->id));
	json_out_known(json, "framebuffer_mib", type->framebuffer_mib);
	json_out_known(json, "heads", type->heads);
	json_out_text(json, "resolution", type->resolution);
}
