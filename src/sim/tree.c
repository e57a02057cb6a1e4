/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Implements the simulated file tree. */
#include "sim/tree.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { OWN_PLACES = 2 }; /* "." and ".." */

void sim_write_done(struct sim_write *write, ssize_t result)
{
	write->done(write, result);
}

/* FNV-1a of the directory's id and the name. */
static size_t slot_of(const struct sim_tree *tree, const struct sim_node *dir, const char *name)
{
	uint64_t hash = (14695981039346656037ULL ^ dir->id) * 1099511628211ULL;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 1099511628211ULL;
	return (size_t)((hash ^ (hash >> 29)) & (tree->slots - 1));
}

static void table_add(struct sim_tree *tree, struct sim_node *node)
{
	size_t slot = slot_of(tree, node->parent, node->name);

	node->chain = tree->table[slot];
	tree->table[slot] = node;
}

static void table_grow(struct sim_tree *tree)
{
	struct sim_node **old = tree->table;
	size_t slots = tree->slots;

	tree->slots = slots * 2;
	tree->table = mem_new(1, tree->slots * sizeof(struct sim_node *));
	for (size_t i = 0; i < slots; i++) {
		struct sim_node *node = old[i];

		while (node) {
			struct sim_node *next = node->chain;

			table_add(tree, node);
			node = next;
		}
	}
	free(old);
}

static void table_drop(struct sim_tree *tree, const struct sim_node *node)
{
	struct sim_node **at = &tree->table[slot_of(tree, node->parent, node->name)];

	while (*at != node)
		at = &(*at)->chain;
	*at = node->chain;
	tree->count--;
}

static void node_free(struct sim_node *node)
{
	if (node->kind != SIM_FILE)
		free((char *)(uintptr_t)node->name);
	free(node->target);
	for (int i = 0; node->told && i < SIM_ALIASES; i++)
		free(node->told[i]);
	free(node->told);
	free(node);
}

void sim_tree_init(struct sim_tree *tree)
{
	*tree = (struct sim_tree){ .slots = 1024 };
	tree->table = mem_new(1, tree->slots * sizeof(struct sim_node *));
	tree->root = mem_new(1, sizeof(*tree->root));
	tree->root->name = mem_strdup("");
	tree->root->id = tree->last_id = 1;
	tree->root->positions = OWN_PLACES;
}

void sim_tree_free(struct sim_tree *tree)
{
	struct sim_node *node;

	if (!tree->root)
		return;
	tree->going = NULL;
	tree->changing = NULL;
	tree->stale = NULL;
	tree->ends = true;
	while ((node = tree->root->first))
		sim_tree_remove(tree, node);
	node_free(tree->root);
	free(tree->table);
	*tree = (struct sim_tree){ 0 };
}

void sim_tree_settle(struct sim_tree *tree)
{
	tree->settled = true;
}

struct sim_node *sim_tree_find(const struct sim_tree *tree, const struct sim_node *dir, const char *name)
{
	struct sim_node *node = tree->table[slot_of(tree, dir, name)];

	while (node && (node->parent != dir || strcmp(node->name, name) != 0))
		node = node->chain;
	return node;
}

static void touch(struct sim_tree *tree, struct sim_node *dir)
{
	if (!tree->settled)
		return;
	dir->changed++;
	if (tree->changing && !dir->varies)
		tree->changing(tree->hook_arg, dir);
}

/* The node owns `name`, except if the node is a file. */
static struct sim_node *node_add(struct sim_tree *tree, struct sim_node *dir, enum sim_kind kind, const char *name,
				 void *owner)
{
	struct sim_node *node = mem_new(1, sizeof(*node));

	node->kind = kind;
	node->name = name;
	node->parent = dir;
	node->owner = owner;
	node->passing = tree->settled;
	if (node->passing)
		clock_gettime(CLOCK_REALTIME, &node->made);
	node->varies = tree->settled && kind == SIM_DIR;
	node->id = ++tree->last_id;
	node->positions = OWN_PLACES;
	node->position = ++dir->positions;
	node->prev = dir->last;
	if (dir->last)
		dir->last->next = node;
	else
		dir->first = node;
	dir->last = node;
	if (++tree->count > tree->slots)
		table_grow(tree);
	table_add(tree, node);
	touch(tree, dir);
	return node;
}

struct sim_node *sim_tree_dir(struct sim_tree *tree, struct sim_node *dir, const char *path, void *owner)
{
	autofree char *copy = mem_strdup(path);
	char *rest = copy, *name;

	while ((name = strsep(&rest, "/"))) {
		struct sim_node *node = sim_tree_find(tree, dir, name);

		dir = node ? node : node_add(tree, dir, SIM_DIR, mem_strdup(name), rest ? NULL : owner);
	}
	return dir;
}

struct sim_node *sim_tree_file(struct sim_tree *tree, struct sim_node *dir, const struct sim_attr *attr, void *owner)
{
	struct sim_node *node = node_add(tree, dir, SIM_FILE, attr->name, owner);

	node->attr = attr;
	return node;
}

struct sim_node *sim_tree_device(struct sim_tree *tree, struct sim_node *dir, const char *name, void *owner)
{
	struct sim_node *node = node_add(tree, dir, SIM_DEVICE, mem_strdup(name), owner);

	node->passing = true;
	return node;
}

struct sim_node *sim_tree_char(struct sim_tree *tree, struct sim_node *dir, const char *name, dev_t rdev)
{
	struct sim_node *node = node_add(tree, dir, SIM_CHAR, mem_strdup(name), NULL);

	node->passing = true;
	node->rdev = rdev;
	return node;
}

struct sim_node *sim_tree_link_text(struct sim_tree *tree, struct sim_node *dir, const char *name, const char *text)
{
	struct sim_node *node = node_add(tree, dir, SIM_LINK, mem_strdup(name), NULL);

	node->target = mem_strdup(text);
	return node;
}

static bool is_below(const struct sim_node *node, const struct sim_node *dir)
{
	while (node && node != dir)
		node = node->parent;
	return node;
}

/* Writes "a/b", the path from `top` down to `node`. */
static void way_down(FILE *out, const struct sim_node *top, const struct sim_node *node)
{
	if (node == top)
		return;
	if (node->parent != top) {
		way_down(out, top, node->parent);
		putc('/', out);
	}
	fputs(node->name, out);
}

struct sim_node *sim_tree_link(struct sim_tree *tree, struct sim_node *dir, const char *name, const struct sim_node *to)
{
	const struct sim_node *top = dir;
	char text[PATH_MAX];
	FILE *out = mem_check(fmemopen(text, sizeof(text), "w"));

	for (; !is_below(to, top); top = top->parent)
		fputs("../", out);
	way_down(out, top, to);
	fclose(out);
	return sim_tree_link_text(tree, dir, name, text);
}

void sim_tree_stale(struct sim_tree *tree, struct sim_node *file)
{
	if (tree->stale)
		tree->stale(tree->hook_arg, file);
}

void sim_tree_varies(struct sim_node *dir)
{
	dir->varies = true;
}

static void node_remove(struct sim_tree *tree, struct sim_node *dir, struct sim_node *node)
{
	while (node->first)
		node_remove(tree, node, node->first);
	table_drop(tree, node);
	if (node->prev)
		node->prev->next = node->next;
	else
		dir->first = node->next;
	if (node->next)
		node->next->prev = node->prev;
	else
		dir->last = node->prev;
	touch(tree, dir);
	node->gone = true;
	node->parent = node->next = node->prev = NULL;
	if (node->refs == 0 || tree->ends)
		node_free(node);
}

void sim_tree_remove(struct sim_tree *tree, struct sim_node *node)
{
	if (!node)
		return;
	if (!node->passing && tree->going)
		tree->going(tree->hook_arg, node->parent, node);
	node_remove(tree, node->parent, node);
}

void sim_tree_refer(struct sim_node *node)
{
	node->refs++;
}

void sim_tree_unrefer(struct sim_tree *tree, struct sim_node *node, uint64_t count)
{
	if (node == tree->root)
		return;
	node->refs -= count > node->refs ? node->refs : (unsigned)count;
	if (node->refs == 0 && node->gone)
		node_free(node);
}
