/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of config share.
 *
 *     config_ini.c     text -> sections, keys and values (the only file with inih)
 *     config_keys.c    a key and its value -> struct draft, by the table of its section; the defaults
 *     config_draft.c   the entries of nova.conf that count -> struct draft, by the tables of our keys; struct draft ->
 *                      struct config, with the checks that need all files
 *     config.c         which files, in which order, and whether they are trusted; messages; the public functions
 */
#pragma once

#include "config/config.h"

enum { KEYS_MAX = 16, SECTIONS_MAX = 1024, TYPES_MAX = 256, SECTION_ADDRESSES_MAX = 1024, INSTANCES_MAX = 65535 };

struct draft {
	struct config *config; /* filled as our files are read; the sections are sorted at the end */
	/* The enabled types: our files' list or, without one, nova.conf's. */
	struct {
		struct item *types;
		size_t n;
		struct location at; /* line 0: no file has the list */
	} enabled;
	struct item twice;  /* a type that nova.conf lists twice */
	struct item *paths; /* value of nova_conf: absolute paths of files or directories */
	size_t npaths;
	struct nova_entry *entries; /* entries of all nova.conf files, in the order of reading */
	size_t nentries;
	char **texts; /* of all files, freed with the draft: a nova.conf can contain passwords */
	size_t ntexts;
	const struct host *host; /* nova_conf paths are relative to its root */
	struct config_notes mistakes;
	bool unsure; /* after some mistakes, the enabled types are not known */
};

struct setting {
	struct draft *draft;
	struct section *section; /* NULL: the key is not in a type's section */
	const struct key *key;
	struct location at;
};

/* A word and its value. A table ends with a NULL word. */
struct word {
	const char *word;
	int value;
	const char *instead; /* for an obsolete word: what to write in its place; NULL: the word is valid */
};

/* A key that a section can have. A table ends with a NULL name. */
struct key {
	const char *name;
	int (*set)(const struct setting *t, char *value); /* may modify `value` */
	int (*add)(const struct setting *t, char *item);  /* adds an item of a list; used in place of `set` */
	bool nova;                                        /* also a key of Nova */
	bool list;                                        /* the value can continue on the following lines */
	bool many;                                        /* the key can occur more than once (project:ID) */
	size_t offset; /* place in struct section or config of the value, or with `add` of the list's length */
	long min, max;
	int usual;      /* the default of a number in struct config */
	bool unlimited; /* the word "unlimited" is also valid and means NO_LIMIT */
	const struct word *words;
	bool flag; /* `words` set a bool, not an int */
};

extern const struct key config_devices_keys[], config_mdev_keys[], config_policy_keys[], config_quota_keys[];

/* Without vgpu_params, because nothing can be written to a plain VF. */
#define config_vf_keys (config_mdev_keys + 1)

/*
 * Adds the mistake "file:line: [section] key: ..." to the draft, and returns -EINVAL. One without a section, because a
 * file or a line cannot be read, sets `unsure`. config_mistake_word() sets the word of the last mistake.
 */
int config_mistake(struct draft *draft, const struct location *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int config_mistake_word(const struct draft *draft, const char *word);

/* Adds a warning "file:line: [section] key: ..." to the configuration. `code` is EINVAL or ENODEV. */
void config_warn(const struct location *at, struct config *config, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Adds a copy to a list of strings, which owns the copy. Returns the copy. */
const char *config_keep(char ***list, size_t *n, const char *text);
void config_strings_free(char **list, size_t n);

void config_section_free(struct section *section);

const struct item *config_item(const struct item *list, size_t n, const char *text);
const struct key *config_key(const struct key *keys, const char *name);

/* Sets a key. In the value, each continuation line begins with '\n'. -EINVAL: invalid value. */
int config_key_set(const struct setting *t, char *value);

/*
 * Reads the text of our file or (`nova`) of a nova.conf into the draft, where its keys replace those of earlier files.
 * Modifies the text. That of a nova.conf must live as long as the draft.
 */
void config_ini_read(struct draft *draft, const char *name, bool nova, char *text, size_t len);

/* Adds a header (`value` NULL) or key of a nova.conf to draft->entries, if it defines the pool. -EINVAL: too many. */
int config_nova_take(struct draft *draft, const struct location *at, char *value);

/* Returns a type's section: ours, or nova.conf's if our files have none, or NULL. */
struct section *config_draft_find(const struct draft *draft, const char *type);

struct section *config_draft_add(struct draft *draft, const char *type);

/* Checks what depends on several files, and sorts config->sections. -EINVAL: there are mistakes; `err` is the first. */
int config_draft_finish(struct draft *draft, struct err *err);
void config_draft_free(struct draft *draft);
