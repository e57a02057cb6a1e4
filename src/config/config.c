/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration: the files that it consists of, and their order. */
#include "config/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/mem.h"
#include "internal.h"

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

static int take_file(struct draft *draft, int dir, const struct source *source, struct err *err)
{
	autofree char *text = NULL;
	char **slot;
	size_t len;
	int r = config_file_read(dir, source, &text, &len, err);

	if (r < 0)
		return r;
	if (source->dialect == DIALECT_OURS)
		return config_ini_read(draft, source->name, text, len, err);
	/* The draft keeps the text of a nova.conf, because entries point into it. */
	slot = mem_add(&draft->texts, &draft->ntexts, sizeof(*slot));
	*slot = steal_ptr(&text);
	return config_nova_read(draft, source->name, *slot, len, err);
}

/* If a file cannot be read, it is unknown which types are enabled. */
static int file_mistake(struct draft *draft, int r, const struct err *err)
{
	draft->unsure |= r < 0;
	return config_mistake(draft, r, err);
}

static int take_drop_in(struct draft *draft, int dir, const struct source *source, struct err *err)
{
	int r = take_file(draft, dir, source, err);

	/* Return -EINVAL for a missing drop-in, because -ENOENT means that the configuration is missing. */
	if (r == -ENOENT)
		r = config_err(&(struct location){ .file = source->name }, err,
			       "missing: removed while being read, or a dangling link");
	return file_mistake(draft, r, err);
}

static int take_drop_ins(struct draft *draft, int dir, const struct source *source, struct err *err)
{
	char file[PATH_MAX + 300], file_name[2 * PATH_MAX + 300];
	struct dirent **list;
	int n = config_file_drop_ins(dir, source, &list, err);
	int r = file_mistake(draft, n < 0 ? n : 0, err);

	for (int i = 0; i < n; i++) {
		snprintf(file, sizeof(file), "%s/%s", source->path, list[i]->d_name);
		snprintf(file_name, sizeof(file_name), "%s/%s", source->name, list[i]->d_name);
		if (r == 0)
			r = take_drop_in(draft, dir, &(struct source){ file, file_name, source->dialect }, err);
		free(list[i]);
	}
	free(list);
	return r;
}

/* Reads the file `path`, relative to `dir`, and its drop-ins. Messages put `root`, the host's root, before the path. */
static int take_own_files(struct draft *draft, int dir, const char *root, const char *path, struct err *err)
{
	char name[2 * PATH_MAX], drop_ins[PATH_MAX + 2], drop_ins_name[2 * PATH_MAX + 2];
	int r;

	snprintf(name, sizeof(name), "%s%s%s", root, dir == AT_FDCWD ? "" : "/", path);
	r = file_mistake(draft, take_file(draft, dir, &(struct source){ path, name, DIALECT_OURS }, err), err);
	if (r < 0)
		return r;
	snprintf(drop_ins, sizeof(drop_ins), "%s.d", path);
	snprintf(drop_ins_name, sizeof(drop_ins_name), "%s.d", name);
	return take_drop_ins(draft, dir, &(struct source){ drop_ins, drop_ins_name, DIALECT_OURS }, err);
}

/* A file is read as Nova's --config-file, a directory as its --config-dir. */
static int take_nova_path(struct draft *draft, const struct nova_path *path, struct err *err)
{
	char name[2 * PATH_MAX];
	struct source source = { path->path + strspn(path->path, "/"), name, DIALECT_NOVA };
	struct stat st;
	int r;

	if (!draft->host)
		return config_err(&path->at, err, "a nova.conf cannot be read here");
	snprintf(name, sizeof(name), "%s%s", draft->host->name, path->path);
	if (fstatat(draft->host->root, source.path, &st, 0) == 0 && S_ISDIR(st.st_mode))
		r = take_drop_ins(draft, draft->host->root, &source, err);
	else
		r = take_file(draft, draft->host->root, &source, err);
	/*
	 * A failure before the text is read has no place, so report nova_conf's. -ENOENT would mean no configuration.
	 */
	if (r < 0 && r != -EINVAL)
		r = config_err(&path->at, err, "%s: %s", name, err_describe(-r));
	return file_mistake(draft, r, err);
}

/* Every load ends here: reads nova.conf and checks the whole. A failure leaves the defaults and nothing to free. */
static int finish(struct draft *draft, int r, struct err *err)
{
	for (size_t i = 0; r == 0 && i < draft->npaths; i++)
		r = take_nova_path(draft, &draft->paths[i], err);
	if (r == 0)
		r = config_draft_finish(draft, err);
	if (r == 0 && draft->mistakes && draft->mistakes->n) {
		err_set(err, EINVAL, "%s", draft->mistakes->list[0].text);
		err_word(err, draft->mistakes->list[0].word);
		r = err_at(err, draft->mistakes->list[0].where);
	}
	config_draft_free(draft);
	if (r < 0) {
		config_free(draft->config);
		config_default(draft->config);
	}
	return r;
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
	return finish(&draft, r, err);
}

int config_parse(struct config *config, const char *name, const char *text, size_t len, const struct host *host,
		 struct err *err)
{
	struct draft draft = { .config = config, .host = host };

	config_default(config);
	return finish(&draft, config_ini_read(&draft, name, text, len, err), err);
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
