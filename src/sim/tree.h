/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The simulated file tree: directories, attributes, links and device nodes, as the kernel's kernfs holds them.
 *
 * The file system may cache nodes made before sim_tree_settle() until a hook invalidates them, except for the listing
 * of a directory marked with sim_tree_varies(). Nodes made later are passing: they can disappear at any time and are
 * never cached. Names in a directory are unique. A removed node stays, detached, while something outside refers to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

/* A write(2) in progress; its answer can come later, when the driver is done. */
struct sim_write {
	const char *data; /* followed by a NUL; valid only until the call that takes the write returns */
	size_t len;
	pid_t pid;
	void (*done)(struct sim_write *write, ssize_t result); /* called once: bytes written, or a negative errno */
};

/* SIM_DEVICE: every open is a request to us. SIM_CHAR: a character device with any number, which nobody can open. */
enum sim_kind { SIM_DIR, SIM_FILE, SIM_LINK, SIM_DEVICE, SIM_CHAR };

struct sim_node;

/* A file's properties. `show` prints the content or returns a negative errno; `store` answers through write->done. */
struct sim_attr {
	const char *name;
	mode_t mode;
	bool kept; /* the content stays the same until sim_tree_stale() is called */
	int (*show)(const struct sim_node *node, FILE *out);
	void (*store)(struct sim_node *node, struct sim_write *write);
};

struct sim_node {
	enum sim_kind kind;
	bool passing;            /* made after the tree was settled: */
	struct timespec made;    /* when */
	bool varies;             /* a directory whose entries come and go */
	bool waits;              /* of a file: reads wait for the operation in progress */
	bool gone;               /* no longer in the tree */
	bool looked_at;          /* of a file: the hooks' owner may have cached its text */
	const char *name;        /* its own copy; for a file attr->name */
	struct sim_node *parent; /* NULL: the root */
	struct sim_node *first;  /* of a directory: its entries, sorted by `position` */
	struct sim_node *last, *next, *prev;
	struct sim_node *chain;      /* the next node with the same hash */
	const struct sim_attr *attr; /* of a file */
	char *target;                /* of a link */
	dev_t rdev;                  /* of a char */
	void *owner;                 /* the object that show and store work on */
	uint64_t id;                 /* never reused */
	uint64_t position;           /* its place in its directory: grows, never reused */
	uint64_t positions;          /* of a directory: the last position assigned */
	uint64_t changed;            /* of a directory: counts the changes of its entries */
	unsigned refs;               /* references from outside; see sim_tree_refer() */
	unsigned alias, writing;     /* of a file: see fuse_attr.c */
	char **told;                 /* of a file: the texts whose sizes were reported last, by alias; NULL: none */
};

/* How many inode numbers a file shows to the real kernel: its node's address, and an alias in the low bits. */
enum { SIM_ALIASES = 16 };

struct sim_tree {
	struct sim_node *root;
	struct sim_node **table; /* a hash table by directory and name */
	size_t slots, count;
	uint64_t last_id;
	bool settled, ends;
	/* Hooks that make the cache forget a removed node, a changed listing, or a file's content. */
	void (*going)(void *arg, const struct sim_node *directory, const struct sim_node *node);
	void (*changing)(void *arg, const struct sim_node *directory);
	void (*stale)(void *arg, struct sim_node *file);
	void *hook_arg;
};

void sim_tree_init(struct sim_tree *tree);
void sim_tree_free(struct sim_tree *tree);
void sim_tree_settle(struct sim_tree *tree);

/* Finds the entry `name` of a directory; NULL: none. */
struct sim_node *sim_tree_find(const struct sim_tree *tree, const struct sim_node *dir, const char *name);

/* Make an entry. sim_tree_dir() accepts an existing directory, and a `path` of several names. */
struct sim_node *sim_tree_dir(struct sim_tree *tree, struct sim_node *dir, const char *path, void *owner);
struct sim_node *sim_tree_file(struct sim_tree *tree, struct sim_node *dir, const struct sim_attr *attr, void *owner);
struct sim_node *sim_tree_device(struct sim_tree *tree, struct sim_node *dir, const char *name, void *owner);
struct sim_node *sim_tree_char(struct sim_tree *tree, struct sim_node *dir, const char *name, dev_t rdev);

/* Makes a link to a node of the tree. As in sysfs, the text is relative, through the nearest common directory. */
struct sim_node *sim_tree_link(struct sim_tree *tree, struct sim_node *dir, const char *name,
			       const struct sim_node *to);

struct sim_node *sim_tree_link_text(struct sim_tree *tree, struct sim_node *dir, const char *name, const char *text);

/* Marks a directory whose entries come and go so often that its listing must not be cached. Call it before settling. */
void sim_tree_varies(struct sim_node *dir);

/* Reports that a file's content has changed. */
void sim_tree_stale(struct sim_tree *tree, struct sim_node *file);

/* Removes a node with everything below it; does nothing if `node` is NULL. */
void sim_tree_remove(struct sim_tree *tree, struct sim_node *node);

/* Count references from outside; dropping the last one frees a detached node. */
void sim_tree_refer(struct sim_node *node);
void sim_tree_unrefer(struct sim_tree *tree, struct sim_node *node, uint64_t count);

void sim_write_done(struct sim_write *write, ssize_t result);
