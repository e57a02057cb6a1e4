/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replacing the placeholders in a domain's definition through libvirt. */
#include "live/rewrite_live.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"

/*
 * libvirt replaces a definition unconditionally, so this first checks that nobody has edited it since it was read. An
 * edit in the moment between the two is still lost.
 */
static int define_if_same(struct virt *virt, const struct virt_domain *domain, const struct rewrite *r, struct err *err)
{
	autofree char *now = NULL;

	if (virt_xml(virt, domain->uuid, VIRT_CONFIG, &now, err) < 0)
		return -err->code;
	if (strcmp(now, r->xml) != 0)
		return err_set(
			err, ESTALE,
			"domain %s: not changed, because its definition was edited meanwhile; run this command again",
			domain->name);
	return virt_define(virt, r->rewritten, err);
}

int rewrite_live(struct rewrite *r, char **xml, struct virt *virt, const struct virt_domain *domain,
		 const struct config *config, struct err *err)
{
	if (!domain->persistent)
		return err_set(err, EPERM, "domain %s: transient, so it has no definition to change", domain->name);
	if (virt_xml(virt, domain->uuid, VIRT_CONFIG, xml, err) < 0)
		return -err->code;
	r->xml = *xml;
	r->len = strlen(*xml);
	if (rewrite_definition(r, config, err) < 0)
		return err_in(err, "domain %s", domain->name);
	return r->nchanges ? define_if_same(virt, domain, r, err) : 0;
}
