/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libvirt as hotplug's test has it, in the place of virt's modules: one domain, whose XML is what was done to it. */
#pragma once

#include "domain/domxml.h"
#include "lib/names.h"
#include "lib/tap.h"
#include "libvirt/virt.h"

static struct fake {
	bool running, saved, lost;
	bool has_a, has_b;
	bool defined_a; /* its definition has A */
	char *record;   /* of a suspend */
	int detach_b, save, start, attach;
	void (*meanwhile)(void); /* done by others, before the first of these fails or ends */
	void (*after_save)(void);
} fake;

static int fail(int code, struct err *err)
{
	if (fake.meanwhile)
		fake.meanwhile();
	fake.meanwhile = NULL;
	fake.lost |= code == ENOTCONN;
	return code ? err_set(err, code, "made up") : 0;
}

static char *domain_xml(unsigned int side)
{
	static const char hostdev[] = "<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source>"
				      "<address uuid='%s'/></source><alias name='%s'/></hostdev>";
	char a[512] = "", b[512] = "", *xml;

	if (side == VIRT_CONFIG ? fake.defined_a : fake.has_a)
		snprintf(a, sizeof(a), hostdev, A, "a");
	if (side == VIRT_LIVE && fake.has_b)
		snprintf(b, sizeof(b), hostdev, B, "b");
	if (asprintf(&xml,
		     "<domain type='kvm'><name>vm1</name><uuid>" VM "</uuid><metadata>%s%s</metadata>"
		     "<devices>%s%s</devices></domain>",
		     fake.record ? "<k:suspended xmlns:k='" DOMXML_SUSPENDED_NS "'" : "",
		     fake.record ? fake.record + strlen("<suspended") : "", a, b) < 0)
		abort();
	return xml;
}

int virt_open(struct virt **out, const char *uri, struct err *err)
{
	*out = (struct virt *)&fake;
	fake.lost = false;
	return 0;
}

void virt_close(struct virt *virt)
{
}

static int reach(struct err *err)
{
	return fake.lost ? err_set(err, ENOTCONN, "the connection is lost") : 0;
}

int virt_find(struct virt *virt, const char *name, struct virt_domain *out, struct err *err)
{
	if (reach(err) < 0)
		return -err->code;
	*out = (struct virt_domain){ .uuid = VM, .running = fake.running, .persistent = true };
	out->name = strdup("vm1");
	out->xml = domain_xml(VIRT_LIVE);
	return 0;
}

void virt_domain_free(struct virt_domain *domain)
{
	free(domain->name);
	free(domain->xml);
	*domain = (struct virt_domain){ 0 };
}

int virt_xml(struct virt *virt, const char *uuid, unsigned int side, char **xml, struct err *err)
{
	*xml = reach(err) < 0 ? NULL : domain_xml(side);
	return *xml ? 0 : -err->code;
}

int virt_saved_xml(struct virt *virt, const char *uuid, char **xml, struct err *err)
{
	*xml = NULL;
	return fake.saved ? virt_xml(virt, uuid, VIRT_CONFIG, xml, err) < 0 ? -err->code : 1 : 0;
}

int virt_change_device(struct virt *virt, const char *uuid, bool attach, const char *xml, unsigned int sides,
		       struct err *err)
{
	if (!attach) {
		fake.defined_a &= sides != VIRT_CONFIG || !strstr(xml, A);
		return reach(err);
	}
	if (reach(err) < 0 || fail(fake.attach, err) < 0)
		return -err->code;
	fake.has_a |= strstr(xml, A) != NULL;
	fake.has_b |= strstr(xml, B) != NULL;
	return 0;
}

int virt_detach_wait(struct virt *virt, const char *uuid, const char *xml, const char *alias, int wait_ms,
		     struct err *err)
{
	if (*alias == 'b' && fake.detach_b)
		return fail(fake.detach_b, err);
	if (*alias == 'b')
		fake.has_b = false;
	else
		fake.has_a = false;
	return fail(0, err);
}

int virt_managed_save(struct virt *virt, const char *uuid, struct err *err)
{
	if (fail(fake.save, err) < 0)
		return -err->code;
	if (fake.after_save)
		fake.after_save();
	return 0;
}

int virt_start(struct virt *virt, const char *uuid, struct err *err)
{
	if (fail(fake.start, err) < 0)
		return -err->code;
	fake.running = true;
	return 0;
}

int virt_set_metadata(struct virt *virt, const char *uuid, const char *ns, const char *key, const char *xml,
		      unsigned int sides, struct err *err)
{
	if (reach(err) < 0)
		return -err->code;
	if (!fake.running)
		return err_set(err, EPERM, "the domain does not run");
	if (strcmp(ns, DOMXML_SUSPENDED_NS) != 0)
		return 0;
	free(fake.record);
	fake.record = xml ? strdup(xml) : NULL;
	return 0;
}
