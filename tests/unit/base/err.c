/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An error knows where its cause begins, behind what names the object: so that equal causes can be told of together. */
#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "lib/tap.h"

static const char *cause(const struct err *err)
{
	return err->text + err->cause;
}

int main(void)
{
	static struct err err;

	err_set(&err, EBUSY, "someone has it");
	ok(strcmp(cause(&err), "someone has it") == 0, "a text without an object is its own cause: %s", cause(&err));
	err_sys(&err, EIO, "creating vGPU %s", "u1");
	ok(strcmp(cause(&err), "Input/output error") == 0, "what the system says is the cause: %s", cause(&err));
	err_in(&err, "domain %s", "vm1");
	ok(strcmp(err.text, "domain vm1: creating vGPU u1: Input/output error") == 0, "context comes before it: %s",
	   err.text);
	ok(strcmp(cause(&err), "Input/output error") == 0, "and is none of it: %s", cause(&err));
	err_set(&err, ENODEV, "vGPU u1 went away");
	ok(err_cause(&err, strlen("vGPU u1 ")) == -ENODEV, "who sets it returns the code");
	ok(strcmp(cause(&err), "went away") == 0, "where it was set, it begins: %s", cause(&err));
	err_in(&err, "card");
	ok(strcmp(cause(&err), "went away") == 0, "also behind context: %s", cause(&err));
	err_cause(&err, 4000);
	ok(err.cause == 0, "it is never behind the text");
	err_set(&err, EBUSY, "x");
	ok(err.cause == 0, "a new error forgets it");
	return tap_done();
}
