/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One error: built where it happens, printed once by main(). */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

static void verr_set(struct err *err, int code, const char *fmt, va_list ap)
{
	*err = (struct err){ .code = code };
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	verr_set(err, code, fmt, ap);
	va_end(ap);
	return -code;
}

const char *err_describe(int code)
{
	const char *what = strerrordesc_np(code);

	return what ? what : "unknown error";
}

bool err_denied(int code)
{
	return code == EACCES && geteuid() != 0;
}

void err_advise_root(struct err *err)
{
	if ((err->code == EACCES || err->code == EPERM) && geteuid() != 0 && !strstr(err->text, "run as root"))
		text_add(err->text, sizeof(err->text), "; run as root");
}

int err_sys(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	verr_set(err, code, fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	text_add(err->text, sizeof(err->text), ": %s", err_describe(code));
	return err_cause(err, n + 2);
}

int err_in(struct err *err, const char *fmt, ...)
{
	char was[sizeof(err->text)];
	va_list ap;
	size_t n;

	memcpy(was, err->text, sizeof(was));
	err->where = 0;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	text_add(err->text, sizeof(err->text), ": %s", was);
	return err_cause(err, n + 2 + err->cause);
}

int err_cause(struct err *err, size_t cause)
{
	err->cause = cause < strlen(err->text) ? cause : 0;
	return -err->code;
}

int err_about(struct err *err, enum err_about about)
{
	err->about = about;
	return -err->code;
}

int err_recode(struct err *err, int code)
{
	err->code = code;
	return -code;
}

size_t err_line(char line[ERR_TEXT_MAX], const char *prefix, const struct err *err)
{
	size_t n = text_safe(line, ERR_TEXT_MAX - 1, prefix);

	n += text_safe(line + n, ERR_TEXT_MAX - 1 - n, ": ");
	return n + text_safe(line + n, ERR_TEXT_MAX - 1 - n, err->text);
}

void err_print(FILE *to, const char *prefix, const struct err *err)
{
	char line[ERR_TEXT_MAX];
	size_t n = err_line(line, prefix, err);

	line[n++] = '\n';
	fwrite(line, 1, n, to);
	fflush(to);
}
