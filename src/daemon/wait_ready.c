/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waits for the cards that the configuration names. */
#include "daemon/wait_ready.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "base/udev.h"
#include "config/config.h"
#include "host/inventory.h"
#include "ops/check.h"

enum { STEP_MS = 1000 }; /* it looks at least this often, even without an event of udev */

/* Returns how many requirements of a start are not met; err has the first. */
static size_t not_ready(const struct host *host, const struct config *config, struct err *err)
{
	struct check check = { .host = host, .config = config, .only_pool = true };
	size_t n;

	check_run(&check);
	n = check.count[CHECK_FAIL];
	for (size_t i = 0; i < check.n; i++) {
		const struct finding *finding = &check.findings[i];

		if (finding->status != CHECK_FAIL)
			continue;
		err_set(err, ETIMEDOUT, "%s: %s; %s", finding->where ? finding->where : "this host", finding->text,
			finding->fix);
		break;
	}
	check_free(&check);
	return n;
}

static int wait_for_cards(const struct host *host, const struct config *config, int wait_s, struct err *err)
{
	int64_t end = sys_now_ms() + (int64_t)wait_s * 1000;
	struct udev_watch *udev = NULL;
	struct err ignored;
	size_t n;

	/* Without udev's events, and on another host, it looks every second. */
	if (!*host->name)
		udev_watch_open(&udev, &ignored);
	while ((n = not_ready(host, config, err)) > 0 && sys_now_ms() < end) {
		struct pollfd fd = { .fd = udev ? udev_watch_fd(udev) : -1, .events = POLLIN };

		if (poll(&fd, 1, STEP_MS) > 0)
			udev_watch_read(udev);
	}
	udev_watch_close(udev);
	if (n > 1)
		err_in(err, "%zu differences from the configuration, the first", n);
	return n ? -err->code : 0;
}

int wait_ready(const char *root, const char *config_path, int wait_s, struct err *err)
{
	struct host host;
	struct config config;
	int r = host_open(&host, root, err);

	if (r < 0)
		return r;
	r = inventory_load_config(&config, &host, config_path, err);
	if (r == 0 && config.nsections) {
		r = wait_for_cards(&host, &config, wait_s, err);
	} else if (r == 0 || (r == -ENOENT && !config_path)) {
		/* Say why the wait ends at once; otherwise it would seem that the cards are ready. */
		printf("%s; nothing to wait for\n", r == 0 ? "no type is enabled" : "no configuration");
		r = 0;
	}
	config_free(&config);
	host_close(&host);
	return r;
}
