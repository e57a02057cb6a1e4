/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The journal's export format: fields in both forms, of which ours are kept; what is not this format is an error. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "cli/journal.h"
#include "lib/tap.h"

static FILE *text(const char *data, size_t len)
{
	FILE *f = fmemopen((void *)data, len, "r");

	if (!f)
		abort();
	return f;
}

#define TEXT(literal) text(literal, sizeof(literal) - 1)

static void test_entries(void)
{
	autofclose FILE *from = TEXT("\n__REALTIME_TIMESTAMP=1700000000123456\n_UID=0\n"
				     "MESSAGE\n\x0b\0\0\0\0\0\0\0one\nPGPU=a\n\nVGPU_LEASE_EVENT=refused\n"
				     "VGPU_LEASE_ID=x\nVGPU_LEASE_ID=y\nDOMAIN_NAME=v=m\nDOMAIN_NAME=second\n"
				     "\n\nMESSAGE=two");
	struct journal_entry entry;
	struct err err;

	ok(journal_read(from, &entry, &err) == 1, "an entry is read");
	ok(entry.time_us == 1700000000123456, "its time");
	is(entry.message, "one\nPGPU=a\n", "a value with its length");
	is(entry.pgpu, "", "which is not taken apart");
	is(entry.event, "refused", "and one behind =");
	ok(entry.nids == 2 && strcmp(entry.ids[0], "x") == 0 && strcmp(entry.ids[1], "y") == 0, "all IDs");
	is(entry.name, "v=m", "the first of several values; = is nothing special in one");
	journal_entry_free(&entry);
	ok(journal_read(from, &entry, &err) == 1, "the next entry begins behind an empty line");
	is(entry.message, "two", "the last line needs no end");
	ok(entry.time_us == 0 && entry.nids == 0, "nothing of the first is in it");
	journal_entry_free(&entry);
	ok(journal_read(from, &entry, &err) == 0, "that was all");
}

static void test_broken(FILE *from, const char *what)
{
	struct journal_entry entry;
	struct err err = { 0 };

	ok(journal_read(from, &entry, &err) == -EBADMSG, "%s: %s", what, err.text);
	fclose(from);
}

int main(void)
{
	test_entries();
	test_broken(TEXT("MESSAGE=x\nPGPU\n\x0b\0\0"), "a length that is cut off");
	test_broken(TEXT("PGPU\n\x0b\0\0\0\0\0\0\0short\n"), "a value that is cut off");
	test_broken(TEXT("PGPU\n\xff\xff\xff\xff\xff\xff\xff\xff"
			 "short\n"),
		    "a length that nothing has");
	test_broken(TEXT("PGPU\n\x01\0\0\0\0\0\0\0short\n"), "a value that is longer than its length");
	return tap_done();
}
