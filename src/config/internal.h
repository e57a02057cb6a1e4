/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of config share.
 *
 *     config_file.c   a file of the administrator -> its text, or why it is not trusted
 *     config_ini.c    text -> sections, keys and values (the only file with inih)
 *     config_keys.c   a key and its value -> struct draft, by the table of its section; messages with their place
 *     config_type.c, config_policy.c   the tables, and the values that are more than a number or a word
 *     config_nova_file.c  a nova.conf -> its entries, by the lines of oslo.config's parser
 *     config_nova.c   entries -> struct draft: which of them count, by the same tables as our keys
 *     config_draft.c  struct draft -> struct config; what only the whole can tell
 *     config.c        which files, in which order; the public functions
 */
#pragma once

#include "config/config.h"

enum { KEYS_MAX = 16, SECTIONS_MAX = 1024, TYPES_MAX = 256, SECTION_ADDRESSES_MAX = 1024, INSTANCES_MAX = 65535 };

/* Whose rules hold for a file: ours, or those of Nova and its oslo.config. */
enum dialect { DIALECT_OURS, DIALECT_NOVA };

/* A file to be read. */
struct source {
	const char *path; /* seen from a directory */
	const char *name; /* in messages */
	enum dialect dialect;
};

struct enabled {
	char type[TYPE_SIZE];
	struct location at;
};

/* A file or directory of nova_conf. */
struct nova_path {
	char *path; /* absolute */
	struct location at;
};

/* What nova.conf says of the pool; "unread": Nova has the option under another name only. */
enum nova_option { NOVA_TYPES, NOVA_HEADER, NOVA_ADDRESSES, NOVA_CLASS, NOVA_MAX, NOVA_UNREAD };

/* A header or a key that does; the text is that of draft->texts. */
struct nova_entry {
	struct location at; /* of a header without a key; oslo.config takes no notice of the case of a section */
	char *value;        /* whole; further lines begin with '\n' */
	enum nova_option option;
	bool old; /* the deprecated name */
};

/* The configuration while its files are read. */
struct draft {
	struct config *config; /* gets policy, quotas, warnings and files at once, the sections in the end */
	struct section *sections;
	size_t nsections;
	struct enabled_list {
		struct enabled *types;
		size_t n;
		struct location at; /* line 0: no file has the key */
	} enabled[2];               /* by dialect */
	struct location fixed[3];   /* the last [devices], [policy], [quota] */
	struct nova_path *paths;    /* nova_conf */
	size_t npaths;
	struct nova_entry *entries; /* of all of its files, in the order in which they are read */
	size_t nentries;
	char **texts;
	size_t ntexts;
	const struct host *host; /* NULL: there is none */
	bool reuse_given;
	struct config_notes *mistakes; /* NULL: the first one ends it */
	bool unsure;                   /* after a mistake, what is enabled is not known */
};

/* A key that is being set. */
struct setting {
	struct draft *draft;
	struct section *section; /* NULL in a section that is not a type's */
	const struct key *key;
	struct location at;
	struct err *err;
};

/* One of a few words, and what it stands for; a table ends with a NULL word. */
struct word {
	const char *word;
	int value;
	const char *instead; /* of an earlier version: what to write; NULL: it holds */
};

/* What a section may hold; a table ends with a NULL name. */
struct key {
	const char *name;
	int (*set)(const struct setting *t, char *value); /* may take `value` apart */
	bool list;                                        /* may continue on the next lines */
	bool many;                                        /* may stand there often: project:ID */
	size_t offset;  /* of an int, in a type's section in struct section, else in struct config */
	long min, max;  /* of a number */
	bool unlimited; /* a number may also be this word, NO_LIMIT */
	const struct word *words;
	bool flag; /* a word sets a bool */
};

extern const struct key config_devices_keys[], config_mdev_keys[], config_policy_keys[], config_quota_keys[];

/* A plain VF has no parameters: nothing is written to it. */
#define config_vf_keys (config_mdev_keys + 1)

/* "file:line: [section] key: ...", -EINVAL. */
int config_err(const struct location *at, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same as a warning that config keeps. */
void config_warn(const struct location *at, struct config *config, bool of_pool, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * A step has ended with `r`: a mistake is noted, and 0 returned to go on, where all of them are asked for. Anything
 * else is returned as it is.
 */
int config_mistake(struct draft *draft, int r, const struct err *err);

/* Adds a copy to a list of strings; the list's end. */
const char *config_keep(char ***list, size_t *n, const char *text);
void config_strings_free(char **list, size_t n);

/* Frees a section's lists. */
void config_section_free(struct section *section);

const struct key *config_key(const struct key *keys, const char *name);
int config_key_unknown(const struct key *keys, const struct location *at, struct err *err);

/* Sets a key to its whole value; each further line that it stood on begins with '\n'. */
int config_key_set(const struct setting *t, char *value);
int config_number(const struct setting *t, const char *value, int *to);
int config_set_number(const struct setting *t, char *value);
int config_set_word(const struct setting *t, char *value);

/* Calls `add` for each item of a list, with the line where it begins. */
int config_each_item(const struct setting *t, char *list, int (*add)(const struct setting *t, char *item));

/*
 * Reads a file of ours or nova.conf. Followed if it is a link; must be a regular file of at most 1 MiB. Ours must
 * belong to root or to whoever runs this, and nobody else may write to it; nova.conf, which packages give to Nova's
 * own user, must not be writable for everybody. Returns the errno of open, or -EINVAL.
 */
int config_file_read(int dir, const struct source *source, char **text, size_t *len, struct err *err);

struct dirent;

/*
 * The *.conf of a directory, sorted by their bytes: their number, 0 where it is missing. The caller frees each and the
 * list.
 */
int config_file_drop_ins(int dir, const struct source *source, struct dirent ***list, struct err *err);

/*
 * Reads the text of the file `name` into the draft. A key replaces that of an earlier file. -EINVAL with
 * file and line for what is wrong, or could be read otherwise than it was meant.
 */
int config_ini_read(struct draft *draft, const char *name, const char *text, size_t len, struct err *err);

/* "mtty_mtty", as libvirt calls the node device mtty, becomes "mtty"; false where the word is not of that form. */
bool config_halve(char *word);

/*
 * Reads the lines of a nova.conf; -EINVAL where Nova refuses one. `text` is taken apart, and lives as long as the
 * draft.
 */
int config_nova_read(struct draft *draft, const char *name, char *text, size_t len, struct err *err);

/*
 * All files are read: what nova.conf enables, and the sections of the enabled types that none of our files has. To be
 * called once, before what only the whole can tell is checked.
 */
int config_nova_apply(struct draft *draft, struct err *err);

/* A section begins. Returns the keys that it may have, or NULL and an error; *section: a type's section, or NULL. */
const struct key *config_draft_section(struct draft *draft, const struct location *at, struct section **section,
				       struct err *err);

/* What is enabled: by ours, if one of our files has the list. */
const struct enabled_list *config_draft_enabled(const struct draft *draft);

/* The section of a type: ours, else that of nova.conf; NULL where there is none. */
struct section *config_draft_find(const struct draft *draft, const char *type);

/* Adds one with the defaults. */
struct section *config_draft_add(struct draft *draft, const char *type);

void config_draft_drop_paths(struct draft *draft);

/* Checks the whole and fills config->sections. */
int config_draft_finish(struct draft *draft, struct err *err);
void config_draft_free(struct draft *draft);
