/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The simulated file tree: directories, attributes, links and device nodes, as the kernel's kernfs holds them.
 *
 * What is made before sim_tree_settle() may be cached by whoever shows the tree, until a hook tells otherwise; in a
 * directory marked with sim_tree_varies() the listing may not. What is made later is passing: it may go at any time and
 * must be asked for anew. Names in a directory are unique. A node that is gone lives on, detached, as long as somebody
 * refers to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* One write(2) in flight: an answer may come later, when the driver is done. */
struct sim_write {
	const char *data; /* a NUL stands behind it; valid only until the call that takes the write returns */
	size_t len;
	pid_t pid;
	void (*done)(struct sim_write *write, ssize_t result); /* called once: bytes written, or a negative errno */
};

/* A device is opened by asking us; a char is a character device of some number, which nobody can open. */
enum sim_kind { SIM_DIR, SIM_FILE, SIM_LINK, SIM_DEVICE, SIM_CHAR };

struct sim_node;

/*
 * What a file is and does. `show` prints the content or returns a negative errno; `store` answers through write->done.
 */
struct sim_attr {
	const char *name;
	mode_t mode;
	bool kept; /* the content stays the same until sim_tree_stale() is called */
	int (*show)(const struct sim_node *node, FILE *out);
	void (*store)(struct sim_node *node, struct sim_write *write);
};

struct sim_node {
	enum sim_kind kind;
	bool passing;            /* made after the tree was settled */
	bool varies;             /* a directory whose entries come and go */
	bool waits;              /* a file: reads of it wait for what is under way */
	bool gone;               /* no longer in the tree */
	bool looked_at;          /* a file, by somebody who keeps what he saw; set by who has the hooks */
	const char *name;        /* its own copy, but for a file: that is attr->name */
	struct sim_node *parent; /* NULL: the root */
	struct sim_node *first;  /* of a directory: its entries, in the order of `position` */
	struct sim_node *last, *next, *prev;
	struct sim_node *chain;      /* the next of the same hash */
	const struct sim_attr *attr; /* of a file */
	char *target;                /* of a link */
	dev_t rdev;                  /* of a char */
	void *owner;                 /* whom it belongs to: what show and store work on */
	uint64_t id;                 /* never used again */
	uint64_t position;           /* where it stands in its directory: grows, never used again */
	uint64_t positions;          /* of a directory: the last position given away */
	uint64_t changed;            /* of a directory: other than before when an entry has come or gone */
	unsigned refs;               /* who looks at it from outside; kept by sim_tree_refer */
	unsigned alias, writing;     /* of a file: see fuse_attr.c */
	char **told;                 /* of a file: the text whose size was told last, by alias; NULL: none was */
};

/* The bits that are free in a node's number: as many names a file may have for the real kernel. */
enum { SIM_ALIASES = 16 };

struct sim_tree {
	struct sim_node *root;
	struct sim_node **table; /* by directory and name */
	size_t slots, count;
	uint64_t last_id;
	bool settled, ends;
	/*
	 * What was cached has to be dropped: of a node that goes, of a directory whose listing has changed, of a file.
	 */
	void (*going)(void *arg, const struct sim_node *directory, const struct sim_node *node);
	void (*changing)(void *arg, const struct sim_node *directory);
	void (*stale)(void *arg, struct sim_node *file);
	void *hook_arg;
};

void sim_tree_init(struct sim_tree *tree);
void sim_tree_free(struct sim_tree *tree);
void sim_tree_settle(struct sim_tree *tree);

/* The entry `name` of a directory, NULL where there is none. */
struct sim_node *sim_tree_find(const struct sim_tree *tree, const struct sim_node *dir, const char *name);

/*
 * Makes an entry; in sim_tree_dir one that is there already is taken as it is. `path` may have several directories in
 * it.
 */
struct sim_node *sim_tree_dir(struct sim_tree *tree, struct sim_node *dir, const char *path, void *owner);
struct sim_node *sim_tree_file(struct sim_tree *tree, struct sim_node *dir, const struct sim_attr *attr, void *owner);
struct sim_node *sim_tree_device(struct sim_tree *tree, struct sim_node *dir, const char *name, void *owner);
struct sim_node *sim_tree_char(struct sim_tree *tree, struct sim_node *dir, const char *name, dev_t rdev);

/*
 * Makes a link to a node of the tree; the text is relative and leads through the nearest common directory, as the
 * kernel's do.
 */
struct sim_node *sim_tree_link(struct sim_tree *tree, struct sim_node *dir, const char *name,
			       const struct sim_node *to);

/* Makes a link with a text of its own. */
struct sim_node *sim_tree_link_text(struct sim_tree *tree, struct sim_node *dir, const char *name, const char *text);

/*
 * Says that entries of this directory come and go so often that its listing is better asked for. To be called before
 * settling.
 */
void sim_tree_varies(struct sim_node *dir);

/* Says that a file's content is another one now. */
void sim_tree_stale(struct sim_tree *tree, struct sim_node *file);

/* Removes a node with all that is below it; nothing happens where `node` is NULL. */
void sim_tree_remove(struct sim_tree *tree, struct sim_node *node);

/* Counts who looks at the node from outside; a detached node is freed with the last one. */
void sim_tree_refer(struct sim_node *node);
void sim_tree_unrefer(struct sim_tree *tree, struct sim_node *node, uint64_t count);

/* Answers a write. */
void sim_write_done(struct sim_write *write, ssize_t result);
