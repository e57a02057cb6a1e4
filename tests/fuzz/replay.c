/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The main() of a fuzz target where libFuzzer is not: each file of its corpus, or of the DIRECTORY, is one test. */
#include <fcntl.h>

#include "fuzz/fuzz.h"
#include "sys/sys.h"
#include "lib/tap.h"

enum { INPUT_MAX = 16 << 20 };

static int no_dots(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* In memory of exactly its size, so that a sanitizer or valgrind sees a read behind its end. */
static int feed(int dir, const char *name)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	autofree char *data = NULL;
	autofree uint8_t *exact = NULL;
	size_t len;
	int r;

	if (fd < 0)
		return -errno;
	r = sys_slurp(fd, INPUT_MAX, &data, &len);
	if (r < 0)
		return r;
	exact = memcpy(mem_new(len + (len == 0), 1), data, len);
	return LLVMFuzzerTestOneInput(exact, len);
}

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	struct dirent **entries = NULL;
	int dir, n;

	/* The program is called fuzz_NAME. */
	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s", getenv("srcdir"),
		 program_invocation_short_name + strlen("fuzz_"));
	dir = sys_dir(AT_FDCWD, argc > 1 ? argv[1] : path);
	n = dir < 0 ? dir : scandirat(dir, ".", &entries, no_dots, alphasort);
	ok(n > 0, "there is a corpus in %s", argc > 1 ? argv[1] : path);
	for (int i = 0; i < n; i++) {
		ok(feed(dir, entries[i]->d_name) == 0, "%s is survived", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (dir >= 0)
		close(dir);
	return tap_done();
}
