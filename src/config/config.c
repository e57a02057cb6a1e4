/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration's files: their order, and which are trusted. Also the messages about them. */
#include "config/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { FILE_MAX = 1024 * 1024 };

__attribute__((format(printf, 3, 0))) static struct err *add_note(struct config_notes *notes, const struct location *at,
								  const char *fmt, va_list ap)
{
	struct err *note = mem_add(&notes->list, &notes->n, sizeof(*note));
	char line[16] = "";

	if (at->line)
		snprintf(line, sizeof(line), ":%d", at->line);
	err_set(note, EINVAL, "%.512s%s: ", at->file, line);
	note->where = strlen(note->text);
	if (at->section)
		text_add(note->text, sizeof(note->text), "[%s]%s", at->section, at->key ? " " : ": ");
	if (at->key)
		text_add(note->text, sizeof(note->text), "%.80s: ", at->key);
	vsnprintf(note->text + strlen(note->text), sizeof(note->text) - strlen(note->text), fmt, ap);
	return note;
}

int config_mistake(struct draft *draft, const struct location *at, const char *fmt, ...)
{
	struct config_notes *notes = &draft->mistakes;
	struct err *note;
	va_list ap;

	if (notes->n == CONFIG_MISTAKES_MAX)
		notes->n--;
	va_start(ap, fmt);
	note = add_note(notes, at, fmt, ap);
	va_end(ap);
	if (at->nova)
		text_add(note->text, sizeof(note->text), "; or write [%s] in vgpu-lease.conf, which takes precedence",
			 at->section);
	draft->unsure |= !at->section;
	return -EINVAL;
}

int config_mistake_word(const struct draft *draft, const char *word)
{
	struct err *mistake = &draft->mistakes.list[draft->mistakes.n - 1];

	snprintf(mistake->word, sizeof(mistake->word), "%s", word);
	return -mistake->code;
}

void config_warn(const struct location *at, struct config *config, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_recode(add_note(&config->warnings, at, fmt, ap), code);
	va_end(ap);
}

void config_notes_free(struct config_notes *notes)
{
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
	const char *path; /* relative to the `dir` passed with it */
	const char *name; /* the path in messages */
	bool nova;
};

/* Only root may write our files, because they control what root does. nova.conf can belong to the user `nova`. */
static int check_trust(struct draft *draft, const struct stat *st, const struct source *source)
{
	const struct location at = { .file = source->name };

	if (source->nova && st->st_mode & S_IWOTH)
		return config_mistake(draft, &at, "writable by others; run 'chmod o-w %s'", source->name);
	if (!source->nova && st->st_uid != 0 && st->st_uid != geteuid())
		return config_mistake(draft, &at, "owned by user %u, not root; run 'chown root %s'",
				      (unsigned int)st->st_uid, source->name);
	if (!source->nova && st->st_mode & (S_IWGRP | S_IWOTH))
		return config_mistake(draft, &at, "writable by group or others; run 'chmod go-w %s'", source->name);
	return 0;
}

/*
 * Reads a file, following links. Notes a mistake if it is not regular, not trusted or over 1 MiB. Negative: an error.
 */
static int take_file(struct draft *draft, int dir, const struct source *source, struct err *err)
{
	/* O_NONBLOCK: the open must not hang on a pipe in place of the file. */
	autoclose int fd = openat(dir, source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const struct location at = { .file = source->name };
	char **text = mem_add(&draft->texts, &draft->ntexts, sizeof(*text));
	struct stat st;
	size_t len = 0;
	int r = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode))
		config_mistake(draft, &at, "not a regular file");
	else if (check_trust(draft, &st, source) == 0)
		r = sys_slurp(fd, FILE_MAX, text, &len);
	if (r == -EFBIG)
		config_mistake(draft, &at, "larger than 1 MiB");
	else if (r == 0 && *text)
		config_ini_read(draft, source->name, source->nova, *text, len);
	return r < 0 && r != -EFBIG ? err_sys(err, -r, "%s", source->name) : 0;
}

static int is_drop_in(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return entry->d_name[0] != '.' && n > 5 && strcmp(entry->d_name + n - 5, ".conf") == 0;
}

/* Reads the *.conf files of a directory, if it exists. */
static int take_drop_ins(struct draft *draft, int dir, const struct source *source, struct err *err)
{
	autoclose int fd = sys_dir(dir, source->path);
	struct dirent **list = NULL;
	struct stat st;
	int n = 0, r = 0;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, fd < 0 ? -fd : errno, "%s", source->name);
	/* A user who can write to the directory can remove or replace its files. */
	if (check_trust(draft, &st, source) == 0)
		n = scandirat(fd, ".", &list, is_drop_in, alphasort); /* by bytes: no program sets LC_COLLATE */
	if (n < 0)
		return err_sys(err, errno, "%s", source->name);
	for (int i = 0; i < n; i++) {
		autofree char *name = mem_format("%s/%s", source->name, list[i]->d_name);

		if (r == 0)
			r = take_file(draft, fd, &(struct source){ list[i]->d_name, name, source->nova }, err);
		free(list[i]);
		/* Do not return -ENOENT, because callers take it as "no configuration". */
		if (r == -ENOENT) {
			config_mistake(draft, &(struct location){ .file = name },
				       "missing: removed while being read, or a dangling link");
			r = 0;
		}
	}
	free(list);
	return r;
}

/* Reads the file `path`, relative to `dir`, and its drop-ins. `root` is the host's root, for messages. */
static int take_own_files(struct draft *draft, int dir, const char *root, const char *path, struct err *err)
{
	autofree char *name = mem_format("%s%s%s", root, dir == AT_FDCWD ? "" : "/", path);
	autofree char *drop_ins = mem_format("%s.d", path), *drop_ins_name = mem_format("%s.d", name);
	int r = take_file(draft, dir, &(struct source){ path, name, false }, err);

	if (r < 0)
		return r;
	return take_drop_ins(draft, dir, &(struct source){ drop_ins, drop_ins_name, false }, err);
}

/* Reads a file as Nova's --config-file, a directory as its --config-dir. */
static void take_nova_path(struct draft *draft, const struct item *path)
{
	autofree char *name = mem_format("%s%s", draft->host->name, path->text);
	struct source source = { path->text + strspn(path->text, "/"), name, true };
	struct stat st;
	struct err err;
	int r;

	if (fstatat(draft->host->root, source.path, &st, 0) == 0 && S_ISDIR(st.st_mode))
		r = take_drop_ins(draft, draft->host->root, &source, &err);
	else
		r = take_file(draft, draft->host->root, &source, &err);
	if (r < 0) {
		config_mistake(draft, &path->at, "%s: %s", name, err_describe(-r));
		draft->unsure = true;
		if (err_denied(-r))
			err_recode(&draft->mistakes.list[draft->mistakes.n - 1], -r);
	}
}

int config_load(struct config *config, const struct host *host, const char *path, struct config_notes *mistakes,
		struct err *err)
{
	struct draft draft = { .config = config, .host = host };
	int r;

	config_default(config);
	config->policy.reuse_free = -1;
	if (path)
		r = take_own_files(&draft, AT_FDCWD, "", path, err);
	else
		r = take_own_files(&draft, host->root, host->name, "etc/vgpu-lease.conf", err);
	for (size_t i = 0; r == 0 && i < draft.npaths; i++)
		take_nova_path(&draft, &draft.paths[i]);
	draft.unsure |= r < 0;
	if (config_draft_finish(&draft, err) < 0)
		r = -err->code;
	if (mistakes) {
		*mistakes = draft.mistakes;
		draft.mistakes = (struct config_notes){ 0 };
	}
	config_draft_free(&draft);
	if (r < 0) {
		config_free(config);
		config_default(config);
		config->why = *err;
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
	return text_find(config->sections, config->nsections, sizeof(*config->sections), type);
}

bool config_takes_rest(const struct section *section)
{
	return !section->vf && !section->naddresses && !section->nmatches;
}

int config_quota(const struct config *config, const char *project)
{
	const struct quota *own = text_find(config->quotas, config->nquotas, sizeof(*own), project);

	if (!*project)
		return config->quota_none;
	return own ? own->limit : config->quota_default;
}
