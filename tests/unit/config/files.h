/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Configuration files of a small host, and what a load of them says. */
#pragma once

#include "config/config.h"
#include "lib/tree.h"

static struct tree tree;
static struct config c;
static struct err err;

static inline void put(const char *path, const char *text)
{
	tree_add(&tree, "etc/vgpu-lease.conf.d/\netc/nova/\n");
	tree_bytes(&tree, path, text, strlen(text));
}

static inline void change(const char *path, mode_t mode, uid_t owner)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s", tree.path, path);
	if (chmod(full, mode) < 0 || chown(full, owner, (gid_t)-1) < 0)
		tree_fail(full);
}

/* A message with the tree's path as ROOT. */
static inline const char *rooted(const char *message)
{
	static char text[2048];
	const char *at;
	size_t n = 0;

	for (; (at = strstr(message, tree.path)); message = at + strlen(tree.path))
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*sROOT", (int)(at - message), message);
	snprintf(text + n, sizeof(text) - n, "%s", message);
	return text;
}

/* Loads the configuration anew: the code, with all mistakes. */
static inline int load_code(struct config_notes *mistakes)
{
	config_free(&c);
	return config_load(&c, &tree.host, NULL, mistakes, &err);
}

/* The same: the message, "" where it is good. */
static inline const char *load(const char *path)
{
	config_free(&c);
	return config_load(&c, &tree.host, path, NULL, &err) == 0 ? "" : rooted(err.text);
}

/* A warning; "" where there are fewer. */
static inline const char *warning(size_t i)
{
	return i < c.warnings.n ? rooted(c.warnings.list[i].text) : "";
}

/* It is refused so, or warned of so, with messages in braces (lib/messages.h). */
#define loads(path, message, sentence) is(load(path), message_in(message), sentence)
#define warns(i, message, sentence) is(warning(i), message_in(message), sentence)

/* The main() of a test that only calls these functions, each on a host of its own. */
#define CONFIG_TESTS(...)                                                                                              \
	int main(void)                                                                                                 \
	{                                                                                                              \
		umask(022);                                                                                            \
		for (EACH_TEST(__VA_ARGS__)) {                                                                         \
			tree_begin(&tree, "etc/\n");                                                                   \
			(*test)();                                                                                     \
			config_free(&c);                                                                               \
			tree_end(&tree);                                                                               \
		}                                                                                                      \
		return tap_done();                                                                                     \
	}
