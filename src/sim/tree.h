/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The simulated file tree: directories, attributes, links and device nodes, as the kernel's kernfs holds them.
 *
 * A node made before sim_tree_settle() may be cached until a hook invalidates it. The listing of a directory that was
 * marked with sim_tree_varies() is not cached. A node made later is passing: it can disappear at any time, and is never
 * cached. Names in a directory are unique. A removed node stays, detached, while references to it remain.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

/* A write(2) in progress, which may be answered later. */
struct sim_write {
	const char *data; /* NUL-terminated; valid only during the call of `store` */
	size_t len;
	pid_t pid;
	void (*done)(struct sim_write *write, ssize_t result); /* called once: bytes written, or a negative errno */
};

/* SIM_DEVICE: we are asked for every open. SIM_CHAR: a character device that no process can open. */
enum sim_kind { SIM_DIR, SIM_FILE, SIM_LINK, SIM_DEVICE, SIM_CHAR };

struct sim_node;

/* `show` prints the content or returns a negative errno. `store` answers through write->done. */
struct sim_attr {
	const char *name;
	mode_t mode;
	bool kept; /* the content changes only with sim_tree_stale() */
	int (*show)(const struct sim_node *node, FILE *out);
	void (*store)(struct sim_node *node, struct sim_write *write);
};

struct sim_node {
	enum sim_kind kind;
	bool passing; /* made after the tree was settled */
	struct timespec made;
	bool varies; /* a directory whose listing must not be cached */
	bool waits;  /* a file whose reads wait for the operation in progress */
	bool gone;
	bool looked_at;          /* the text may be cached */
	const char *name;        /* owned by the node, except in a file (attr->name) */
	struct sim_node *parent; /* NULL: the root */
	struct sim_node *first;  /* of a directory: entries sorted by `position` */
	struct sim_node *last, *next, *prev;
	struct sim_node *chain; /* the next node with the same hash */
	const struct sim_attr *attr;
	char *target;
	dev_t rdev;              /* of a SIM_CHAR */
	void *owner;             /* the object for `show` and `store` */
	uint64_t id;             /* never reused */
	uint64_t position;       /* order of the entries; never reused */
	uint64_t positions;      /* of a directory: the last `position` */
	uint64_t changed;        /* counts the changes of a directory's entries */
	unsigned refs;           /* references from outside (sim_tree_refer()) */
	unsigned alias, writing; /* of a file: see fuse_attr.c */
	char **told;             /* of a file: the texts whose sizes were reported, by alias; NULL: none */
};

/* The number of inode numbers of a file. An inode number is the node's address, with an alias in the low bits. */
enum { SIM_ALIASES = 16 };

struct sim_tree {
	struct sim_node *root;
	struct sim_node **table; /* hash table by directory and name */
	size_t slots, count;
	uint64_t last_id;
	bool settled, ends;
	/* Hooks that invalidate a removed node, a changed listing, or a file's content. */
	void (*going)(void *arg, const struct sim_node *directory, const struct sim_node *node);
	void (*changing)(void *arg, const struct sim_node *directory);
	void (*stale)(void *arg, struct sim_node *file);
	void *hook_arg;
};

void sim_tree_init(struct sim_tree *tree);
void sim_tree_free(struct sim_tree *tree);
void sim_tree_settle(struct sim_tree *tree);

struct sim_node *sim_tree_find(const struct sim_tree *tree, const struct sim_node *dir, const char *name);

/* Make an entry. sim_tree_dir() accepts an existing directory, and a path such as "a/b". */
struct sim_node *sim_tree_dir(struct sim_tree *tree, struct sim_node *dir, const char *path, void *owner);
struct sim_node *sim_tree_file(struct sim_tree *tree, struct sim_node *dir, const struct sim_attr *attr, void *owner);
struct sim_node *sim_tree_device(struct sim_tree *tree, struct sim_node *dir, const char *name, void *owner);
struct sim_node *sim_tree_char(struct sim_tree *tree, struct sim_node *dir, const char *name, dev_t rdev);

/* Makes a link to a node, with a relative text as in sysfs. */
struct sim_node *sim_tree_link(struct sim_tree *tree, struct sim_node *dir, const char *name,
			       const struct sim_node *to);

struct sim_node *sim_tree_link_text(struct sim_tree *tree, struct sim_node *dir, const char *name, const char *text);

/* Marks a directory whose entries change so often that its listing must not be cached. Call this before settling. */
void sim_tree_varies(struct sim_node *dir);

void sim_tree_stale(struct sim_tree *tree, struct sim_node *file);

/* Removes a node and everything below it. Does nothing if `node` is NULL. */
void sim_tree_remove(struct sim_tree *tree, struct sim_node *node);

/* Count references from outside. Without references, a detached node is freed. */
void sim_tree_refer(struct sim_node *node);
void sim_tree_unrefer(struct sim_tree *tree, struct sim_node *node, uint64_t count);

void sim_write_done(struct sim_write *write, ssize_t result);
