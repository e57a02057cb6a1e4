/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * vgpu-leased, the device handler: completes releases that take time, notices devices attached to and detached from
 * running guests, and finishes what killed hooks have left.
 *
 * In its one loop, signals and the events of udev and libvirt only prompt a pass (device_handler), which looks at
 * everything. Events that arrive together cause one pass. The handler may be killed at any instant and started again.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/args.h"
#include "base/auto.h"
#include "daemon/guests.h"
#include "daemon/device_handler.h"
#include "host/inventory.h"
#include "base/text.h"
#include "base/udev.h"
#include "sys/sys.h"
#include "sys/log.h"
#include "daemon/wait_ready.h"
#include "virt/virt.h"

enum {
	SETTLE_MS = 200, /* events within this time cause one pass */
	APART_MS = 1000, /* minimum interval of passes, however many events arrive */
	WAIT_MAX_S = 86400,
};

struct options {
	struct args args;
	const char *uri, *wait;
	bool foreground, check;
	long wait_s;
};

struct leased {
	struct options options;
	struct handler handler;
	struct udev_watch *udev; /* NULL: no udev, or --root names another host */
	struct guests *guests;   /* NULL: libvirt is not asked */
	bool in_loop;            /* in libvirt's loop; false: in our own */
	int timer;               /* of libvirt's loop */
	int signals;
	struct watch {
		int fd; /* -1: none */
		void (*ready)(void *arg);
	} watches[3];
	bool stop;
	int64_t pass_at, passed_at, alive_at, connect_at;
	int64_t alive_every_ms; /* half of systemd's watchdog time; 0: no watchdog */
};

static const struct arg table[] = {
	ARG_ROOT,
	ARG_CONFIG,
	{ "connect", "URI", 0, offsetof(struct options, uri), "Connect to this libvirt [" VIRT_DEFAULT_URI "]", 0 },
	{ "foreground", NULL, 0, offsetof(struct options, foreground), "Log to standard error instead of the journal",
	  0 },
	{ "check-config", NULL, 0, offsetof(struct options, check), "Check the configuration and exit; 1: invalid", 0 },
	{ "wait-ready", "SECONDS", 0, offsetof(struct options, wait),
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
	args_help(stdout, table, 0);
	printf("\nExit status: 0 success, 1 failed, 2 usage error.\n");
}

static int parse(struct options *options, int argc, char **argv, struct err *err)
{
	if (args_parse(options, table, argc, argv, err) < 0)
		return -err->code;
	if (options->args.noperands)
		return err_set(err, EINVAL, "unexpected argument '%s'", options->args.operands[0]);
	if (options->wait && !text_number(options->wait, 0, WAIT_MAX_S, &options->wait_s))
		return err_set(err, EINVAL, "--wait-ready: invalid value '%s': expected seconds, 0 to %d",
			       options->wait, WAIT_MAX_S);
	return 0;
}

/* Makes a pass due soon, unless one is due earlier. */
static void look_soon(void *arg)
{
	struct leased *d = arg;
	int64_t at = sys_now_ms() + SETTLE_MS;

	if (at < d->passed_at + APART_MS)
		at = d->passed_at + APART_MS;
	if (at < d->pass_at)
		d->pass_at = at;
}

static void on_signal(void *arg)
{
	struct leased *d = arg;
	struct signalfd_siginfo info;

	while (read(d->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGHUP) {
			d->stop = true;
			continue;
		}
		sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, sys_now_ms() * 1000);
		handler_reload(&d->handler);
		sd_notify(0, "READY=1");
		look_soon(d);
	}
}

static void on_udev(void *arg)
{
	struct leased *d = arg;

	if (udev_watch_read(d->udev))
		look_soon(d);
}

/* A lease is gone, but its domain may still run. */
static void on_lost(void *arg)
{
	struct leased *d = arg;

	(void)!read(finisher_lost_fd(d->handler.finisher), &(uint64_t){ 0 }, sizeof(uint64_t));
	look_soon(d);
}

static void on_timer(void *arg)
{
	(void)arg; /* only wakes the loop */
}

static void pass(struct leased *d)
{
	struct running running = { .libvirt = "libvirt is not asked", .looked_ms = sys_now_ms() };

	if (d->guests) {
		guests_look(d->guests, &running.domains, &running.n);
		running.libvirt = guests_state(d->guests);
		running.named = guests_named;
		running.told = guests_tell;
		running.arg = d->guests;
	}
	d->pass_at = handler_pass(&d->handler, &running);
	sd_notifyf(0, "STATUS=%s", d->handler.status);
	d->passed_at = sys_now_ms();
}

/* Milliseconds until something is due. */
static int idle_ms(const struct leased *d)
{
	int64_t now = sys_now_ms(), at = d->pass_at;

	if (d->alive_every_ms && d->alive_at < at)
		at = d->alive_at;
	if (d->connect_at && d->connect_at < at)
		at = d->connect_at;
	return at <= now ? 0 : (int)(at - now);
}

/* A turn of the loop without libvirt's library. */
static void own_turn(struct leased *d)
{
	struct pollfd fds[ARRAY_SIZE(d->watches)];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = (struct pollfd){ .fd = d->watches[i].fd, .events = POLLIN };
	if (poll(fds, ARRAY_SIZE(fds), idle_ms(d)) <= 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i].revents)
			d->watches[i].ready(d);
}

static void turn(struct leased *d)
{
	struct err err;

	if (!d->in_loop) {
		own_turn(d);
		return;
	}
	virt_loop_set_timer(d->timer, idle_ms(d));
	if (virt_loop_step(&err) == 0)
		return;
	log_warn("%s", err.text);
	d->stop = true;
}

static void loop(struct leased *d)
{
	/* Before connecting: libvirt may answer slowly while guests start, and their hooks look for the handler. */
	pass(d);
	sd_notify(0, "READY=1");
	while (!d->stop) {
		if (d->alive_every_ms && sys_now_ms() >= d->alive_at) {
			sd_notify(0, "WATCHDOG=1");
			d->alive_at = sys_now_ms() + d->alive_every_ms;
		}
		if (d->guests)
			d->connect_at = guests_connect(d->guests);
		turn(d);
		if (!d->stop && sys_now_ms() >= d->pass_at)
			pass(d);
	}
	sd_notify(0, "STOPPING=1");
}

/* A failure is not fatal, because without libvirt there are still leases to look after. */
static void open_libvirt(struct leased *d)
{
	struct err err;

	if (d->options.args.root && !d->options.uri)
		return;
	if (virt_loop_init(&err) < 0) {
		log_warn("%s; running domains are determined from libvirt's files only", err.text);
		return;
	}
	d->timer = virt_loop_timer(-1, on_timer, d, &err);
	for (size_t i = 0; i < ARRAY_SIZE(d->watches); i++) {
		const struct watch *w = &d->watches[i];

		if (d->timer < 0 || (w->fd >= 0 && virt_loop_fd(w->fd, w->ready, d, &err) < 0)) {
			log_warn("%s", err.text);
			return;
		}
	}
	d->in_loop = true;
	d->guests = guests_new(d->options.uri, look_soon, d);
}

/* The events of this machine say nothing about another host. */
static void open_udev(struct leased *d)
{
	struct err err;

	if (d->options.args.root || udev_watch_open(&d->udev, &err) == 0)
		return;
	log_warn("%s; changes of devices are noticed only every few minutes", err.text);
}

static int open_signals(struct leased *d, struct err *err)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return d->signals < 0 ? err_sys(err, errno, "cannot receive signals") : 0;
}

static void look_after(struct leased *d)
{
	/* Before the first look, so that no event in between is lost. */
	open_udev(d);
	d->watches[0] = (struct watch){ d->signals, on_signal };
	d->watches[1] = (struct watch){ d->udev ? udev_watch_fd(d->udev) : -1, on_udev };
	d->watches[2] = (struct watch){ finisher_lost_fd(d->handler.finisher), on_lost };
	open_libvirt(d);
	log_info("version %s started", PACKAGE_VERSION);
	loop(d);
	log_info("ends");
	guests_free(d->guests);
	udev_watch_close(d->udev);
}

static int serve(struct leased *d, struct err *err)
{
	int r = open_signals(d, err);

	if (r < 0)
		return r;
	r = handler_open(&d->handler, d->options.args.root, d->options.args.config, err);
	if (r == 0)
		look_after(d);
	handler_close(&d->handler);
	close(d->signals);
	return r;
}

/* Reports the errors that a reload would only log: the sender of its signal gets no answer. */
static int check_config(const struct args *args, struct err *err)
{
	struct host host = { .root = -1 };
	struct config config;
	int r = host_open(&host, args->root, err);

	if (r == 0) {
		r = inventory_load_config(&config, &host, args->config, err);
		config_free(&config);
	}
	host_close(&host);
	return r;
}

static int run(struct leased *d, struct err *err)
{
	if (d->options.args.version) {
		fputs(ARGS_VERSION("vgpu-leased"), stdout);
		return 0;
	}
	if (d->options.args.help) {
		print_help();
		return 0;
	}
	text_set_root(d->options.args.root);
	if (d->options.check)
		return check_config(&d->options.args, err);
	if (d->options.wait)
		return wait_ready(d->options.args.root, d->options.args.config, (int)d->options.wait_s, err);
	if (!d->options.args.root && geteuid() != 0)
		return err_set(err, EPERM, "cannot change leases: permission denied; run as root");
	if (d->options.foreground)
		log_open_stderr("vgpu-leased");
	else
		log_open("vgpu-leased", d->options.args.root);
	return serve(d, err);
}

int main(int argc, char **argv)
{
	struct leased d = { 0 };
	struct err err = { 0 };
	uint64_t watchdog_us;
	int r;

	sys_begin();
	umask(077);
	if (sd_watchdog_enabled(0, &watchdog_us) > 0)
		d.alive_every_ms = (int64_t)(watchdog_us / 2000);
	if (parse(&d.options, argc, argv, &err) < 0)
		return args_usage_error("vgpu-leased", &err);
	r = run(&d, &err);
	if (r == 0 && fflush(stdout) != 0)
		r = err_sys(&err, errno, "standard output");
	if (r < 0) {
		log_warn("%s", err.text);
		if (!d.options.foreground || d.options.wait || d.options.check)
			err_print(stderr, "vgpu-leased", &err);
	}
	log_close();
	return r < 0 ? 1 : 0;
}
