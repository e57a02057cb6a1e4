/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mdevctl's definitions: which one of a UUID holds, what is refused, and what an undefine removes. */
#include "look/mdevctl_files.h"

#include "lib/names.h"
#include "lib/tree.h"

#define DIRECTORY "etc/mdevctl.d/"
#define CARD "0000:84:00.0"
#define OTHER_CARD "0000:85:00.0"
#define DEFINED(type, start) "{\"mdev_type\":\"" type "\",\"start\":\"" start "\",\"attrs\":[]}\n"

static struct tree tree;
static struct definition d;
static struct err err;

static int find(const char *uuid)
{
	return mdevctl_definition(&d, &tree.host, uuid, &err);
}

static void one(void)
{
	ok(find("C6F1A2B3-0000-4000-8000-00000000000B") == 1,
	   "a definition is found, in whatever case, spread over lines and with attributes");
	ok(strcmp(d.uuid, B) == 0 && strcmp(d.parent, CARD) == 0 && strcmp(d.type, "nvidia-222") == 0 && !d.starts,
	   "with its parent and type; a manual one does not start by itself");
	ok(find(A) == 1 && strcmp(d.parent, OTHER_CARD) == 0 && d.starts,
	   "of two parents' the one that starts by itself counts");
	ok(find(C) == 0, "none is none");
	ok(find("../" CARD "/" B) == 0, "what is no UUID has none");
	ok(mdevctl_defines(&tree.host, A, "") && !mdevctl_defines(&tree.host, C, ""), "whether there is one is told");
}

static void all(void)
{
	autofree struct definition *list = NULL;
	size_t n = 0;

	ok(mdevctl_definitions(&list, &n, &tree.host, NULL, &err) == 0 && n == 3,
	   "all definitions are listed, and no other file");
	ok(n == 3 && strcmp(list[0].uuid, A) == 0 && strcmp(list[1].uuid, B) == 0 &&
		   strcmp(list[2].parent, OTHER_CARD) == 0,
	   "by parent, then UUID");
}

static void broken(const char *text, const char *why)
{
	autofree struct definition *list = NULL;
	size_t n;

	mdevctl_undefine(&tree.host, C, CARD, &err);
	tree_add(&tree, text);
	ok(find(C) == -EINVAL && strstr(err.text, CARD "/" C) && strstr(err.text, why), "it is refused, and named: %s",
	   why);
	ok(mdevctl_defines(&tree.host, C, ""), "it may be one: nothing of it is removed");
	ok(mdevctl_definitions(&list, &n, &tree.host, NULL, &err) == -EINVAL && strstr(err.text, why) && n == 3,
	   "and the list has all others, and says so");
}

/* A reader of text ends there, so what follows would be passed over. */
static void with_nul(void)
{
	static const char bytes[] = DEFINED("nvidia-222", "auto") "\0x";

	tree_bytes(&tree, DIRECTORY CARD "/" C, bytes, sizeof(bytes) - 1);
	ok_err(find(C) == -EINVAL && strstr(err.text, "NUL"), "a definition with a NUL byte is refused");
}

static void parents(void)
{
	tree_add(&tree, "sys/bus/pci/devices/" CARD "/\n");
	ok(find(A) == 1 && strcmp(d.parent, CARD) == 0,
	   "a manual one of a card that exists counts before one of an address that no card has");
	tree_add(&tree, "sys/class/mdev_bus/" OTHER_CARD "/\n");
	ok(find(A) == 1 && strcmp(d.parent, OTHER_CARD) == 0, "if both exist, the one that starts by itself does");
}

static void undefining(void)
{
	ok(mdevctl_undefine(&tree.host, C, CARD, &err) == 0 && find(C) == 0 && !mdevctl_defines(&tree.host, C, ""),
	   "an undefine removes what is not valid, too");
	ok(mdevctl_undefine(&tree.host, A, CARD, &err) == 0 && find(A) == 1 && strcmp(d.parent, OTHER_CARD) == 0,
	   "that of this parent alone");
	ok(mdevctl_defines(&tree.host, A, "") && !mdevctl_defines(&tree.host, C, ""),
	   "without a parent one on any of them counts");
	ok(!mdevctl_defines(&tree.host, A, CARD) && mdevctl_defines(&tree.host, A, OTHER_CARD),
	   "another parent keeps its own");
	ok(mdevctl_undefine(&tree.host, A, OTHER_CARD, &err) == 0 && !mdevctl_defines(&tree.host, A, ""),
	   "which is removed when it is named");
	ok(mdevctl_defines(&tree.host, B, ""), "but no other");
	ok(mdevctl_undefine(&tree.host, A, CARD, &err) == 0, "none is no error");
	ok(mdevctl_undefine(&tree.host, "../" CARD, CARD, &err) == -EINVAL, "what is no UUID is refused");
}

int main(void)
{
	tree_begin(&tree, "etc/\n");
	ok(find(A) == 0 && mdevctl_undefine(&tree.host, A, CARD, &err) == 0,
	   "without mdevctl's directory there is none");
	tree_add(&tree, DIRECTORY CARD "/" A " = " DEFINED("nvidia-222", "manual"));
	tree_add(&tree, DIRECTORY CARD "/" B " = {\\n \"mdev_type\": \"nvidia-222\",\\n \"start\": \"manual\",\\n"
				       " \"attrs\": [ { \"a\": \"1\" } ]\\n}\n");
	tree_add(&tree, DIRECTORY OTHER_CARD "/" A " = " DEFINED("nvidia-230", "auto"));
	tree_add(&tree, DIRECTORY CARD "/note = no definition\n" DIRECTORY "scripts.d/callouts/x = y\n" DIRECTORY
				       "a b/" A " = broken\n");
	one();
	all();
	broken(DIRECTORY CARD "/" C " = {\n", "");
	broken(DIRECTORY CARD "/" C " = {\"mdev_type\":\n", "");
	broken(DIRECTORY CARD "/" C " = {\"start\":\"auto\"}\n", "mdev_type is missing");
	broken(DIRECTORY CARD "/" C " = {\"mdev_type\":\"../x\"}\n", "mdev_type is not a type ID");
	with_nul();
	parents();
	undefining();
	tree_end(&tree);
	return tap_done();
}
