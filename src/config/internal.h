/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the rooms of config share: a file taken apart, the configuration while it is being put together, messages with
 * their place. Included by config*.c only.
 *
 *     config_file.c   a file of the administrator -> its text, or why it is not trusted
 *     config_ini.c    text -> struct ini: sections, keys, values, lines (the only file with inih)
 *     config_type.c, config_policy.c   the value of a key -> struct draft, and the tables of keys
 *     config_keys.c   the keys of a section, by these tables; messages
 *     config_draft.c  sections -> struct draft; what only the whole can tell -> struct config
 *     config.c        which files, in which order; the public functions
 */
#pragma once

#include "config/config.h"

enum { INI_NAME_SIZE = 50 }; /* inih keeps 49 characters of a section's name and cuts the rest silently */

/* Ours, or nova.conf as oslo.config reads it: only the sections that Nova and we share are looked at in it. */
enum dialect { DIALECT_OURS, DIALECT_NOVA };

/* Where a line that continues a value begins in it. */
struct ini_break {
	size_t at;
	int line;
};

struct ini_entry {
	char key[INI_NAME_SIZE];
	char *value; /* lines that continue it are joined by a blank */
	int line;
	struct ini_break *breaks;
	size_t nbreaks; /* 0: it is on one line */
};

struct ini_section {
	char name[INI_NAME_SIZE];
	int line;
	struct ini_entry *entries;
	size_t nentries;
};

struct ini {
	struct ini_section *sections; /* empty ones, too; no name comes twice */
	size_t nsections;
};

/* Where something stands: line 0, section and key NULL in messages on a whole file or section. Owns nothing. */
struct spot {
	const char *file;
	int line;
	const char *section, *key;
};

/* A type's section while it is put together. */
struct part {
	struct section section;
	char name[INI_NAME_SIZE]; /* as it is spelt: mdev_X, vgpu_X, vf_X */
	bool nova, enabled;
	struct spot addresses_at; /* section not set; line 0: none */
};

struct enabled {
	char type[TYPE_SIZE];
	struct place at;
};

struct draft {
	struct config *config; /* gets policy, quotas, warnings and files at once, the sections in the end */
	struct part *parts;
	size_t nparts;
	struct enabled *enabled;
	size_t nenabled;
	struct spot enabled_at; /* line 0: no file says what is enabled */
	char *nova_conf;        /* absolute; NULL */
	struct spot nova_at;
	bool reuse_given;
	struct config_notes *mistakes; /* NULL: the first one ends it */
	bool unsure;                   /* after a mistake, what is enabled is not known */
};

/*
 * A step has ended with `r`: a mistake is noted, and 0 returned to go on, where all of them are asked for. Anything
 * else is returned as it is.
 */
int config_mistake(struct config_notes *mistakes, int r, const struct err *err);

/* "file:line: [section] key: ...", -EINVAL. */
int spot_err(const struct spot *at, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same as a warning that config keeps; -ENOMEM. */
int spot_warn(const struct spot *at, struct config *config, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Adds a zeroed element to the list that *list points to; returns it, or NULL where there is no memory. */
void *list_add(void *list, size_t *n, size_t size);

/* A key that is being set. */
struct setting {
	struct draft *draft;
	struct part *part; /* in a type's section */
	const struct key *key;
	const struct spot *at;
	const struct ini_entry *entry;
	const char *value; /* the copy of its value that is taken apart */
	struct err *err;
};

/* What a section may hold; a table ends with a NULL name. */
struct key {
	const char *name;
	int (*set)(const struct setting *t, char *value); /* may take `value` apart */
	bool list;                                        /* may go on over more lines */
	bool many;                                        /* may stand there often: project:ID */
	bool nova;                                        /* Nova has it, too; its other keys are not looked at */
	const char *same_as;                              /* another spelling of that key */
	size_t offset; /* for a number of seconds: where in struct policy, and what is allowed */
	long min, max;
};

extern const struct key config_devices_keys[], config_mdev_keys[], config_vf_keys[], config_policy_keys[],
	config_quota_keys[];

/* One of a few words, and what it stands for; a table ends with a NULL word. */
struct word {
	const char *word;
	int value;
};

/* Where it stands, to be kept; `section` as a word that lives long enough. */
struct spot setting_spot(const struct setting *t, const char *section);

/* The same of one item of a list, by where it begins in the value that is taken apart. */
struct spot setting_item(const struct setting *t, const char *item);

int setting_number(const struct setting *t, const char *value, long min, long max, int *to);
int setting_word(const struct setting *t, const char *value, const struct word *words, int *to);

/*
 * Reads a file of ours or nova.conf. Followed if it is a link; must be a regular file of at most 1 MiB. Ours must
 * belong to root or to whoever runs this, and nobody else may write to it; nova.conf, which packages give to Nova's
 * own user, must not be writable for everybody. `name` is how messages call it. Returns the errno of open, or
 * -EINVAL.
 */
int config_file_read(int dir, const char *path, const char *name, enum dialect dialect, char **text, size_t *len,
		     struct err *err);

/*
 * The names of the drop-ins in a folder, sorted by their bytes; none where the folder is missing. The caller frees
 * each and the list.
 */
int config_file_drop_ins(int dir, const char *path, const char *name, char ***names, size_t *n, struct err *err);

/*
 * Takes a text apart; -EINVAL with file and line for whatever could be read otherwise than it was meant. With
 * `mistakes` (NULL: none) what cannot be read is noted and left out.
 */
int config_ini_read(struct ini *ini, const char *file, const char *text, size_t len, enum dialect dialect,
		    struct config_notes *mistakes, struct err *err);
void config_ini_free(struct ini *ini);

/* Sets what one section says: `part` for a type's section, else NULL. */
int config_keys_take(struct draft *draft, struct part *part, const struct key *keys, const char *file,
		     const struct ini_section *section, enum dialect dialect, struct err *err);

/*
 * Takes over what one file says. `file` lives as long as config. What the file before said of the same key is
 * replaced.
 */
int config_draft_take(struct draft *draft, const char *file, const struct ini *ini, enum dialect dialect,
		      struct err *err);

/* Adds what nova.conf says where our own files say nothing. */
int config_draft_add_nova(struct draft *ours, struct draft *nova, struct err *err);

/* Checks the whole and fills config->sections. */
int config_draft_finish(struct draft *draft, struct err *err);
void config_draft_free(struct draft *draft);
