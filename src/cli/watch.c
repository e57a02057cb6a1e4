/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A picture that is drawn again whenever a lease, a device or the terminal's size changes. */
#include "cli/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/udev.h"

enum { SETTLE_MS = 200 }; /* events that come within this time make one picture */

enum { SIGNALS, KEYS, LEASES, DEVICES, SOURCES };

struct watch {
	struct pollfd fds[SOURCES]; /* fd -1: none */
	struct udev_watch *udev;    /* NULL: another host's, or none */
	bool screen;                /* on a terminal that can be cleared */
	struct termios was;         /* of the keyboard, where there is one */
	bool stop;
};

/* Directories that do not exist yet are noticed as they come: their parents are watched, too. */
static int watch_leases(struct watch *w, const struct host *host, struct err *err)
{
	static const char *const paths[] = { "run", "run/vgpu-lease", "run/vgpu-lease/leases" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		autoclose int dir = sys_dir(host->root, paths[i]);
		char path[64];
		uint32_t events = i + 1 < ARRAY_SIZE(paths) ? IN_CREATE
							    : IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE;

		if (dir < 0)
			return 0;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
		if (inotify_add_watch(w->fds[LEASES].fd, path, events | IN_DELETE_SELF | IN_ONLYDIR) < 0)
			return err_sys(err, errno, "/%s: cannot be watched", paths[i]);
	}
	return 0;
}

/* A lease is written under a hidden name first; of /run and /run/vgpu-lease only the way to the leases matters. */
static bool leases_changed(const struct watch *w)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *event;
	bool changed = false;
	ssize_t n;

	while ((n = read(w->fds[LEASES].fd, events, sizeof(events))) > 0)
		for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(*event) + event->len)) {
			const char *name;

			event = (const struct inotify_event *)(events + at);
			name = event->len ? event->name : "";
			changed |= event->mask & IN_CREATE ? !strcmp(name, "vgpu-lease") || !strcmp(name, "leases")
							   : *name != '.';
		}
	return changed;
}

/* Is a new picture needed? */
static bool read_events(struct watch *w, int timeout_ms)
{
	struct signalfd_siginfo info;
	bool changed = false;
	char keys[64];
	ssize_t n;

	if (poll(w->fds, SOURCES, timeout_ms) <= 0)
		return false;
	while (read(w->fds[SIGNALS].fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		w->stop |= info.ssi_signo != SIGWINCH;
		term_resized();
		changed = true;
	}
	if (w->fds[KEYS].revents) {
		n = read(STDIN_FILENO, keys, sizeof(keys));
		w->stop |= n > 0 && memchr(keys, 'q', (size_t)n);
		if (n <= 0)
			w->fds[KEYS].fd = -1;
	}
	changed |= leases_changed(w);
	return (w->fds[DEVICES].revents && udev_watch_read(w->udev)) || changed;
}

static void wait_for_change(struct watch *w)
{
	while (!w->stop && !read_events(w, -1))
		;
	if (w->stop)
		return;
	poll(NULL, 0, SETTLE_MS);
	read_events(w, 0);
}

/* Prints as much of the text as the screen has lines; no newline behind the last, which would scroll it. */
static void show(const struct watch *w, const struct term *term, const char *text)
{
	int left = term->height;

	if (!w->screen) {
		printf("%s\n", text);
		return;
	}
	fputs("\033[H\033[2J", stdout);
	for (size_t len; *text && left > 0; text += len + 1, left--) {
		bool last;

		len = strcspn(text, "\n");
		last = !text[len] || !text[len + 1];
		printf("%.*s%s", left > 1 || last ? (int)len : 3, left > 1 || last ? text : "...",
		       last || left == 1 ? "" : "\n");
		if (last)
			break;
	}
}

static int draw_once(struct cmd *cmd, const struct watch *w,
		     int (*draw)(struct cmd *cmd, const struct term *term, struct err *err))
{
	struct term term = *term_stdout();
	struct err why = { 0 };
	struct cmd now;
	autofree char *text = NULL;
	size_t len;

	term.to = mem_open(&text, &len);
	if (cmd_open(&now, cmd->call, CMD_CONFIG_OWN, &why) < 0 || draw(&now, &term, &why) < 0)
		term_wrap(term.to, &term, 0, "", why.text);
	cmd_close(&now);
	mem_close(term.to);
	show(w, &term, text);
	return fflush(stdout) == 0 ? 0 : -errno;
}

static int begin(struct watch *w, const struct cmd *cmd, struct err *err)
{
	const char *kind = getenv("TERM");
	struct termios keys;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < 5; i++)
		sigaddset(&set, ((const int[]){ SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH })[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	w->fds[SIGNALS].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	w->fds[LEASES].fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fds[SIGNALS].fd < 0 || w->fds[LEASES].fd < 0)
		return err_sys(err, errno, "cannot wait for events");
	if (!cmd->call->args.root && udev_watch_open(&w->udev, err) < 0)
		return -err->code;
	w->fds[DEVICES].fd = w->udev ? udev_watch_fd(w->udev) : -1;
	w->screen = isatty(STDOUT_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
	if (!w->screen)
		return 0;
	if (tcgetattr(STDIN_FILENO, &w->was) == 0) {
		w->fds[KEYS].fd = STDIN_FILENO;
		keys = w->was;
		keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		keys.c_cc[VSUSP] = _POSIX_VDISABLE;
		tcsetattr(STDIN_FILENO, TCSANOW, &keys);
	}
	fputs("\033[?1049h\033[?25l\033[?7l", stdout);
	return 0;
}

static void end(struct watch *w)
{
	if (w->screen)
		fputs("\033[?7h\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	if (w->screen && w->was.c_lflag & ICANON)
		tcsetattr(STDIN_FILENO, TCSANOW, &w->was);
	udev_watch_close(w->udev);
	for (size_t i = 0; i < SOURCES; i++)
		if ((i == SIGNALS || i == LEASES) && w->fds[i].fd >= 0)
			close(w->fds[i].fd);
}

int watch_run(struct cmd *cmd, int (*draw)(struct cmd *cmd, const struct term *term, struct err *err), struct err *err)
{
	struct watch w = { 0 };
	int r;

	for (size_t i = 0; i < SOURCES; i++)
		w.fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	r = begin(&w, cmd, err);
	/* First the watch, then the look: nothing that comes in between is missed. */
	while (r == 0 && !w.stop) {
		r = watch_leases(&w, &cmd->host, err);
		if (r == 0 && draw_once(cmd, &w, draw) < 0)
			break;
		if (r == 0)
			wait_for_change(&w);
	}
	end(&w);
	return r;
}
