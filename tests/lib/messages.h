/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the programs say, by key, as tests/lib/messages.sh: the wording stands in the table `messages` beside this file.
 *
 *     ok(says(err.text, "M_LEASED_TO", uuid, "vm2"), "another domain is refused: %s", err.text);
 *     is(err.text, message("M_LEASED_TO", uuid, "vm2"), "in exactly these words");
 *     is(err.text, message_in("refuse: {M_LEASED_TO|u1|vm2}"), "as one text, so that it can stand in a table");
 *
 * A key that is not in the table, or arguments that do not fit its gaps, ends the test.
 */
#pragma once

#include <fnmatch.h>

#include "lib/source.h"
#include "lib/tap.h"

#define MESSAGE_SIZE 4096

static inline void message_bail_out(const char *key, const char *why)
{
	printf("Bail out! %s: %s\n", key, why);
	exit(1);
}

/* Kept also by a test that looks for no message: the leak sanitizer has to see the pointer. */
__attribute__((used)) static char *message_table;

/* Before main(): a test may take away what opening a file needs. */
__attribute__((constructor)) static inline void message_load(void)
{
	message_table = source_text("tests/lib/messages");
}

/* The text of a key with its gaps. */
static inline const char *message_text(const char *key)
{
	size_t length = strlen(key);

	for (const char *line = message_table; line; line = strchr(line, '\n')) {
		static char text[MESSAGE_SIZE];

		line += *line == '\n';
		if (strncmp(line, key, length) != 0 || line[length] != '\t')
			continue;
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
		return text;
	}
	message_bail_out(key, "no message is called so");
	return NULL;
}

/* Appends, as a pattern of fnmatch(3) that matches it alone if asked to. */
static inline void message_add(char *to, const char *text, size_t length, bool pattern)
{
	size_t n = strlen(to);

	for (size_t i = 0; i < length && n + 3 < MESSAGE_SIZE; i++) {
		if (pattern && strchr("\\*?[", text[i]))
			to[n++] = '\\';
		to[n++] = text[i];
	}
	to[n] = '\0';
}

/* words: a key and its arguments, NULL behind the last. Good until a handful of further calls. */
static inline char *message_fill(const char *const *words, bool pattern)
{
	static char ring[8][MESSAGE_SIZE];
	static size_t next;
	char *to = ring[next++ % 8];
	const char *rest = message_text(words[0]), *gap;

	to[0] = '\0';
	words++;
	if (pattern)
		strcpy(to, "*");
	for (; (gap = strstr(rest, "%s")); rest = gap + 2) {
		const char *word = *words ? *words++ : NULL;

		if (!word && !pattern)
			message_bail_out(rest, "a gap without its argument");
		message_add(to, rest, (size_t)(gap - rest), pattern);
		if (!word || strcmp(word, "*") == 0)
			message_add(to, "*", 1, false);
		else
			message_add(to, word, strlen(word), pattern);
	}
	if (*words)
		message_bail_out(*words, "no gap for this argument");
	message_add(to, rest, strlen(rest), pattern);
	if (pattern)
		message_add(to, "*", 1, false);
	return to;
}

/* The message, an argument for each gap. */
#define message(...) ((const char *)message_fill((const char *const[]){ __VA_ARGS__, NULL }, false))

/* Whether the text holds the message. A gap whose argument is missing, or "*", holds anything. */
#define says(text, ...) (fnmatch(message_fill((const char *const[]){ __VA_ARGS__, NULL }, true), (text), 0) == 0)

/* The text with each {KEY|ARG|...} in it, also inside an argument, replaced by the message. */
static inline const char *message_in(const char *text)
{
	static char out[MESSAGE_SIZE];
	char *close, *open;

	snprintf(out, sizeof(out), "%s", text);
	while ((close = strchr(out, '}'))) {
		const char *words[16] = { NULL };
		char tail[MESSAGE_SIZE];
		size_t n = 0;

		*close = '\0';
		snprintf(tail, sizeof(tail), "%s", close + 1);
		open = strrchr(out, '{');
		if (!open)
			message_bail_out(text, "a brace too many");
		*open = '\0';
		for (char *rest = open + 1; rest && n < 15; n++)
			words[n] = strsep(&rest, "|");
		snprintf(open, sizeof(out) - (size_t)(open - out), "%s%s", message_fill(words, false), tail);
	}
	return out;
}
