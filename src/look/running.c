/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the running domains and their vGPUs. */
#include "look/running.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/*
 * True if the domain is not being started, migrated, saved or shut down. Only then does a device that is missing from
 * its XML count as detached. The words are libvirt's for virDomainState and virDomainPausedReason.
 */
static bool is_settled(const char *status)
{
	static const char *const pauses[] = { "user", "ioerror", "watchdog", "panicked", "from snapshot" };
	const char *root = strstr(status, "<domstatus ");
	char state[16] = "", reason[32] = "";

	if (!root || sscanf(root, "<domstatus state='%15[a-z]' reason='%31[a-z -]'", state, reason) < 1)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(pauses); i++)
		if (strcmp(state, "paused") == 0 && strcmp(reason, pauses[i]) == 0)
			return true;
	return strcmp(state, "running") == 0 || strcmp(state, "blocked") == 0 || strcmp(state, "pmsuspended") == 0;
}

/* Reduces the text of a status file to its <domain>, the domain's live XML. False: the file has no <domain>. */
static bool narrow(struct libvirt_file *status)
{
	static const char last[] = "</domain>";
	const char *xml = memmem(status->text, status->len, "<domain ", strlen("<domain ")), *end = NULL;
	const char *limit = status->text + status->len;

	for (const char *at = xml; at && (at = memmem(at, (size_t)(limit - at), last, strlen(last))); at = end)
		end = at + strlen(last);
	if (!end)
		return false;
	status->text = xml;
	status->len = (size_t)(end - xml);
	return true;
}

static void read_domain(struct running *running, const struct libvirt_file *status)
{
	static const struct request nothing;
	struct running_domain domain = { .live = *status, .settled = is_settled(status->text) };
	struct err ignored;
	const char *xml;
	size_t len;

	if (!narrow(&domain.live) || !domxml_peek_uuid(domain.uuid, domain.live.text, domain.live.len))
		return;
	xml = domain.live.text;
	len = domain.live.len;
	/* XML without an mdev or PCI hostdev is not parsed. Any PCI hostdev may be a vGPU. */
	if (!domxml_concerns(xml, len) && !domxml_has_pci(xml, len))
		domain.request = &nothing;
	else if (domxml_parse(&domain.doc, xml, len, DOMXML_ALL_PCI, &ignored) == 0)
		domain.request = domxml_request(domain.doc);
	if (memmem(xml, len, DOMXML_SUSPENDED_NS, strlen(DOMXML_SUSPENDED_NS)) &&
	    domxml_parse(&domain.suspended, xml, len, DOMXML_SUSPENDED, &ignored) == 0)
		domain.taken = domxml_request(domain.suspended);
	*(struct running_domain *)mem_add(&running->list, &running->n, sizeof(domain)) = domain;
}

void running_read(struct running *running, const struct libvirt_files *disk)
{
	*running = (struct running){ 0 };
	for (size_t i = 0; i < disk->n; i++)
		if (disk->list[i].runs)
			read_domain(running, &disk->list[i]);
}

void running_free(struct running *running)
{
	for (size_t i = 0; i < running->n; i++) {
		domxml_free(running->list[i].doc);
		domxml_free(running->list[i].suspended);
	}
	free(running->list);
	*running = (struct running){ 0 };
}

const struct running_domain *running_find(const struct running *running, const char *uuid)
{
	return running ? text_find(running->list, running->n, sizeof(*running->list), uuid) : NULL;
}
