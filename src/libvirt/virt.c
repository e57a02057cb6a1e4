/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libvirt, loaded at run time: its errors, the connection, domains, and the wait for a device to be detached. */
#include "libvirt/virt.h"

#include <dlfcn.h>
#include <errno.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sys/sys.h"

enum { KEEPALIVE_S = 5, KEEPALIVE_COUNT = 5, POLL_MS = 100 };

/* The functions of libvirt that are called, with the types of its headers. All versions since 3.7 have them. */
#define VIRT_SYMBOLS(S)                                                                                                \
	S(virInitialize)                                                                                               \
	S(virGetLastError)                                                                                             \
	S(virSetErrorFunc)                                                                                             \
	S(virEventRegisterDefaultImpl)                                                                                 \
	S(virConnectOpen)                                                                                              \
	S(virConnectClose)                                                                                             \
	S(virConnectSetKeepAlive)                                                                                      \
	S(virConnectListAllDomains)                                                                                    \
	S(virDomainLookupByName)                                                                                       \
	S(virDomainLookupByUUIDString)                                                                                 \
	S(virDomainFree)                                                                                               \
	S(virDomainGetName)                                                                                            \
	S(virDomainGetUUIDString)                                                                                      \
	S(virDomainIsActive)                                                                                           \
	S(virDomainIsPersistent)                                                                                       \
	S(virDomainGetXMLDesc)                                                                                         \
	S(virDomainDefineXMLFlags)                                                                                     \
	S(virDomainAttachDeviceFlags)                                                                                  \
	S(virDomainDetachDeviceFlags)                                                                                  \
	S(virDomainManagedSave)                                                                                        \
	S(virDomainHasManagedSaveImage)                                                                                \
	S(virDomainManagedSaveGetXMLDesc)                                                                              \
	S(virDomainCreate)                                                                                             \
	S(virDomainSetMetadata)

static struct {
	void *handle;
#define MEMBER(name) __typeof__(name) *(name);
	VIRT_SYMBOLS(MEMBER)
#undef MEMBER
} lib;

struct virt {
	virConnectPtr conn;
};

/* Returns the first missing function, or NULL. */
static const char *find_symbols(void)
{
#define SYMBOL(name)                                                                                                   \
	*(void **)&lib.name = dlsym(lib.handle, #name);                                                                \
	if (!lib.name)                                                                                                 \
		return #name;
	VIRT_SYMBOLS(SYMBOL)
#undef SYMBOL
	return NULL;
}

/* Replaces libvirt's default handler, which prints each error on standard error. */
static void keep_quiet(void *arg, virErrorPtr error)
{
	(void)arg, (void)error;
}

static int code_of(const virError *error)
{
	static const struct {
		int error, code;
	} codes[] = {
		{ VIR_ERR_NO_DOMAIN, ENOENT },        { VIR_ERR_OPERATION_TIMEOUT, EBUSY },
		{ VIR_ERR_RESOURCE_BUSY, EBUSY },     { VIR_ERR_OPERATION_INVALID, EPERM },
		{ VIR_ERR_AUTH_FAILED, EACCES },      { VIR_ERR_AUTH_CANCELLED, EACCES },
		{ VIR_ERR_AUTH_UNAVAILABLE, EACCES }, { VIR_ERR_ACCESS_DENIED, EACCES },
		{ VIR_ERR_NO_CONNECT, ENOTCONN },     { VIR_ERR_INVALID_CONN, ENOTCONN },
		{ VIR_ERR_NO_SUPPORT, EIO },
	};
	bool any = error->code == VIR_ERR_SYSTEM_ERROR || error->code == VIR_ERR_INTERNAL_ERROR;

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (error->code == codes[i].error)
			return codes[i].code;
	/* Errors of the RPC mean that the socket broke, or that the server closed it. */
	return error->domain == VIR_FROM_RPC || (any && error->domain == VIR_FROM_REMOTE) ? ENOTCONN : EIO;
}

/* Sets `err` to libvirt's last error, with a code of virt.h. Returns `err`. */
static struct err *libvirt_says(struct err *err)
{
	const virError *error = lib.virGetLastError();

	err_set(err, error ? code_of(error) : EIO, "libvirt says: %s",
		error && error->message ? error->message : "unknown error");
	return err;
}

/* Loads libvirt and sets up its event loop, which must precede a connection. Repeated calls do nothing. */
static int init(struct err *err)
{
	const char *missing;

	if (lib.handle)
		return 0;
	lib.handle = dlopen(VIRT_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!lib.handle)
		return err_set(err, ELIBACC, "cannot load libvirt's library (%s); install libvirt", dlerror());
	missing = find_symbols();
	if (missing) {
		dlclose(steal_ptr(&lib.handle));
		return err_set(err, ELIBACC, "%s has no %s; install libvirt 9.0 or later", VIRT_SONAME, missing);
	}
	lib.virSetErrorFunc(NULL, keep_quiet);
	if (lib.virInitialize() == 0 && lib.virEventRegisterDefaultImpl() == 0)
		return 0;
	lib.handle = NULL;
	return err_in(libvirt_says(err), "cannot initialize libvirt's library");
}

int virt_open(struct virt **out, const char *uri, struct err *err)
{
	virConnectPtr conn;

	*out = NULL;
	if (init(err) < 0)
		return -err->code;
	uri = uri ? uri : VIRT_DEFAULT_URI;
	conn = lib.virConnectOpen(uri);
	if (!conn)
		return err_in(libvirt_says(err), "%s: cannot connect; check that libvirtd or virtqemud is running",
			      uri);
	/* Ignore a failure, because libvirt's drivers without a server do not support keepalives. */
	lib.virConnectSetKeepAlive(conn, KEEPALIVE_S, KEEPALIVE_COUNT);
	*out = mem_new(1, sizeof(**out));
	(*out)->conn = conn;
	return 0;
}

void virt_close(struct virt *virt)
{
	if (!virt)
		return;
	lib.virConnectClose(virt->conn);
	free(virt);
}

static void free_domain(virDomainPtr *domain)
{
	if (*domain)
		lib.virDomainFree(*domain);
}

#define autodomain __attribute__((cleanup(free_domain)))

_Static_assert(UUID_SIZE == VIR_UUID_STRING_BUFLEN, "libvirt writes its UUIDs to our buffers");

static virDomainPtr lookup(struct virt *virt, const char *uuid, struct err *err)
{
	virDomainPtr domain = lib.virDomainLookupByUUIDString(virt->conn, uuid);

	if (!domain)
		err_in(libvirt_says(err), "domain %s", uuid);
	return domain;
}

/* Sets the error of an operation on `domain`. If `domain` is NULL, keeps the error that lookup() has set. */
static int failed(virDomainPtr domain, const char *what, struct err *err)
{
	const char *name;

	if (!domain)
		return -err->code;
	libvirt_says(err);
	name = lib.virDomainGetName(domain); /* resets libvirt's last error */
	return err_in(err, "domain %s: %s", name ? name : "?", what);
}

void virt_domain_free(struct virt_domain *domain)
{
	free(domain->name);
	free(domain->xml);
	*domain = (struct virt_domain){ 0 };
}

static unsigned int xml_flags(unsigned int side)
{
	return side == VIRT_CONFIG ? VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE : 0;
}

/* Skips a domain that has disappeared meanwhile. */
static int print_xml(FILE *to, virDomainPtr domain, struct err *err)
{
	for (unsigned int side = VIRT_LIVE; side <= VIRT_CONFIG; side <<= 1) {
		autofree char *xml = lib.virDomainGetXMLDesc(domain, xml_flags(side));

		if (!xml)
			return failed(domain, "cannot read its XML", err) == -ENOENT ? 0 : -err->code;
		fputs(xml, to);
	}
	return 0;
}

int virt_all_xml(struct virt *virt, char **xml, struct err *err)
{
	virDomainPtr *domains = NULL;
	int r = 0, found = lib.virConnectListAllDomains(virt->conn, &domains, 0);
	size_t len;
	FILE *to = mem_open(xml, &len);

	if (found < 0)
		r = err_in(libvirt_says(err), "cannot list the domains");
	for (int i = 0; i < found; i++) {
		if (r == 0)
			r = print_xml(to, domains[i], err);
		lib.virDomainFree(domains[i]);
	}
	free(domains);
	mem_close(to);
	return r;
}

int virt_find(struct virt *virt, const char *name_or_uuid, struct virt_domain *out, struct err *err)
{
	char uuid[UUID_SIZE];
	/* A UUID comes first, because the name of a domain can equal the UUID of another. */
	autodomain virDomainPtr domain = uuid_parse(uuid, name_or_uuid)
						 ? lib.virDomainLookupByUUIDString(virt->conn, uuid)
						 : lib.virDomainLookupByName(virt->conn, name_or_uuid);
	const char *name = domain ? lib.virDomainGetName(domain) : NULL;
	int active, persistent;

	*out = (struct virt_domain){ 0 };
	if (!domain)
		return err_in(libvirt_says(err), "domain %s", name_or_uuid);
	active = lib.virDomainIsActive(domain);
	persistent = lib.virDomainIsPersistent(domain);
	if (!name || active < 0 || persistent < 0 || lib.virDomainGetUUIDString(domain, out->uuid) < 0)
		return failed(domain, "cannot read its state", err);
	out->running = active;
	out->persistent = persistent;
	out->xml = lib.virDomainGetXMLDesc(domain, 0);
	if (!out->xml)
		return failed(domain, "cannot read its XML", err);
	out->name = mem_strdup(name);
	return 0;
}

int virt_xml(struct virt *virt, const char *uuid, unsigned int side, char **xml, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	*xml = domain ? lib.virDomainGetXMLDesc(domain, xml_flags(side)) : NULL;
	return *xml ? 0 : failed(domain, "cannot read its XML", err);
}

int virt_define(struct virt *virt, const char *xml, struct err *err)
{
	autodomain virDomainPtr domain = lib.virDomainDefineXMLFlags(virt->conn, xml, 0);

	return domain ? 0 : err_in(libvirt_says(err), "cannot define the domain");
}

_Static_assert(VIRT_LIVE == (int)VIR_DOMAIN_AFFECT_LIVE && VIRT_CONFIG == (int)VIR_DOMAIN_AFFECT_CONFIG,
	       "`sides` are flags of libvirt");

int virt_change_device(struct virt *virt, const char *uuid, bool attach, const char *xml, unsigned int sides,
		       struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);
	int (*change)(virDomainPtr, const char *, unsigned int) = attach ? lib.virDomainAttachDeviceFlags
									 : lib.virDomainDetachDeviceFlags;

	return domain && change(domain, xml, sides) == 0
		       ? 0
		       : failed(domain, attach ? "cannot attach the device" : "cannot detach the device", err);
}

int virt_managed_save(struct virt *virt, const char *uuid, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	return domain && lib.virDomainManagedSave(domain, 0) == 0 ? 0 : failed(domain, "cannot save it", err);
}

int virt_saved_xml(struct virt *virt, const char *uuid, char **xml, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);
	int r = domain ? lib.virDomainHasManagedSaveImage(domain, 0) : -1;

	*xml = r > 0 ? lib.virDomainManagedSaveGetXMLDesc(domain, 0) : NULL;
	return r == 0 || *xml ? r : failed(domain, "cannot read the XML of its saved image", err);
}

int virt_start(struct virt *virt, const char *uuid, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	return domain && lib.virDomainCreate(domain) == 0 ? 0 : failed(domain, "cannot start it", err);
}

int virt_set_metadata(struct virt *virt, const char *uuid, const char *ns, const char *key, const char *xml,
		      unsigned int sides, struct err *err)
{
	autodomain virDomainPtr domain = lookup(virt, uuid, err);

	if (domain && lib.virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, xml, key, ns, sides) == 0)
		return 0;
	return failed(domain, "cannot change its metadata", err);
}

int virt_detach_wait(struct virt *virt, const char *uuid, const char *xml, const char *alias, int wait_ms,
		     struct err *err)
{
	autofree char *element = mem_format("<alias name='%s'/>", alias);
	int r = virt_change_device(virt, uuid, false, xml, VIRT_LIVE, err);
	const int64_t end = sys_now_ms() + wait_ms;

	/*
	 * The XML has the element until QEMU has closed the device. In the record of a suspend, '<' is escaped. Without
	 * an alias, nothing shows that the device is detached.
	 */
	while (r == 0) {
		struct virt_domain now;
		bool attached;

		r = virt_find(virt, uuid, &now, err);
		if (r == -ENOENT || (r == 0 && !now.running))
			r = err_set(err, ESHUTDOWN, "the domain stopped");
		attached = r == -EBUSY || (r == 0 && (!*alias || strstr(now.xml, element)));
		virt_domain_free(&now);
		if (!attached)
			break;
		r = sys_now_ms() < end ? 0 : err_set(err, ETIMEDOUT, "the guest did not release the device in time");
		sys_sleep_ms(POLL_MS);
	}
	return r;
}
