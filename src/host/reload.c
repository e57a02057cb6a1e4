/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds out when systemd last started or reloaded a service. */
#include "host/reload.h"

#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-bus.h>

#include "base/auto.h"
#include "sys/sys.h"

enum { WAIT_MS = 3000 };

/* Waits for the bus itself, for which sd-bus would wait longer than any timeout that a caller can set. */
static int wait_ready(sd_bus *bus, int64_t end)
{
	int r;

	while ((r = sd_bus_is_ready(bus)) == 0) {
		int left = sys_left_ms(end);

		if (left == 0)
			return -ETIMEDOUT;
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, (uint64_t)left * 1000);
		if (r < 0 && r != -EINTR)
			return r;
	}
	return r < 0 ? r : 0;
}

/*
 * A service changes its state when it starts and when a reload begins and ends. The times of its reload command would
 * be more exact, but systemd forgets them at every daemon-reload, which installing any package with a unit causes.
 */
static int ask(sd_bus *bus, const char *unit, int64_t end, uint64_t *wall_us)
{
	autofree char *object = NULL;
	int r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &object);

	if (r >= 0)
		r = wait_ready(bus, end);
	if (r >= 0)
		r = sd_bus_set_method_call_timeout(bus, (uint64_t)sys_left_ms(end) * 1000 + 1);
	if (r >= 0)
		r = sd_bus_get_property_trivial(bus, "org.freedesktop.systemd1", object,
						"org.freedesktop.systemd1.Unit", "StateChangeTimestamp", NULL, 't',
						wall_us);
	return r;
}

int reload_ask(const char *unit, int64_t *wall_us, struct err *err)
{
	sd_bus *bus = NULL;
	uint64_t us = 0;
	int r = sd_bus_open_system(&bus);

	if (r >= 0)
		r = ask(bus, unit, sys_now_ms() + WAIT_MS, &us);
	sd_bus_close_unref(bus);
	*wall_us = (int64_t)us;
	return r < 0 ? err_sys(err, -r, "cannot ask systemd about %s", unit) : 0;
}
