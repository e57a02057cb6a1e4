/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What systemd is asked about a reload, and what is made of its answers. A child stands for it and its bus. */
#include "check/internal.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>

#include "lib/tree.h"

enum answer { TIME, ZERO, TEXT, REFUSAL, NO_ANSWER, NO_BUS };

static int answer_call(sd_bus_message *m, void *user, sd_bus_error *error)
{
	const enum answer *answer = user;
	const char *interface, *property;

	if (sd_bus_message_is_method_call(m, "org.freedesktop.DBus", "Hello") > 0)
		return sd_bus_reply_method_return(m, "s", ":1.1");
	if (sd_bus_message_is_method_call(m, "org.freedesktop.DBus.Properties", "Get") <= 0)
		return 0;
	if (*answer == NO_ANSWER)
		return 1;
	if (*answer == REFUSAL || sd_bus_message_read(m, "ss", &interface, &property) < 0 ||
	    strcmp(sd_bus_message_get_destination(m), "org.freedesktop.systemd1") != 0 ||
	    strcmp(sd_bus_message_get_path(m), "/org/freedesktop/systemd1/unit/libvirtd_2eservice") != 0 ||
	    strcmp(interface, "org.freedesktop.systemd1.Unit") != 0 || strcmp(property, "StateChangeTimestamp") != 0)
		return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_UNKNOWN_OBJECT, "nothing");
	if (*answer == TEXT)
		return sd_bus_reply_method_return(m, "v", "s", "x");
	return sd_bus_reply_method_return(m, "v", "t", *answer == TIME ? UINT64_C(1767225600000123) : UINT64_C(0));
}

static void serve(int listening, enum answer answer)
{
	sd_id128_t id = { .bytes = { 1 } };
	sd_bus *bus;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (answer == NO_BUS)
		pause();
	fd = accept(listening, NULL, NULL);
	if (fd < 0 || sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, fd, fd) < 0 || sd_bus_set_server(bus, 1, id) < 0 ||
	    sd_bus_set_anonymous(bus, 1) < 0 || sd_bus_add_filter(bus, NULL, answer_call, &answer) < 0 ||
	    sd_bus_start(bus) < 0)
		_exit(1);
	for (;;) {
		int r = sd_bus_process(bus, NULL);

		if (r < 0 || (r == 0 && sd_bus_wait(bus, UINT64_MAX) < 0))
			_exit(0);
	}
}

static struct err err;

static int ask(const struct tree *tree, enum answer answer, int64_t *us)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;
	char address[sizeof(at.sun_path) + 16];
	pid_t child;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/bus", tree->path);
	snprintf(address, sizeof(address), "unix:path=%s", at.sun_path);
	unlink(at.sun_path);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1) < 0)
		tree_fail(at.sun_path);
	setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1);
	child = fork();
	if (child < 0)
		tree_fail("fork");
	if (child == 0)
		serve(fd, answer);
	*us = -1;
	r = reload_ask("libvirtd.service", us, &err);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(fd);
	return r;
}

int main(void)
{
	int64_t us = 0, start;

	TREE(tree, "");
	ok(ask(&tree, TIME, &us) == 0 && us == 1767225600000123, "a reload has its time");
	ok(ask(&tree, ZERO, &us) == 0 && us == 0, "a unit that was never started has none");
	ok(ask(&tree, TEXT, &us) < 0, "another kind of answer is none");
	ok(ask(&tree, REFUSAL, &us) < 0, "where it fails, systemd cannot be asked");
	setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent", 1);
	ok_err(reload_ask("x.service", &us, &err) < 0, "nor where there is no bus");
	start = sys_now_ms();
	ok(ask(&tree, NO_ANSWER, &us) == -ETIMEDOUT && sys_now_ms() - start < 20000,
	   "one that hangs is not waited for");
	start = sys_now_ms();
	ok(ask(&tree, NO_BUS, &us) == -ETIMEDOUT && sys_now_ms() - start < 20000, "nor is a bus that does");
	return tap_done();
}
