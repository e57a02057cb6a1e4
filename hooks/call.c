/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hook's command line. */
#include "internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static const struct arg options[] = {
	ARG_ROOT,
	ARG_CONFIG,
	{ "dry-run", NULL, 0, offsetof(struct call, dry_run), "Print the steps and the XML, and change nothing", 0 },
	ARG_HELP,
	ARG_VERSION,
	{ 0 },
};

int call_parse(struct call *call, int argc, char **argv, struct err *err)
{
	char **words = argv + 1;

	if (argc != 5) {
		if (args_parse(call, options, argc, argv, err) < 0)
			return -err->code;
		if (call->args.help || call->args.version)
			return 0;
		if (call->args.noperands != 4 || call->args.nfree)
			return err_set(err, EINVAL, "expected [OPTION]... -- GUEST OP SUBOP EXTRA");
		words = call->args.operands;
	}
	call->guest = words[0];
	call->op = words[1];
	call->subop = words[2];
	call->extra = words[3];
	return 0;
}

int call_print_help(const struct call *call)
{
	if (call->args.version) {
		fputs(ARGS_VERSION("vgpu-lease"), stdout);
	} else {
		printf("usage: qemu [OPTION]... -- GUEST OP SUBOP EXTRA\n\n"
		       "The libvirt hook of vgpu-lease. libvirt runs it without options, with the domain\n"
		       "XML on standard input. GUEST is the domain's name; EXTRA is often -.\n\n");
		args_help(stdout, options, 0);
	}
	return fflush(stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
