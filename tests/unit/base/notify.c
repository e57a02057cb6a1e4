/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What systemd is told, by a socket that the test listens to. */
#include "base/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/tap.h"

static int listener;

/* The next thing that was said; "" where there is none. */
static const char *heard(void)
{
	static char text[1024];
	ssize_t n = recv(listener, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void listen_at(struct sockaddr_un *at, socklen_t len)
{
	listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ok(listener >= 0 && bind(listener, (struct sockaddr *)at, len) == 0, "somebody listens");
}

static void told(void)
{
	notify_ready();
	is(heard(), "READY=1", "that it is ready");
	notify_status("%d vGPUs\n\033[0m", 3);
	is(heard(), "STATUS=3 vGPUs\\x0a\\x1b[0m", "how things are, in one printable line");
	notify_status("%d vGPUs\n\033[0m", 3);
	is(heard(), "", "which is not said twice");
	notify_alive();
	is(heard(), "WATCHDOG=1", "that it is alive");
	notify_reloading();
	ok(strncmp(heard(), "RELOADING=1\nMONOTONIC_USEC=", 27) == 0, "that it reloads");
	notify_stopping();
	is(heard(), "STOPPING=1", "that it ends");
}

int main(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char directory[] = "/tmp/vgpu-lease-test-XXXXXX", text[128];
	int n;

	notify_open();
	notify_ready();
	ok(notify_interval_ms() == 0, "where nobody listens nothing is said");

	if (!mkdtemp(directory))
		return 1;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/notify", directory);
	listen_at(&at, sizeof(at));
	setenv("NOTIFY_SOCKET", at.sun_path, 1);
	setenv("WATCHDOG_USEC", "3000000", 1);
	snprintf(text, sizeof(text), "%d", (int)getpid());
	setenv("WATCHDOG_PID", text, 1);
	notify_open();
	ok(notify_interval_ms() == 1500, "twice in the time that systemd waits");
	ok(!getenv("NOTIFY_SOCKET") && !getenv("WATCHDOG_USEC"), "no child inherits where it is said");
	told();
	close(listener);
	notify_alive();
	ok(true, "nobody who listens any more is no trouble");
	notify_close();
	unlink(at.sun_path);
	rmdir(directory);

	n = snprintf(at.sun_path, sizeof(at.sun_path), "@vgpu-lease-test-%d", (int)getpid());
	memcpy(text, at.sun_path, (size_t)n + 1);
	at.sun_path[0] = '\0';
	listen_at(&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n));
	setenv("NOTIFY_SOCKET", text, 1);
	setenv("WATCHDOG_USEC", "3000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	notify_open();
	ok(notify_interval_ms() == 0, "a watchdog of another process is none of ours");
	notify_ready();
	is(heard(), "READY=1", "a socket without a file is heard, too");
	notify_close();
	close(listener);
	return tap_done();
}
