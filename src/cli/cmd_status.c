/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* vgpu-lease status: the host at a glance. check: checks the configuration against this host. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/udev.h"
#include "cli/status.h"
#include "host/libvirt_daemon.h"

static void json_finding(struct json_out *json, const struct finding *finding)
{
	json_out_object(json, NULL);
	json_out_string(json, "status", out_finding_words[finding->status]);
	json_out_string(json, "what", finding->what);
	json_out_string(json, "where", finding->where);
	json_out_string(json, "message", finding->text);
	json_out_string(json, "fix", finding->fix);
	json_out_close(json);
}

static void print_json(const struct status *status, struct json_out *json)
{
	json_out_string(json, "host", status->host);
	json_out_text(json, "nvidia_driver", status->cmd->world.inv.nvidia_driver);
	json_out_array(json, "problems");
	for (size_t i = 0; i < status->check.n; i++)
		if (status->check.findings[i].status != CHECK_PASS)
			json_finding(json, &status->check.findings[i]);
	json_out_close(json);
	status_json_pgpus(json, status);
	status_json_vgpus(json, &status->rows[status->nrows]);
}

static void check_host(struct status *status, struct cmd *cmd)
{
	char name[sizeof(status->host)] = "";

	status->check = (struct check){ .host = &cmd->host,
					.config_path = cmd->call->args.config,
					.seen = &cmd->world,
					.config = cmd->has_config ? &cmd->config : NULL };
	check_run(&status->check);
	if (gethostname(name, sizeof(name) - 1) < 0)
		text_copy(name, sizeof(name), "this host");
	text_cut(status->host, sizeof(status->host), cmd->call->args.root ? cmd->call->args.root : name);
}

static int draw(struct cmd *cmd, const struct term *term, struct err *err)
{
	autostatus struct status status = { 0 };

	if (status_read(&status, cmd, err) < 0)
		return -err->code;
	check_host(&status, cmd);
	if (cmd->call->json)
		print_json(&status, cmd_json(cmd));
	else
		status_print(&status, term);
	return 0;
}

enum { SETTLE_MS = 200 }; /* events within this time cause one update */

enum { SIGNALS, KEYS, LEASES, DEVICES, SOURCES };

struct watch {
	struct pollfd fds[SOURCES]; /* fd -1: none */
	struct udev_watch *udev;    /* NULL with --root */
	struct termios was;         /* the keyboard's settings, if there is one */
	bool stop;
};

/* Watches the directory of the leases, and those above it, because it may be created later. */
static int watch_leases(struct watch *w, const struct host *host, struct err *err)
{
	static const char *const paths[] = { "run", "run/vgpu-lease", "run/vgpu-lease/leases" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		autofree char *path = mem_format("%s/%s", host->name, paths[i]);
		uint32_t events = i + 1 < ARRAY_SIZE(paths) ? IN_CREATE
							    : IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE;

		if (inotify_add_watch(w->fds[LEASES].fd, path, events | IN_DELETE_SELF | IN_ONLYDIR) < 0)
			return errno == ENOSPC ? err_sys(err, errno, "/%s: cannot be watched", paths[i]) : 0;
	}
	return 0;
}

/* Must the tree be drawn again? */
static bool read_events(struct watch *w, int timeout_ms)
{
	struct signalfd_siginfo info;
	char keys[64], events[4096];
	bool changed = false;
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
	/* A new file beside the leases also causes an update. */
	while (read(w->fds[LEASES].fd, events, sizeof(events)) > 0)
		changed = true;
	return (w->fds[DEVICES].revents && udev_watch_read(w->udev)) || changed;
}

/* Prints as many lines of the text as the screen has. A newline after the last one would scroll the screen. */
static void show_screen(const struct term *term, char *text)
{
	if (!term->screen) {
		printf("%s\n", text);
		return;
	}
	fputs("\033[H\033[2J", stdout);
	for (int left = term->height; left > 0 && text && *text; left--) {
		const char *line = strsep(&text, "\n");
		bool last = !text || !*text;

		printf("%s%s", left > 1 || last ? line : "...", last || left == 1 ? "" : "\n");
	}
}

/* False: standard output is closed. */
static bool draw_again(const struct cmd *cmd)
{
	struct term term = *term_stdout();
	struct err why = { 0 };
	struct cmd now = CMD_NONE(cmd->call);
	autofree char *text = NULL;
	size_t len;

	term.to = mem_open(&text, &len);
	if (cmd_open(&now, CMD_CONFIG_OWN, &why) < 0 || draw(&now, &term, &why) < 0)
		term_wrap(&term, 0, "", why.text);
	cmd_close(&now);
	mem_close(term.to);
	show_screen(&term, text);
	return fflush(stdout) == 0;
}

static int begin_watch(struct watch *w, const struct cmd *cmd, struct err *err)
{
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
	if (!term_stdout()->screen)
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

static void end_watch(struct watch *w)
{
	bool screen = term_stdout()->screen;

	if (screen)
		fputs("\033[?7h\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	if (screen && w->was.c_lflag & ICANON)
		tcsetattr(STDIN_FILENO, TCSANOW, &w->was);
	udev_watch_close(w->udev);
}

/* The descriptors stay open until the program ends. */
static int watch(struct cmd *cmd, struct err *err)
{
	struct watch w = { 0 };
	int r;

	for (size_t i = 0; i < SOURCES; i++)
		w.fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	if (begin_watch(&w, cmd, err) < 0)
		return -err->code;
	/* Watch first, then read, so that no change in between is missed. */
	while ((r = watch_leases(&w, &cmd->host, err)) == 0 && draw_again(cmd)) {
		while (!w.stop && !read_events(&w, -1))
			;
		if (w.stop)
			break;
		poll(NULL, 0, SETTLE_MS);
		read_events(&w, 0);
	}
	end_watch(&w);
	return r;
}

static int run(struct cmd *cmd, struct err *err)
{
	return cmd->call->watch ? watch(cmd, err) : draw(cmd, term_stdout(), err);
}

static int check_call(struct cmd_call *call, struct err *err)
{
	return call->watch && call->json ? err_set(err, EINVAL, "--watch does not take --json") : 0;
}

const struct command cmd_status = {
	.name = "status",
	.options = CMD_JSON | CMD_DOMAIN | CMD_PGPU | CMD_TYPE | CMD_STATE | CMD_WATCH,
	.summary = "Show the host at a glance (default command)",
	.help = "Print a tree of the host: the problems that 'vgpu-lease check' finds, then each\n"
		"pGPU with its framebuffer and instances in use, and its vGPUs with domain, type,\n"
		"framebuffer, state, time in this state, and ID. A narrow terminal omits the\n"
		"framebuffer or the ID. Problems do not change the exit status.\n"
		"\n"
		"--domain, --type and --state select vGPUs, and the pGPUs that have them; --type\n"
		"alone also selects the pGPUs configured for it. The bars always show the whole\n"
		"pGPU.\n"
		"\n"
		"--watch updates the tree whenever a lease or a device changes; q ends it.\n",
	.needs = CMD_CONFIG_OWN,
	.check = check_call,
	.run = run,
};

static void print_check_json(const struct check *check, struct json_out *json)
{
	json_out_bool(json, "ok", check->count[CHECK_FAIL] == 0);
	json_out_number(json, "pgpus", (long)check->ncards);
	json_out_number(json, "pgpus_in_pool", (long)check->npool);
	json_out_array(json, "checks");
	for (size_t i = 0; i < check->n; i++)
		json_finding(json, &check->findings[i]);
}

static void print_check(const struct check *check)
{
	static const char *const colours[] = { TERM_GREEN, TERM_YELLOW, TERM_RED };
	const struct term *term = term_stdout();

	for (EACH(const struct finding *, finding, check->findings, check->n)) {
		autofree char *text = out_finding_text(finding);
		printf("%s%s%s  %s", term_colour(term, colours[finding->status]), out_finding_words[finding->status],
		       term_colour(term, TERM_PLAIN), finding->what);
		term_wrap_behind(term, 6 + (int)strlen(finding->what), 15, text);
	}
	out_say("%zu passed, %zu warning%s, %zu failed; %zu of %zu pGPU%s in the pool", check->count[CHECK_PASS],
		check->count[CHECK_WARN], check->count[CHECK_WARN] == 1 ? "" : "s", check->count[CHECK_FAIL],
		check->npool, check->ncards, check->ncards == 1 ? "" : "s");
}

static int check_now(struct cmd *cmd, struct err *err)
{
	const struct args *args = &cmd->call->args;
	struct check check = { .host = &cmd->host, .config_path = args->config };
	const char *held = "";
	int r = host_open(&cmd->host, args->root, err);

	if (r < 0)
		return r;
	libvirt_daemon_follow(&cmd->host);
	/* If the lock is held, the check can wait as long as a start does. check_run() reports errors of the store. */
	if (store_open(&cmd->store, &cmd->host, false, err) == 0 && store_locked(&cmd->store, STORE_LOCK))
		held = "; /run/vgpu-lease/lock is held";
	out_progress(false, "checking this host%s", held);
	check_run(&check);
	out_progress_end();
	if (cmd->call->json)
		print_check_json(&check, cmd_json(cmd));
	else
		print_check(&check);
	r = check.count[CHECK_FAIL] ? CMD_FAILED : CMD_DONE;
	check_free(&check);
	return r;
}

const struct command cmd_check = {
	.name = "check",
	.options = CMD_JSON,
	.summary = "Check the configuration against this host",
	.help = "Check the configuration, its pGPUs, a start with each enabled type, the mdevctl\n"
		"definitions, the hook and the state, and print one line per check:\n"
		"\n"
		"  PASS  no problem\n"
		"  WARN  needs attention, such as a full pGPU\n"
		"  FAIL  broken, or not as configured; the exit status is 1\n"
		"\n"
		"Nothing is changed.\n",
	.needs = CMD_BARE,
	.run = check_now,
};
