/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration: the files that it consists of, their order, and which are trusted; messages with their place. */
#include "config/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { FILE_MAX = 1024 * 1024 };

void config_default(struct config *config)
{
	*config = (struct config){
		.policy = {
			.placement = PLACE_PACK,
			.reuse_free = true,
			.reclaim_orphans = true,
			.reclaim_grace_s = 600,
			.reserve_ttl_s = 60,
			.create_timeout_s = 10,
			.start_grace_s = 120,
			.release_wait_s = 1,
			.release_timeout_s = 10,
			.driver_cleanup_s = 10,
			.lock_timeout_s = 30,
		},
		.quota_default = NO_LIMIT,
		.quota_none = NO_LIMIT,
	};
}

static int verr(const struct location *at, struct err *err, const char *fmt, va_list ap)
{
	char text[2048], line[16] = "";
	size_t where;

	if (at->line)
		snprintf(line, sizeof(line), ":%d", at->line);
	where = (size_t)snprintf(text, sizeof(text), "%.512s%s: ", at->file, line);
	if (at->section)
		text_add(text, sizeof(text), "[%s]%s", at->section, at->key ? " " : ": ");
	if (at->key)
		text_add(text, sizeof(text), "%.80s: ", at->key);
	vsnprintf(text + strlen(text), sizeof(text) - strlen(text), fmt, ap);
	err_set(err, EINVAL, "%s", text);
	err->where = where;
	return -EINVAL;
}

int config_err(const struct location *at, struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	verr(at, err, fmt, ap);
	va_end(ap);
	if (at->nova)
		text_add(err->text, sizeof(err->text), "; or write [%s] in vgpu-lease.conf, which takes precedence",
			 at->section);
	return -err->code;
}

static void add_note(struct config_notes *notes, const struct err *err, bool of_pool)
{
	struct config_note *slot = mem_add(&notes->list, &notes->n, sizeof(*slot));

	slot->of_pool = of_pool;
	slot->where = err->where;
	slot->text = mem_strdup(err->text);
	memcpy(slot->word, err->word, sizeof(slot->word));
}

void config_warn(const struct location *at, struct config *config, bool of_pool, const char *fmt, ...)
{
	struct err warning;
	va_list ap;

	va_start(ap, fmt);
	verr(at, &warning, fmt, ap);
	va_end(ap);
	add_note(&config->warnings, &warning, of_pool);
}

int config_mistake(struct draft *draft, int r, const struct err *err)
{
	if (r != -EINVAL || !draft->mistakes || draft->mistakes->n >= CONFIG_MISTAKES_MAX)
		return r;
	add_note(draft->mistakes, err, false);
	return 0;
}

void config_notes_free(struct config_notes *notes)
{
	for (size_t i = 0; i < notes->n; i++)
		free(notes->list[i].text);
	free(notes->list);
	*notes = (struct config_notes){ 0 };
}

const char *config_keep(char ***list, size_t *n, const char *text)
{
	char **slot = mem_add(list, n, sizeof(*slot));

	return *slot = mem_strdup(text);
}

void config_strings_free(char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

struct source {
	const char *path; /* of a file or directory, relative to a directory */
	const char *name; /* in messages */
	enum dialect dialect;
};

/* Only root may write our files, because they control what root does. nova.conf can belong to the user `nova`. */
static int check_trust(const struct stat *st, const char *name, enum dialect dialect, struct err *err)
{
	struct location at = { .file = name };

	if (dialect == DIALECT_NOVA)
		return (st->st_mode & S_IWOTH) ? config_err(&at, err, "writable by others; run 'chmod o-w %s'", name)
					       : 0;
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return config_err(&at, err, "owned by user %u, not root; run 'chown root %s'", (unsigned int)st->st_uid,
				  name);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return config_err(&at, err, "writable by group or others; run 'chmod go-w %s'", name);
	return 0;
}

/* Reads a file, following links. -EINVAL: the file is not regular, larger than 1 MiB, or not trusted. */
static int read_file(int dir, const struct source *source, char **text, size_t *len, struct err *err)
{
	/* Without O_NONBLOCK, opening a pipe in place of the file would block. */
	autoclose int fd = openat(dir, source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct location at = { .file = source->name };
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "%s", source->name);
	if (!S_ISREG(st.st_mode))
		return config_err(&at, err, "not a regular file");
	r = check_trust(&st, source->name, source->dialect, err);
	if (r < 0)
		return r;
	r = sys_slurp(fd, FILE_MAX, text, len);
	if (r == -EFBIG)
		return config_err(&at, err, "larger than 1 MiB");
	return r < 0 ? err_sys(err, -r, "%s", source->name) : 0;
}

static int is_drop_in(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return entry->d_name[0] != '.' && n > 5 && strcmp(entry->d_name + n - 5, ".conf") == 0;
}

/* Lists the *.conf files of a directory; the caller frees each entry and the list. A missing directory has none. */
static int list_drop_ins(int dir, const struct source *source, struct dirent ***list, struct err *err)
{
	autoclose int fd = sys_dir(dir, source->path);
	struct stat st;
	int n;

	*list = NULL;
	if (fd == -ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, fd < 0 ? -fd : errno, "%s", source->name);
	/* A user who can write to the directory can remove or replace its files. */
	if (check_trust(&st, source->name, source->dialect, err) < 0)
		return -err->code;
	n = scandirat(fd, ".", list, is_drop_in, alphasort); /* sorts by bytes: no program sets LC_COLLATE */
	return n < 0 ? err_sys(err, errno, "%s", source->name) : n;
}

static int take_file(struct draft *draft, int dir, const struct source *source, struct err *err)
{
	/* Keep the text, because the entries of a nova.conf point into it. */
	char **text = mem_add(&draft->texts, &draft->ntexts, sizeof(*text));
	size_t len;
	int r = read_file(dir, source, text, &len, err);

	return r < 0 ? r : config_ini_read(draft, source->name, source->dialect, *text, len, err);
}

/* If a file cannot be read, it is unknown which types are enabled. */
static int file_mistake(struct draft *draft, int r, const struct err *err)
{
	draft->unsure |= r < 0;
	return config_mistake(draft, r, err);
}

static int take_drop_ins(struct draft *draft, int dir, const struct source *source, struct err *err)
{
	struct dirent **list;
	int n = list_drop_ins(dir, source, &list, err);
	int r = file_mistake(draft, n < 0 ? n : 0, err);

	for (int i = 0; i < n; i++) {
		autofree char *path = mem_format("%s/%s", source->path, list[i]->d_name);
		autofree char *name = mem_format("%s/%s", source->name, list[i]->d_name);

		free(list[i]);
		if (r < 0)
			continue;
		r = take_file(draft, dir, &(struct source){ path, name, source->dialect }, err);
		/* Return -EINVAL for a missing drop-in, because -ENOENT means that the configuration is missing. */
		if (r == -ENOENT)
			r = config_err(&(struct location){ .file = name }, err,
				       "missing: removed while being read, or a dangling link");
		r = file_mistake(draft, r, err);
	}
	free(list);
	return r;
}

/* Reads the file `path`, relative to `dir`, and its drop-ins. Messages put `root`, the host's root, before the path. */
static int take_own_files(struct draft *draft, int dir, const char *root, const char *path, struct err *err)
{
	autofree char *name = mem_format("%s%s%s", root, dir == AT_FDCWD ? "" : "/", path);
	autofree char *drop_ins = mem_format("%s.d", path), *drop_ins_name = mem_format("%s.d", name);
	int r = file_mistake(draft, take_file(draft, dir, &(struct source){ path, name, DIALECT_OURS }, err), err);

	if (r < 0)
		return r;
	return take_drop_ins(draft, dir, &(struct source){ drop_ins, drop_ins_name, DIALECT_OURS }, err);
}

/* A file is read as Nova's --config-file, a directory as its --config-dir. */
static int take_nova_path(struct draft *draft, const struct item *path, struct err *err)
{
	autofree char *name = mem_format("%s%s", draft->host->name, path->text);
	struct source source = { path->text + strspn(path->text, "/"), name, DIALECT_NOVA };
	struct stat st;
	int r;

	if (fstatat(draft->host->root, source.path, &st, 0) == 0 && S_ISDIR(st.st_mode))
		r = take_drop_ins(draft, draft->host->root, &source, err);
	else
		r = take_file(draft, draft->host->root, &source, err);
	/* Report the line of nova_conf as the place of the mistake. -ENOENT would mean that our own file is missing. */
	if (r < 0 && r != -EINVAL)
		r = config_err(&path->at, err, "%s: %s", name, err_describe(-r));
	return file_mistake(draft, r, err);
}

int config_load(struct config *config, const struct host *host, const char *path, struct config_notes *mistakes,
		struct err *err)
{
	struct draft draft = { .config = config, .host = host, .mistakes = mistakes };
	int r;

	config_default(config);
	if (path)
		r = take_own_files(&draft, AT_FDCWD, "", path, err);
	else
		r = take_own_files(&draft, host->root, host->name, "etc/vgpu-lease.conf", err);
	for (size_t i = 0; r == 0 && i < draft.npaths; i++)
		r = take_nova_path(&draft, &draft.paths[i], err);
	if (r == 0)
		r = config_draft_finish(&draft, err);
	if (r == 0 && mistakes && mistakes->n) {
		r = err_set(err, EINVAL, "%s", mistakes->list[0].text);
		err->where = mistakes->list[0].where;
		err_word(err, mistakes->list[0].word);
	}
	config_draft_free(&draft);
	if (r < 0) {
		config_free(config);
		config_default(config);
	}
	return r;
}

void config_free(struct config *config)
{
	for (size_t i = 0; i < config->nsections; i++)
		config_section_free(&config->sections[i]);
	config_strings_free(config->files, config->nfiles);
	config_strings_free(config->names, config->nnames);
	free(config->sections);
	free(config->quotas);
	config_notes_free(&config->warnings);
	*config = (struct config){ 0 };
}

const struct section *config_section(const struct config *config, const char *type)
{
	for (size_t i = 0; i < config->nsections; i++)
		if (strcmp(config->sections[i].type, type) == 0)
			return &config->sections[i];
	return NULL;
}

struct location config_location(const struct section *section)
{
	return section->at.line ? section->at : section->enabled_at;
}

bool config_takes_rest(const struct section *section)
{
	return !section->vf && !section->naddresses && !section->nmatches;
}

int config_quota(const struct config *config, const char *project)
{
	if (!*project)
		return config->quota_none;
	for (size_t i = 0; i < config->nquotas; i++)
		if (strcmp(config->quotas[i].project, project) == 0)
			return config->quotas[i].limit;
	return config->quota_default;
}
