/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frees memory and closes descriptors, directories and streams at the end of the variable's scope. */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

static inline void auto_free(void *p)
{
	mem_free(*(void **)p);
}

static inline void auto_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void auto_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static inline void auto_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define autofree __attribute__((cleanup(auto_free)))
#define autoclose __attribute__((cleanup(auto_close)))
#define autoclosedir __attribute__((cleanup(auto_closedir)))
#define autofclose __attribute__((cleanup(auto_fclose)))

/* Returns the descriptor and sets the variable to -1, so that the end of its scope does not close it. */
static inline int steal_fd(int *fd)
{
	int r = *fd;

	*fd = -1;
	return r;
}

/* Returns the pointer and sets the variable to NULL, so that the end of its scope does not free it. */
static inline void *steal_ptr(void *pp)
{
	void *r = *(void **)pp;

	*(void **)pp = NULL;
	return r;
}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
