/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets of numbers in the kernel's and libvirt's notation. */
#include "base/text.h"

#include "base/auto.h"
#include "lib/tap.h"

enum { BITS = 128 };

static void reads(const char *list, uint64_t low, uint64_t high, const char *sentence)
{
	uint64_t bits[BITS / 64] = { 0 };

	ok(text_cpuset(list, bits, BITS) && bits[0] == low && bits[1] == high, "%s", sentence);
}

int main(void)
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
	return tap_done();
}
