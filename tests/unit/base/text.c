/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which word was meant. */
#include "base/auto.h"
#include "base/text.h"
#include "lib/tap.h"

static const char *guess(const char *word)
{
	static const char *const words[] = {
		"list", "show", "types", "plan", "release", "retype", "reclaim_grace", "gc"
	};
	struct text_guess guess = { .word = word };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		text_guess(&guess, words[i]);
	return guess.best;
}

static void add(void)
{
	char buf[8] = "";

	text_add(buf, sizeof(buf), "%s-%d", "ab", 1);
	text_add(buf, sizeof(buf), "c");
	is(buf, "ab-1c", "a text is added to another");
	text_add(buf, sizeof(buf), "defg");
	is(buf, "ab-1cde", "as far as it fits");
	text_add(buf, sizeof(buf), "h");
	is(buf, "ab-1cde", "and to a full one nothing");
}

int main(void)
{
	add();
	is(guess("lists"), "list", "a letter too many");
	is(guess("lst"), "list", "one that is missing");
	is(guess("lisp"), "list", "another one");
	is(guess("plna"), "plan", "two that are swapped are one mistake");
	is(guess("realese"), "release", "in a longer word two mistakes");
	is(guess("type"), "types", "the nearest of several");
	is(guess("retypes"), "retype", "whichever comes first");
	is(guess("reclaim-grace"), "reclaim_grace", "a character that is no letter");
	is(guess("list"), "list", "the word itself");
	is(guess("export"), NULL, "a word that is another");
	is(guess("xx"), NULL, "a short one of other letters");
	is(guess(""), NULL, "no word at all");
	is(guess("reclaim_grace_reclaim_grace_reclaim_grace"), NULL, "a word that is too long for any");
	return tap_done();
}
