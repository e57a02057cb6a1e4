/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names that may become part of a path, and text that is shown. */
#include "base/ident.h"

#include "lib/tap.h"
#include "base/text.h"

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

TESTS(uuids, addresses, words, numbers)
