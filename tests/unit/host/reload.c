/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What systemd is asked about a reload, and what is made of its answers. A script stands for busctl. */
#include "host/reload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "sys/sys.h"
#include "lib/tap.h"
#include "lib/tree.h"

static struct tree tree;

static int ask(const char *script, int64_t *us)
{
	char path[PATH_MAX];
	struct err err;
	FILE *f;

	snprintf(path, sizeof(path), "%s/busctl", tree.path);
	f = fopen(path, "w");
	if (!f || fprintf(f, "#!/bin/sh\n%s\n", script) < 0 || fclose(f) != 0 || chmod(path, 0755) < 0)
		tree_fail(path);
	*us = -1;
	return reload_ask(path, "libvirtd.service", us, &err);
}

int main(void)
{
	static const struct {
		const char *sentence, *answer;
		int r;
		int64_t us;
	} rows[] = {
		{ "a reload has its time", "t 1767225600000123", 0, 1767225600000123 },
		{ "a unit that was never started has none", "t 0", 0, 0 },
		{ "another kind of answer is none", "s \"x\"", -EBADMSG, -1 },
		{ "nor is more than a time", "t 5 5", -EBADMSG, 5 },
		{ "no answer is none", "", -EBADMSG, -1 },
	};
	char script[1024];
	struct err err;
	int64_t us = 0, start;

	tree_begin(&tree, "");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(script, sizeof(script), "echo '%s'", rows[i].answer);
		ok(ask(script, &us) == rows[i].r && us == rows[i].us, "%s: %lld", rows[i].sentence, (long long)us);
	}
	snprintf(script, sizeof(script),
		 "[ \"$3 $4 $5 $6\" = 'org.freedesktop.systemd1 /org/freedesktop/systemd1/unit/libvirtd_2eservice "
		 "org.freedesktop.systemd1.Unit StateChangeTimestamp' ] && [ -z \"$HOME\" ] && echo '%s'",
		 rows[0].answer);
	ok(ask(script, &us) == 0, "it is the unit's own object, and nothing of the environment is handed on");
	ok(ask("exit 1", &us) == -EIO, "where it fails, systemd cannot be asked");
	ok(reload_ask("/nonexistent", "x.service", &us, &err) < 0, "nor where there is no such program");
	start = sys_now_ms();
	ok(ask("exec sleep 60", &us) == -ETIMEDOUT && sys_now_ms() - start < 20000, "one that hangs is not waited for");
	tree_end(&tree);
	return tap_done();
}
