/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events and their fields in the journal. */
#include "model/event.h"

#include <syslog.h>

#include "base/mem.h"
#include "sys/log.h"

enum { IDS_MAX = 16, FIELDS = 8 };

static const struct {
	const char *word, *message_id;
	int priority;
} events[] = {
	[EVENT_CREATED] = { "created", "4937d79a605d46fba2970e75b29a4190", LOG_INFO },
	[EVENT_ADOPTED] = { "adopted", "3c4f0e3739074b80ad2e47b2bf5035ff", LOG_INFO },
	[EVENT_RESERVED] = { "reserved", "3852da845a214b14a645c1f8bdbaf238", LOG_INFO },
	[EVENT_RESTORED] = { "restored", "29f1c25cbb5a4777adabda142d3e5e2e", LOG_INFO },
	[EVENT_REFUSED] = { "refused", "4a1fcb214c194dd7a3dbf1280e8602b5", LOG_WARNING },
	[EVENT_FAILED] = { "failed", "a21c5af02aba468db1bd0954a61c3d3f", LOG_WARNING },
	[EVENT_RELEASED] = { "released", "aeaa00f53cf640bcbd658b8123ff3e05", LOG_INFO },
	[EVENT_DELAYED] = { "delayed", "979a1db8476d4095b66dcee51550fd06", LOG_WARNING },
	[EVENT_RECLAIMED] = { "reclaimed", "4ef7508565b4497aa087405005eff846", LOG_INFO },
	[EVENT_DECIDED] = { NULL, NULL, LOG_DEBUG },
};

_Static_assert(ARRAY_SIZE(events) == EVENT_DECIDED + 1, "an event has no MESSAGE_ID");

const char *event_word(enum event event)
{
	return events[event].word;
}

struct event_about event_of(const struct lease *lease)
{
	return (struct event_about){ .vgpu = &lease->vgpu, .domain = lease->domain, .name = lease->name };
}

struct event_about event_for(const struct request *request, const struct vgpu_ref *vgpu)
{
	return (struct event_about){ .vgpu = vgpu, .domain = request->uuid, .name = request->name };
}

void event_log(enum event event, struct event_about about, const char *fmt, ...)
{
	struct log_field fields[FIELDS + IDS_MAX] = {
		{ "MESSAGE_ID", events[event].message_id },
		{ "VGPU_LEASE_EVENT", events[event].word },
		{ "VGPU_LEASE_REASON", about.reason },
		{ "DOMAIN_UUID", about.domain },
		{ "DOMAIN_NAME", about.name },
	};
	size_t n = 5;
	va_list ap;

	if (about.vgpu) {
		fields[n++] = (struct log_field){ "VGPU_LEASE_ID", about.vgpu->id };
		fields[n++] = (struct log_field){ "VGPU_LEASE_TYPE", about.vgpu->type };
		fields[n++] = (struct log_field){ "PGPU", about.vgpu->pgpu };
	}
	/* A journal field can have several values. */
	for (size_t i = 0; about.asked && i < about.asked->nvgpus && i < IDS_MAX - 1; i++)
		fields[n++] = (struct log_field){ "VGPU_LEASE_ID", about.asked->vgpus[i].id };
	va_start(ap, fmt);
	log_fields(fields, events[event].priority, fmt, ap);
	va_end(ap);
}
