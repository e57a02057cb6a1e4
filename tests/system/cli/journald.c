/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * journald SOCKET, journald --send SOCKET TEXT
 *
 * The first: for the time of a test what systemd-journald is. Takes datagrams of the journal's native protocol and
 * writes each to standard output in the journal's export format, which differs from it in the fields that the server
 * adds: systemd-journal-remote makes a journal of it. The second
 * sends one datagram.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define BOOT_ID "0123456789abcdef0123456789abcdef"

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int listen_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int)) < 0 ||
	    bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
		fail(path);
	return fd;
}

/* Whoever sent it, as the kernel says. */
static struct ucred sender(struct msghdr *message)
{
	struct ucred credentials = { .uid = (uid_t)-1 };

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
			memcpy(&credentials, CMSG_DATA(c), sizeof(credentials));
	return credentials;
}

static int send_to(const char *path, const char *text)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (fd < 0 || sendto(fd, text, strlen(text), 0, (const struct sockaddr *)&to, sizeof(to)) < 0)
		fail(path);
	return 0;
}

int main(int argc, char **argv)
{
	char data[65536], control[256];
	int fd = argc == 2 ? listen_at(argv[1]) : -1;

	if (argc == 4 && strcmp(argv[1], "--send") == 0)
		return send_to(argv[2], argv[3]);

	if (fd < 0)
		return 2;
	for (;;) {
		struct iovec part = { data, sizeof(data) };
		struct msghdr message = {
			.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
		};
		ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
		struct timeval now;

		if (n < 0 && errno != EINTR)
			fail("recvmsg");
		if (n <= 0)
			continue;
		gettimeofday(&now, NULL);
		/* Debian 13's systemd-journal-remote takes no entry without a boot. */
		printf("__REALTIME_TIMESTAMP=%" PRId64 "\n_BOOT_ID=" BOOT_ID "\n_UID=%u\n",
		       (int64_t)now.tv_sec * 1000000 + now.tv_usec, sender(&message).uid);
		fwrite(data, 1, (size_t)n, stdout);
		printf("\n");
		if (fflush(stdout) != 0)
			fail("standard output");
	}
}
