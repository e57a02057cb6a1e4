/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is printed of a text, and guessed; sets of numbers; names that may be part of a path; where a cause begins. */
#include "base/text.h"
#include "lib/tap.h"
#include "base/ident.h"
#include "base/err.h"

static const char *guess(const char *word)
{
	static const char *const words[] = { "list",   "show",          "types", "plan",       "release",
					     "retype", "reclaim_grace", "gc",    "nvidia-222", "0000:af:00.0" };
	struct text_guess guess = { .word = word };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		text_guess(&guess, words[i]);
	return guess.best;
}

enum { BITS = 128 };

static void reads(const char *list, uint64_t low, uint64_t high, const char *sentence)
{
	uint64_t bits[BITS / 64] = { 0 };

	ok(text_cpuset(list, bits, BITS) && bits[0] == low && bits[1] == high, "%s", sentence);
}

static void cpusets(void)
{
	static const char *const bad[] = { "a",   "1-", "-1", "3-1", "1;2", "1 2", "^", "^1-2", "99999999999999999999",
					   "1,,2" };
	uint64_t bits[BITS / 64] = { 0 };

	reads("0-3,8", 0x10f, 0, "a range and a number are read");
	reads("", 0, 0, "the empty list is one");
	reads(" 8 , 3,1,2,0 - 1\n", 0x10f, 0, "order and white space do not matter");
	reads("0-7,^5", 0xdf, 0, "a number can be taken out again");
	reads("63-64,127", UINT64_C(1) << 63, UINT64_C(1) << 63 | 1, "numbers beyond one word are kept");
	reads("126-200,128,5000000", 0, UINT64_C(3) << 62, "numbers that the set has no capacity for are left out");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ok(!text_cpuset(bad[i], bits, BITS), "'%s' is no list", bad[i]);
	ok(bits[0] == 0 && bits[1] == 0, "what is no list leaves the set as it was");
	ok(text_cpuset("1,5", bits, BITS) && text_cpuset("0-7,^5", bits, BITS) && bits[0] == 0xff,
	   "a list is added to what the set has: its ^ does not take that away");
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

static const char *safe(const char *text, size_t size)
{
	static char shown[128];

	text_safe(shown, size, text);
	return shown;
}

static void printable(void)
{
	/* Not as strings: the linter takes them for an attempt to mislead. */
	static const char turn[] = { '\xe2', '\x80', '\xae', '\0' }, isolate[] = { '\xe2', '\x81', '\xa6', '\0' };
	char shown[64], text[64];

	is(safe("vm\n\033[31m1\x7f\xff\xc3\xa4", 128), "vm\\x0a\\x1b[31m1\\x7f\\xff\xc3\xa4",
	   "control bytes and broken UTF-8 are shown as hex, letters kept");
	snprintf(text, sizeof(text), "\xc2\x9b%s%s\xe2\x80\x8b\xe2\x80\xa8", turn, isolate);
	is(safe(text, 128), "\\xc2\\x9b\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xe2\\x80\\x8b\\xe2\\x80\\xa8",
	   "so are C1 controls, what turns the direction of writing, and what has no width");
	is(safe("\xef\xbb\xbf\xf3\xa0\x80\xa1\xf0\x9f\x90\xa7", 128),
	   "\\xef\\xbb\\xbf\\xf3\\xa0\\x80\\xa1\xf0\x9f\x90\xa7",
	   "in three and four bytes, too, and no other character");
	is(safe("a\\x1b", 128), "a\\x5cx1b", "a backslash as well, so that no text looks like another");
	is(safe("abc\n\n", 6), "abc", "an escape is never cut in two");
	snprintf(text, sizeof(text), "ab%s", turn);
	is(safe(text, 14), "ab", "nor are those of one character");
	text_safe_again(shown, sizeof(shown), "a\\x1b\n\xc3\xa4", false);
	is(shown, "a\\x1b\\x0a\xc3\xa4", "of a printable text the backslashes stay");
	text_safe_again(shown, sizeof(shown), "a\\x1b\n\xc3\xa4", true);
	is(shown, "a\\x1b\\x0a\\xc3\\xa4", "and nothing but ASCII where the locale shows no more");
	text_cut(shown, 5, "ab\033\xc3\xa4");
	is(shown, "ab\033", "a text is cut between characters");
}

static void advised(void)
{
	char shown[64];
	autofree char *whole = NULL;

	is(safe("run 'vgpu-lease gc'", 128), "run 'vgpu-lease gc'",
	   "on the real host a command is advised as it is written");
	text_set_options("/tmp/host", NULL);
	is(safe("run 'vgpu-lease gc', see 'vgpu-lease list'", 128),
	   "run 'vgpu-lease --root /tmp/host gc', see 'vgpu-lease --root /tmp/host list'",
	   "with --root it has that, too");
	is(safe("'vgpu-lease --root /tmp/host gc'", 128), "'vgpu-lease --root /tmp/host gc'", "and has it once");
	is(safe("see 'vgpu-lease gc --help'", 128), "see 'vgpu-lease gc --help'", "the help is that of any host");
	is(safe("vgpu-lease: 'vgpu-leased', 'virsh list'", 128), "vgpu-lease: 'vgpu-leased', 'virsh list'",
	   "what is no command of ours stays");
	is(safe("run 'vgpu-lease gc'", 32), "run ", "one that does not fit is left out, not cut");
	whole = text_safe_copy("run 'vgpu-lease gc'");
	is(whole, "run 'vgpu-lease --root /tmp/host gc'", "a copy is as large as it needs");
	text_safe_again(shown, sizeof(shown), "'vgpu-lease gc'", false);
	is(shown, "'vgpu-lease gc'", "a text that was made printable before stays");
	text_set_options(NULL, "x.conf");
	is(safe("'vgpu-lease gc'", 128), "'vgpu-lease --config x.conf gc'", "so it is with --config");
	is(safe("'vgpu-lease --config x.conf gc'", 128), "'vgpu-lease --config x.conf gc'", "once as well");
	text_set_options("/tmp/my host", "x.conf");
	is(safe("'vgpu-lease gc'", 128), "'vgpu-lease --root \"/tmp/my host\" --config x.conf gc'",
	   "a directory with a blank is quoted");
	text_set_options(NULL, NULL);
}

static void operands(void)
{
	static const char uuid[] = "8f2d5b1e-7c3a-4e0b-9a54-0d1c5f3e6a01";

	is(text_operand("win10-gpu_1.a", uuid), "win10-gpu_1.a", "a name that is one word");
	is(text_operand("Windows 11", uuid), uuid, "two words");
	is(text_operand("a'b", uuid), uuid, "a quote");
	is(text_operand("$(reboot)", uuid), uuid, "what a shell would execute");
	is(text_operand("-all", uuid), uuid, "what looks like an option");
	is(text_operand("", uuid), uuid, "an empty name");
	is(text_operand("of-more-than-thirty-six-letters-and-digits", uuid), uuid, "a long one");
}

static void guesses(void)
{
	is(guess("lists"), "list", "a letter too many");
	is(guess("lst"), "list", "one that is missing");
	is(guess("lisp"), "list", "another one");
	is(guess("plna"), "plan", "two that are swapped are one mistake");
	is(guess("realese"), "release", "in a longer word two mistakes");
	is(guess("type"), "types", "the nearest of several");
	is(guess("retypes"), "retype", "whichever comes first");
	is(guess("reclaim-grace"), "reclaim_grace", "a character that is no letter");
	is(guess("list"), "list", "the word itself");
	is(guess("reclaim-grac"), "reclaim_grace", "two mistakes at most");
	is(guess("recalim_grcae_"), NULL, "three are another word, however long it is");
	is(guess("nvida-222"), "nvidia-222", "a letter beside a number");
	is(guess("nvidia-22"), NULL, "a number is never similar to another");
	is(guess("nvidia-233"), NULL, "of as many digits, either");
	is(guess("0000:ae:00.0"), NULL, "an address is a number, too");
	is(guess("export"), NULL, "a word that is another");
	is(guess("xx"), NULL, "a short one of other letters");
	is(guess(""), NULL, "no word at all");
	is(guess("reclaim_grace_reclaim_grace_reclaim_grace"), NULL, "a word that is too long for any");
}

static void uuids(void)
{
	char u[UUID_SIZE];

	ok(uuid_parse(u, "C6F1A2B3-0000-4000-8000-00000000000A"), "an upper-case UUID is one");
	is(u, "c6f1a2b3-0000-4000-8000-00000000000a", "and is lowered, as the kernel does");
	ok(!uuid_parse(u, "c6f1a2b3-0000-4000-8000-00000000000"), "35 characters are none");
	ok(!uuid_parse(u, "c6f1a2b3-0000-4000-8000-00000000000a "), "37 characters are none");
	ok(!uuid_parse(u, "c6f1a2b300000-4000-8000-00000000000a"), "a dash must be at its place");
	ok(!uuid_parse(u, "{6f1a2b3-0000-4000-8000-00000000000}"), "braces are none");
	ok(!uuid_parse(u, ""), "the empty text is none");
	ok(uuid_is_placeholder("00000000-0000-0000-0000-0000000000ff"),
	   "the nil UUID with any last byte is a placeholder");
	ok(!uuid_is_placeholder("00000000-0000-0000-0000-000000000100"), "with more than that it is not");
	uuid_random(u);
	ok(u[14] == '4' && strchr("89ab", u[19]), "a random UUID says that it is one: %s", u);
}

static void addresses(void)
{
	static const char *const bad[] = { "84:00.0",           "0000:84:00",    "0000:84:00.8",
					   "0000:84:20.0",      "0000:84:00.0 ", "0000:84:00.0/..",
					   "000000000:84:00.0", "000g:84:00.0",  "" };
	char p[PCI_SIZE], n[PARENT_SIZE];

	ok(pci_parse(p, "0000:3B:00.0"), "an address in capitals is one");
	is(p, "0000:3b:00.0", "and is lowered, as in sysfs");
	ok(pci_parse(p, "00000000:3B:00.0"), "nvidia-smi's eight digits are read");
	is(p, "0000:3b:00.0", "and shortened");
	ok(pci_parse(p, "10000:01:00.1") && strcmp(p, "10000:01:00.1") == 0, "a domain of five digits is kept");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!pci_parse(p, bad[i]), "'%s' is no address", bad[i]);
	ok(parent_parse(n, "mtty") && strcmp(n, "mtty") == 0, "a virtual parent has a word for a name");
	ok(!parent_parse(n, "../mtty"), "a path is no parent");
	ok(!parent_parse(n, ".."), "nor are two dots");
	ok(parent_given(n, "mtty_mtty") && strcmp(n, "mtty") == 0, "libvirt's name of it is understood");
	ok(parent_given(n, "mtty") && strcmp(n, "mtty") == 0, "its own, too");
	ok(parent_given(n, "mtty_mdpy") && strcmp(n, "mtty_mdpy") == 0 && parent_given(n, "mttymmtty") &&
		   strcmp(n, "mttymmtty") == 0,
	   "and no third");
	ok(!parent_given(n, "../mtty"), "nor a path");
}

static void words(void)
{
	char t[TYPE_SIZE], longish[100];

	ok(type_parse(t, "i915-GVTg_V5_4"), "a type's id is letters, digits, _ and -");
	ok(!type_parse(t, "../../x"), "a path is no type");
	ok(!type_parse(t, "nvidia 222"), "nor is a name with a blank");
	memset(longish, 'a', sizeof(longish));
	longish[sizeof(longish) - 1] = '\0';
	ok(!type_parse(t, longish), "nor anything over 63 characters");
	ok(class_is_valid("VGPU") && class_is_valid("CUSTOM_A40_8Q"), "VGPU and CUSTOM_ words are classes");
	ok(!class_is_valid("CUSTOM_") && !class_is_valid("custom_x") && !class_is_valid("VGPU2"), "others are not");
}

static void numbers(void)
{
	long n;

	ok(text_number("10", 1, 100, &n) && n == 10, "a number is one");
	ok(!text_number("0", 1, 100, &n) && !text_number("101", 1, 100, &n), "out of bounds it is refused");
	ok(!text_number("1x", 1, 100, &n) && !text_number(" 1", 1, 100, &n) && !text_number("", 1, 100, &n) &&
		   !text_number("99999999999999999999", 1, 100, &n),
	   "anything around it, nothing, and too much are refused");
}

static const char *cause(const struct err *err)
{
	return err->text + err->cause;
}

static void causes(void)
{
	static struct err err;

	err_set(&err, EBUSY, "someone has it");
	ok(strcmp(cause(&err), "someone has it") == 0, "a text without an object is its own cause: %s", cause(&err));
	err_sys(&err, EIO, "creating vGPU %s", "u1");
	ok(strcmp(cause(&err), "Input/output error") == 0, "what the system says is the cause: %s", cause(&err));
	err_in(&err, "domain %s", "vm1");
	ok_err(strcmp(err.text, "domain vm1: creating vGPU u1: Input/output error") == 0, "context comes before it");
	ok(strcmp(cause(&err), "Input/output error") == 0, "and is none of it: %s", cause(&err));
	err_set(&err, ENODEV, "vGPU u1 went away");
	ok(err_cause(&err, strlen("vGPU u1 ")) == -ENODEV, "who sets it returns the code");
	ok(strcmp(cause(&err), "went away") == 0, "where it was set, it begins: %s", cause(&err));
	err_in(&err, "card");
	ok(strcmp(cause(&err), "went away") == 0, "also behind context: %s", cause(&err));
	err_cause(&err, 4000);
	ok(err.cause == 0, "it is never behind the text");
	err_set(&err, EBUSY, "x");
	ok(err.cause == 0, "a new error forgets it");
}

TESTS(printable, advised, operands, cpusets, add, guesses, uuids, addresses, words, numbers, causes)
