/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * vgpu-leased, the device handler: completes slow releases, notices devices attached to and detached from running
 * guests, and finishes the work of killed hooks. It can be killed at any instant and started again.
 *
 * Signals, udev's events and changes of files only prompt a pass, in a process of its own; events that arrive together
 * cause one. The loop itself completes releases.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/args.h"
#include "base/mem.h"
#include "handler/handler.h"
#include "look/inventory.h"
#include "check/check.h"
#include "base/text.h"
#include "sys/log.h"

enum {
	SETTLE_MS = 200, /* events within this time cause one pass */
	/* The least time between the starts of passes; it grows up to APART_MAX_MS if passes take long. */
	APART_MS = 1000,
	APART_MAX_MS = 10000,
	ASKING_MS = 5000, /* how long libvirt can still answer once the next pass is due */
	SHARE = 4,        /* a pass is followed by a pause of SHARE times its processor time */
	WAIT_MAX_S = 86400,
	READY_STEP_MS = 1000, /* --wait-ready looks this often */
};

struct leased {
	struct args args;
	const char *uri, *wait;
	bool foreground, check;
	long wait_s;
	struct handler handler;
	struct finisher finisher;
	struct udev_monitor *udev; /* NULL: no udev, or --root names another host */
	int signals;
	bool stop;
	int64_t pass_at, passed_at, apart_ms;
	int64_t alive_every_ms; /* half of systemd's watchdog time; 0: no watchdog */
};

static const struct arg options[] = {
	ARG_ROOT,
	ARG_CONFIG,
	{ "connect", "URI", 0, offsetof(struct leased, uri), "Connect to this libvirt [" VIRT_DEFAULT_URI "]", 0 },
	{ "foreground", NULL, 0, offsetof(struct leased, foreground), "Log to standard error instead of the journal",
	  0 },
	{ "check-config", NULL, 0, offsetof(struct leased, check), "Check the configuration and exit; 1: invalid", 0 },
	{ "wait-ready", "SECONDS", 0, offsetof(struct leased, wait),
	  "Wait until the configured pGPUs are ready, and exit", 0 },
	ARG_HELP,
	ARG_VERSION,
	{ 0 },
};

static void print_help(void)
{
	printf("usage: vgpu-leased [OPTION]...\n\n"
	       "Device handler of vgpu-lease: complete releases, and lease hot-plugged vGPUs,\n"
	       "for which libvirt calls no hook. SIGHUP reloads the configuration.\n\n");
	args_help(stdout, options, 0);
	printf("\nExit status: 0 success, 1 failed, 2 usage error.\n");
}

static int parse(struct leased *d, int argc, char **argv, struct err *err)
{
	if (args_parse(d, options, argc, argv, err) < 0)
		return -err->code;
	if (d->args.noperands)
		return err_set(err, EINVAL, "unexpected argument '%s'", d->args.operands[0]);
	if (d->wait && !text_number(d->wait, 0, WAIT_MAX_S, &d->wait_s))
		return err_set(err, EINVAL, "--wait-ready: invalid value '%s': expected seconds, 0 to %d", d->wait,
			       WAIT_MAX_S);
	return 0;
}

static void look_soon(struct leased *d)
{
	int64_t at = sys_now_ms() + SETTLE_MS;

	if (at < d->pass_at)
		d->pass_at = at;
}

static void on_signal(struct leased *d)
{
	struct signalfd_siginfo info;

	while (read(d->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGHUP) {
			d->stop |= info.ssi_signo != SIGCHLD;
			continue;
		}
		sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, sys_now_ms() * 1000);
		handler_read_config(&d->handler, false);
		if (d->handler.last.next_ms)
			sd_notify(0, "READY=1");
		look_soon(d);
	}
}

/* Keeps an earlier time of the next pass, which an event during the pass may have set. */
static void passed(struct leased *d)
{
	const struct remembered *last = &d->handler.last;

	d->passed_at = sys_now_ms();
	if (last->next_ms < d->pass_at)
		d->pass_at = last->next_ms;
	sd_notifyf(0, "READY=1\nSTATUS=%s; %s", last->guests.state, last->status);
	/* The guest of a pending release can have ended. */
	d->finisher.at_ms = 0;
}

static void end_pass(struct leased *d, bool late)
{
	int64_t took_ms = pass_end(&d->handler, late), apart_ms = SHARE * took_ms;

	if (took_ms < 0)
		return;
	/* A guest that sets its clock or balloon makes libvirt write a status file, which causes a pass each time. */
	d->apart_ms = apart_ms < APART_MS ? APART_MS : apart_ms > APART_MAX_MS ? APART_MAX_MS : apart_ms;
	passed(d);
}

/* When the next pass can begin, or the running one is killed. */
static int64_t pass_due(const struct leased *d)
{
	const struct pass *pass = &d->handler.pass;
	const struct remembered *left = pass->pid ? pass->shared->left : NULL;
	int64_t asking = pass->pid ? pass->shared->asking_ms : 0, at = d->passed_at + d->apart_ms;

	at = d->pass_at > at ? d->pass_at : at;
	if (!pass->pid)
		return at;
	if (left && left->next_ms < at)
		at = left->next_ms;
	/* Kill a pass only if it waits for libvirt and another is due, or at late_ms. */
	if (at < asking + ASKING_MS)
		at = asking + ASKING_MS;
	return asking && at < pass->late_ms ? at : pass->late_ms;
}

/* Milliseconds until the next thing is due; -1: nothing is due. */
static int idle_ms(const struct leased *d)
{
	int64_t now = sys_now_ms(), at = pass_due(d);

	/* Look each second: a pass does not report when it begins to wait for libvirt, or when the next one is due. */
	if (d->handler.pass.pid && at > now + APART_MS)
		at = now + APART_MS;
	if (d->finisher.at_ms < at)
		at = d->finisher.at_ms;
	if (d->alive_every_ms && now + d->alive_every_ms < at)
		at = now + d->alive_every_ms;
	return at <= now ? 0 : at - now < INT_MAX ? (int)(at - now) : -1;
}

static void await_events(struct leased *d)
{
	enum { SIGNALS, UDEV, FILES };
	/* poll(2) ignores an entry whose descriptor is -1. */
	struct pollfd fds[] = { [SIGNALS] = { d->signals, POLLIN, 0 },
				[UDEV] = { udev_watch_fd(d->udev), POLLIN, 0 },
				[FILES] = { d->finisher.notify, POLLIN, 0 } };

	if (poll(fds, ARRAY_SIZE(fds), idle_ms(d)) <= 0)
		return;
	if (fds[SIGNALS].revents)
		on_signal(d);
	if (fds[UDEV].revents && udev_watch_read(d->udev))
		look_soon(d);
	if (fds[FILES].revents && finisher_events(&d->finisher))
		look_soon(d);
}

static void loop(struct leased *d)
{
	while (!d->stop) {
		int64_t now = sys_now_ms();

		if (d->alive_every_ms)
			sd_notify(0, "WATCHDOG=1");
		if (now >= d->finisher.at_ms && finisher_run(&d->finisher, &d->handler.host, &d->handler.config.policy))
			look_soon(d);
		if (d->handler.pass.pid) {
			end_pass(d, now >= pass_due(d));
		} else if (now >= pass_due(d)) {
			d->pass_at = INT64_MAX;
			if (!pass_start(&d->handler))
				passed(d);
		}
		await_events(d);
	}
	sd_notify(0, "STOPPING=1");
}

static int open_signals(struct leased *d, struct err *err)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD }; /* SIGCHLD: the end of a pass */
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return d->signals < 0 ? err_sys(err, errno, "cannot receive signals") : 0;
}

static int serve(struct leased *d, struct err *err)
{
	struct guests *guests = &d->handler.last.guests;

	if (open_signals(d, err) < 0)
		return -err->code;
	if (handler_open(&d->handler, d->args.root, d->args.config, err) < 0) {
		handler_close(&d->handler);
		return -err->code;
	}
	guests->asks = !d->args.root || d->uri;
	guests->uri = d->uri;
	if (guests->asks)
		text_copy(guests->state, sizeof(guests->state), "not connected to libvirt yet");
	/* Watch before the first look, so that no event is missed. With --root, our events are of another host. */
	if (!d->args.root && udev_watch_open(&d->udev, err) < 0)
		log_warn("%s; changes of devices are noticed only every few minutes", err->text);
	log_info("version %s started", PACKAGE_VERSION);
	loop(d);
	log_info("ends");
	pass_stop(&d->handler);
	finisher_stop(&d->finisher);
	udev_watch_close(d->udev);
	handler_close(&d->handler);
	return 0;
}

/* The number of unmet requirements of a start; `err` has the first. */
static size_t not_ready(const struct host *host, const struct config *config, struct err *err)
{
	struct check check = { .host = host, .config = config, .only_pool = true };
	size_t n = 0;

	check_run(&check);
	for (EACH(const struct finding *, finding, check.findings, check.n))
		if (finding->status == CHECK_FAIL && n++ == 0)
			err_set(err, ETIMEDOUT, "%s: %s; %s", finding->where ? finding->where : "this host",
				finding->text, finding->fix);
	check_free(&check);
	return n;
}

static int wait_for_cards(const struct host *host, const struct config *config, int wait_s, struct err *err)
{
	int64_t end = sys_now_ms() + (int64_t)wait_s * 1000;
	size_t n;

	while ((n = not_ready(host, config, err)) > 0 && sys_now_ms() < end)
		sys_sleep_ms(READY_STEP_MS);
	if (n > 1)
		err_in(err, "%zu differences from the configuration, the first", n);
	return n ? -err->code : 0;
}

/*
 * --check-config reports the errors that a reload only logs. --wait-ready is for units that start at boot and need the
 * cards' drivers: it waits until a start would find all that the configuration names.
 */
static int look_only(const struct leased *d, struct err *err)
{
	const struct args *args = &d->args;
	struct config config;
	struct host host;
	int r = host_open(&host, args->root, err);

	if (r < 0)
		return r;
	r = inventory_load_config(&config, &host, args->config, err);
	if (!d->check && r == 0 && config.nsections) {
		r = wait_for_cards(&host, &config, (int)d->wait_s, err);
	} else if (!d->check && (r == 0 || (r == -ENOENT && !args->config))) {
		/* Without a word it would seem that the cards are ready. */
		printf("%s; nothing to wait for\n", r == 0 ? "no type is enabled" : "no configuration");
		r = 0;
	}
	config_free(&config);
	host_close(&host);
	return r;
}

static int run(struct leased *d, struct err *err)
{
	if (d->args.version) {
		fputs(ARGS_VERSION("vgpu-leased"), stdout);
		return 0;
	}
	if (d->args.help) {
		print_help();
		return 0;
	}
	text_set_options(d->args.root, d->args.config);
	if (d->check || d->wait)
		return look_only(d, err);
	if (!d->args.root && geteuid() != 0)
		return err_set(err, EPERM, "cannot change leases: permission denied; run as root");
	log_open("vgpu-leased", d->args.root, d->foreground);
	return serve(d, err);
}

int main(int argc, char **argv)
{
	struct leased d = { .finisher.notify = -1 };
	struct err err = { 0 };
	uint64_t watchdog_us;
	int r;

	sys_begin();
	umask(077);
	if (sd_watchdog_enabled(0, &watchdog_us) > 0)
		d.alive_every_ms = (int64_t)(watchdog_us / 2000);
	if (parse(&d, argc, argv, &err) < 0)
		return args_usage_error("vgpu-leased", &err);
	r = run(&d, &err);
	if (r == 0 && fflush(stdout) != 0)
		r = err_sys(&err, errno, "standard output");
	if (r < 0) {
		err_advise_root(&err);
		log_warn("%s", err.text);
		if (!d.foreground || d.wait || d.check)
			err_print(stderr, "vgpu-leased", &err);
	}
	log_close();
	return r < 0 ? 1 : 0;
}
