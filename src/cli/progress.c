/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A line on standard error while something takes longer than a second. */
#include "cli/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "cli/term.h"

enum { TEXT_SIZE = 512 };

/* As much of the text as fits before the time; a line that went on below could not be removed. */
static void cut(char *text)
{
	struct winsize size;
	int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
	size_t len = strlen(text);

	while (len && (term_columns(text, len) > width - (int)sizeof(": 99999 s") || (text[len] & 0xC0) == 0x80))
		len--;
	text[len] = '\0';
}

/* Until there is something to read. */
static void draw(int stop, const char *text)
{
	struct pollfd fd = { .fd = stop, .events = POLLIN };
	int s = 0;

	while (poll(&fd, 1, 1000) == 0)
		dprintf(STDERR_FILENO, "\r%s: %d s", text, ++s);
	if (s)
		dprintf(STDERR_FILENO, "\r\033[K");
}

struct progress progress_begin(const struct cmd *cmd, const char *fmt, ...)
{
	struct progress progress = { .stop = -1 };
	char raw[TEXT_SIZE / 4], text[TEXT_SIZE];
	int fds[2];
	va_list ap;

	if (cmd->call->dry_run || !isatty(STDERR_FILENO) || pipe2(fds, O_CLOEXEC) < 0)
		return progress;
	term_stdout(); /* the locale, for what is printable */
	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	text_safe(text, sizeof(text), raw);
	cut(text);
	fflush(NULL);
	progress.child = fork();
	if (progress.child == 0) {
		close(fds[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		draw(fds[0], text);
		_exit(0);
	}
	close(fds[0]);
	progress.stop = fds[1];
	if (progress.child < 0) {
		progress.child = 0;
		close(steal_fd(&progress.stop));
	}
	return progress;
}

void progress_end(struct progress *progress)
{
	if (!progress->child)
		return;
	/* Not only closed: a child that still waits for a driver can have a copy of this end. */
	if (write(progress->stop, "", 1) < 0)
		kill(progress->child, SIGTERM);
	close(progress->stop);
	while (waitpid(progress->child, NULL, 0) < 0 && errno == EINTR)
		;
	*progress = (struct progress){ .stop = -1 };
}
