/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loading libvirt, its errors, and the connection. */
#include "virt/virt.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"

enum { KEEPALIVE_S = 5, KEEPALIVE_COUNT = 5 };

struct virt_lib virt_lib;

static int load(struct err *err)
{
	struct virt_lib lib = { .handle = dlopen(VIRT_SONAME, RTLD_NOW | RTLD_LOCAL) };

	if (!lib.handle)
		return err_set(err, ELIBACC, "cannot load libvirt's library (%s); install libvirt", dlerror());
#define SYMBOL(name)                                                                                                   \
	*(void **)&lib.name = dlsym(lib.handle, #name);                                                                \
	if (!lib.name) {                                                                                               \
		dlclose(lib.handle);                                                                                   \
		return err_set(err, ELIBACC, "%s has no %s; install libvirt 9.0 or later", VIRT_SONAME, #name);        \
	}
	VIRT_SYMBOLS(SYMBOL)
#undef SYMBOL
	virt_lib = lib;
	return 0;
}

/* Replaces libvirt's default handler, which prints each error on standard error. */
static void keep_quiet(void *arg, virErrorPtr error)
{
	(void)arg;
	(void)error;
}

/* Loads libvirt and sets up its loop, which must precede connections. Repeated calls do nothing. */
static int init(struct err *err)
{
	if (virt_lib.handle)
		return 0;
	if (load(err) < 0)
		return -err->code;
	virt_lib.virSetErrorFunc(NULL, keep_quiet);
	if (virt_lib.virInitialize() == 0 && virt_lib.virEventRegisterDefaultImpl() == 0)
		return 0;
	virt_lib.handle = NULL;
	return virt_error(err, "cannot initialize libvirt's library");
}

/* Maps an error of libvirt to one of the codes in virt.h. */
static int code_of(const virError *error)
{
	switch (error->code) {
	case VIR_ERR_NO_DOMAIN:
		return ENOENT;
	case VIR_ERR_OPERATION_TIMEOUT:
	case VIR_ERR_RESOURCE_BUSY:
		return EBUSY;
	case VIR_ERR_OPERATION_INVALID:
		return EPERM;
	case VIR_ERR_AUTH_FAILED:
	case VIR_ERR_AUTH_CANCELLED:
	case VIR_ERR_AUTH_UNAVAILABLE:
	case VIR_ERR_ACCESS_DENIED:
		return EACCES;
	case VIR_ERR_NO_CONNECT:
	case VIR_ERR_INVALID_CONN:
		return ENOTCONN;
	case VIR_ERR_NO_SUPPORT:
		return EIO;
	case VIR_ERR_SYSTEM_ERROR:
	case VIR_ERR_INTERNAL_ERROR:
		/* The socket broke, or the server closed it. */
		if (error->domain == VIR_FROM_RPC || error->domain == VIR_FROM_REMOTE)
			return ENOTCONN;
		return EIO;
	default:
		return error->domain == VIR_FROM_RPC ? ENOTCONN : EIO;
	}
}

int virt_error(struct err *err, const char *fmt, ...)
{
	const virError *error = virt_lib.virGetLastError();
	int code = error ? code_of(error) : EIO;
	char doing[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(doing, sizeof(doing), fmt, ap);
	va_end(ap);
	return err_set(err, code, "%s: libvirt says: %s", doing,
		       error && error->message ? error->message : "unknown error");
}

int virt_open(struct virt **out, const char *uri, struct err *err)
{
	struct virt *virt;

	*out = NULL;
	if (init(err) < 0)
		return -err->code;
	uri = uri ? uri : VIRT_DEFAULT_URI;
	virt = mem_new(1, sizeof(*virt));
	virt->conn = virt_lib.virConnectOpen(uri);
	if (!virt->conn) {
		free(virt);
		return virt_error(err, "%s: cannot connect; check that libvirtd or virtqemud is running", uri);
	}
	/* Ignore a failure: libvirt's drivers without a server do not support it. */
	virt_lib.virConnectSetKeepAlive(virt->conn, KEEPALIVE_S, KEEPALIVE_COUNT);
	*out = virt;
	return 0;
}

void virt_close(struct virt *virt)
{
	if (!virt)
		return;
	virt_lib.virConnectClose(virt->conn);
	free(virt);
}
