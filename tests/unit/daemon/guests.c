/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of libvirt's events are a reason to look, on a host of libvirt's test driver, which this process shares. */
#include "daemon/guests.h"

#include <dlfcn.h>

#include "lib/tap.h"
#include "virt/virt.h"

#define URI "test:///default"

/* libvirt as another client of this process uses it. */
struct client {
	void *connection, *domain;
	void *(*open)(const char *uri);
	void *(*lookup)(void *connection, const char *name);
	int (*undefine)(void *domain);
	int (*free_domain)(void *domain);
	int (*close)(void *connection);
};

static void connect_client(struct client *client)
{
	void *lib = dlopen("libvirt.so.0", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return;
	*(void **)&client->open = dlsym(lib, "virConnectOpen");
	*(void **)&client->lookup = dlsym(lib, "virDomainLookupByName");
	*(void **)&client->undefine = dlsym(lib, "virDomainUndefine");
	*(void **)&client->free_domain = dlsym(lib, "virDomainFree");
	*(void **)&client->close = dlsym(lib, "virConnectClose");
	client->connection = client->open(URI);
	client->domain = client->lookup(client->connection, "test");
}

static void close_client(const struct client *client)
{
	if (client->domain)
		client->free_domain(client->domain);
	if (client->connection)
		client->close(client->connection);
}

static void count(void *arg)
{
	++*(int *)arg;
}

/* Turns the loop until there is news, or for that long. */
static bool hears(const int *news, int ms)
{
	struct err err;
	int late = 0, timer = virt_loop_timer(ms, count, &late, &err);

	while (!*news && !late)
		virt_loop_step(&err);
	virt_loop_forget_timer(timer);
	return *news;
}

int main(void)
{
	struct client client = { 0 };
	struct guests *guests;
	struct err err = { 0 };
	int news = 0;

	ok(virt_loop_init(&err) == 0, "there is a loop: %s", err.text);
	guests = guests_new(URI, count, &news);
	guests_connect(guests);
	is(guests_state(guests), "connected to libvirt", "it connects");
	connect_client(&client);
	hears(&news, 100);
	news = 0;
	ok(!hears(&news, 100), "as long as nothing happens there is no news");
	ok(client.domain && client.undefine(client.domain) == 0 && hears(&news, 10000),
	   "a domain that is undefined is a reason to look: what it named may be an orphan");
	close_client(&client);
	guests_free(guests);
	return tap_done();
}
