/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration as one text: what is understood, and what is refused in which words. */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "lib/tap.h"

#define A "[devices]\nenabled_mdev_types = nvidia-35\n"
#define AB "[devices]\nenabled_mdev_types = nvidia-35, nvidia-36\n"
#define M A "[mdev_nvidia-35]\n"

static const struct {
	const char *sentence, *text, *message;
} refused[] = {
	{ "a key before the first section", "reuse = free\n", "f:1: 'reuse = free' stands before the first [section]" },
	{ "garbage before the first section", "\x1f\x8b\x08 gzip\n[devices]\n",
	  "f:1: there is a control character (1f) in the line" },
	{ "a word that is no line of such a file", A "nvidia-36\n",
	  "f:3: 'nvidia-36' is neither 'key = value' nor a [section] nor a # comment" },
	{ "a line without a key", A "= 4\n", "f:3: the key is missing" },
	{ "a bracket that does not close", "[devices\n",
	  "f:1: '[devices' is not a section header: expected [NAME], at most 49 characters, no blanks" },
	{ "text behind a section's name", "[devices] reuse = free\n",
	  "f:1: '[devices] reuse = free' is not a section header: expected [NAME], at most 49 characters, no blanks" },
	{ "a second bracket", "[devices]]\n",
	  "f:1: '[devices]]' is not a section header: expected [NAME], at most 49 characters, no blanks" },
	{ "a section without a name", "[]\n",
	  "f:1: '[]' is not a section header: expected [NAME], at most 49 characters, no blanks" },
	{ "blanks in a section's name", "[ devices ]\n",
	  "f:1: '[ devices ]' is not a section header: expected [NAME], at most 49 characters, no blanks" },
	{ "a section's name that inih would cut", "[mdev_aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeee]\n",
	  "f:1: '[mdev_aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeee]' is not a section header: expected [NAME], at most 49 characters, no blanks" },
	{ "a key that inih would cut", A "enabled_mdev_types_and_some_more_text_up_to_fifty_c = x\n",
	  "f:3: [devices] enabled_mdev_types_and_some_more_text_up_to_fifty_c: no such key; the section has: enabled_mdev_types, "
	  "enabled_vgpu_types, nova_conf" },
	{ "a section that comes twice", M "[policy]\n[mdev_nvidia-35]\n",
	  "f:5: [mdev_nvidia-35]: duplicates [mdev_nvidia-35] (f:3)" },
	{ "a section that nobody knows", A "[placement]\n",
	  "f:3: [placement]: no such section; there are [devices], [mdev_TYPE], [vf_NAME], [policy] and [quota]" },
	{ "a section of Nova's that is none of ours", A "[DEFAULT]\ndebug = true\n",
	  "f:3: [DEFAULT]: no such section; there are [devices], [mdev_TYPE], [vf_NAME], [policy] and [quota]" },
	{ "a section in capitals", "[Devices]\n",
	  "f:1: [Devices]: no such section; there are [devices], [mdev_TYPE], [vf_NAME], [policy] and [quota]" },
	{ "a key that nobody knows", M "mdev_clas = VGPU\n",
	  "f:4: [mdev_nvidia-35] mdev_clas: no such key; the section has: vgpu_params, device_addresses, device_match, "
	  "max_instances, mdev_class" },
	{ "a key in a section that is not its own", A "placement = pack\n",
	  "f:3: [devices] placement: no such key; the section has: enabled_mdev_types, enabled_vgpu_types, nova_conf" },
	{ "a key that comes twice", M "max_instances = 1\n# then\nmax_instances = 2\n",
	  "f:6: [mdev_nvidia-35] max_instances: duplicates max_instances (line 4)" },
	{ "both spellings of a key", A "enabled_vgpu_types = nvidia-35\n",
	  "f:3: [devices] enabled_vgpu_types: duplicates enabled_mdev_types (line 2)" },
	{ "both spellings of a section", M "[vgpu_nvidia-35]\n",
	  "f:4: [vgpu_nvidia-35]: duplicates [mdev_nvidia-35] (f:3)" },
	{ "a key without a value", A "[policy]\nreuse =\n", "f:4: [policy] reuse: has no value: leave the line out" },
	{ "a list without an item", M "device_addresses = ,\n",
	  "f:4: [mdev_nvidia-35] device_addresses: has no value: leave the line out" },
	{ "a value that is only a comment", M "device_addresses = # none\n",
	  "f:4: [mdev_nvidia-35] device_addresses: has no value: leave the line out" },
	{ "an indented line at the start", " [devices]\n",
	  "f:1: the line begins with white space, but there is no key above that it could continue" },
	{ "an indented line behind a section's name", A "[policy]\n  reuse = free\n",
	  "f:4: the line begins with white space, but there is no key above that it could continue" },
	{ "an indented line behind an empty one", M "device_addresses = 0000:84:00.0,\n\n  0000:85:00.0\n",
	  "f:6: the line begins with white space, but there is no key above that it could continue" },
	{ "an indented key", A "[policy]\nplacement = pack\n  reuse = never\n",
	  "f:4: [policy] placement: takes one line, but a line that begins with white space follows, which continues it" },
	{ "an indented section behind a single value", A "[policy]\nplacement = pack\n [quota]\n",
	  "f:4: [policy] placement: takes one line, but a line that begins with white space follows, which continues it" },
	{ "an indented section behind a list", A "  [policy]\n",
	  "f:2: [devices] enabled_mdev_types: 'nvidia-35 [policy]' is no id of a type, such as nvidia-35; commas stand between "
	  "types (a line that begins with white space continues the one above)" },
	{ "a comma that is missing at the end of a line", M "device_addresses = 0000:84:00.0\n  0000:85:00.0\n",
	  "f:4: [mdev_nvidia-35] device_addresses: '0000:84:00.0 0000:85:00.0' is neither a PCI address with its domain, such as "
	  "0000:84:00.0, nor a virtual parent, such as mtty; commas stand between addresses (a line that begins with white space "
	  "continues the one above)" },
	{ "a path as a type", "[devices]\nenabled_mdev_types = ../../x\n",
	  "f:2: [devices] enabled_mdev_types: '../../x' is no id of a type, such as nvidia-35; commas stand between types" },
	{ "a path as a section's type", A "[mdev_../../x]\n",
	  "f:3: [mdev_../../x]: '../../x' is no id of a type, such as nvidia-35" },
	{ "a section of no type", A "[mdev_]\n", "f:3: [mdev_]: '' is no id of a type, such as nvidia-35" },
	{ "a type in quotes", "[devices]\nenabled_mdev_types = \"nvidia-35\"\n",
	  "f:2: [devices] enabled_mdev_types: '\"nvidia-35\"' is no id of a type, such as nvidia-35; commas stand between types" },
	{ "a type that is enabled twice", "[devices]\nenabled_mdev_types = nvidia-35, a, nvidia-35\n",
	  "f:2: [devices] enabled_mdev_types: nvidia-35 is named twice" },
	{ "a section whose type is not enabled", A "[mdev_nvidia-36]\n",
	  "f:3: [mdev_nvidia-36]: the type is not enabled: name nvidia-36 in enabled_mdev_types of [devices]" },
	{ "a section without any [devices]", "[mdev_nvidia-35]\n",
	  "f:1: [mdev_nvidia-35]: the type is not enabled: name nvidia-35 in enabled_mdev_types of [devices]" },
	{ "an address without its domain", M "device_addresses = 84:00.0\n",
	  "f:4: [mdev_nvidia-35] device_addresses: '84:00.0' is neither a PCI address with its domain, such as 0000:84:00.0, nor a "
	  "virtual parent, such as mtty; commas stand between addresses" },
	{ "an address that is none", M "device_addresses = 0000:84:00.8\n",
	  "f:4: [mdev_nvidia-35] device_addresses: '0000:84:00.8' is neither a PCI address with its domain, such as 0000:84:00.0, "
	  "nor a virtual parent, such as mtty; commas stand between addresses" },
	{ "an address with the wrong marks", M "device_addresses = 0000.84.00.0\n",
	  "f:4: [mdev_nvidia-35] device_addresses: '0000.84.00.0' is neither a PCI address with its domain, such as 0000:84:00.0, "
	  "nor a virtual parent, such as mtty; commas stand between addresses" },
	{ "a path as a parent", M "device_addresses = mtty/../x\n",
	  "f:4: [mdev_nvidia-35] device_addresses: 'mtty/../x' is neither a PCI address with its domain, such as 0000:84:00.0, nor "
	  "a virtual parent, such as mtty; commas stand between addresses" },
	{ "libvirt's name of a device", M "device_addresses = pci_0000_84_00_0\n",
	  "f:4: [mdev_nvidia-35] device_addresses: 'pci_0000_84_00_0' is libvirt's name of a device: write its PCI address, such as "
	  "0000:84:00.0" },
	{ "an address twice in two spellings", M "device_addresses = 0000:8A:00.0, 00000000:8a:00.0\n",
	  "f:4: [mdev_nvidia-35] device_addresses: 0000:8a:00.0 is named twice" },
	{ "a virtual parent twice in two spellings", M "device_addresses = mtty, mtty_mtty\n",
	  "f:4: [mdev_nvidia-35] device_addresses: mtty is named twice" },
	{ "an address under two types",
	  AB
	  "[mdev_nvidia-35]\ndevice_addresses = 0000:84:00.0\n[mdev_nvidia-36]\n\ndevice_addresses = 0000:85:00.0,0000:84:00.0\n",
	  "f:7: [mdev_nvidia-36] device_addresses: 0000:84:00.0 is also given to [mdev_nvidia-35] in f:4: one type for a card, unless "
	  "pgpu_types = several in [policy]" },
	{ "a match that is none", M "device_match = 10de\n",
	  "f:4: [mdev_nvidia-35] device_match: '10de' is not understood: an alternative is VENDOR:DEVICE in four hex digits each (* "
	  "for any device), numa=NODE, or both, each once; commas stand between alternatives" },
	{ "a match of too few digits", M "device_match = 10de:1eb\n",
	  "f:4: [mdev_nvidia-35] device_match: '10de:1eb' is not understood: an alternative is VENDOR:DEVICE in four hex digits each "
	  "(* for any device), numa=NODE, or both, each once; commas stand between alternatives" },
	{ "a match for everything", M "device_match = *:*\n",
	  "f:4: [mdev_nvidia-35] device_match: '*:*' is not understood: an alternative is VENDOR:DEVICE in four hex digits each (* "
	  "for any device), numa=NODE, or both, each once; commas stand between alternatives" },
	{ "two nodes at once", M "device_match = numa=0 numa=1\n",
	  "f:4: [mdev_nvidia-35] device_match: 'numa=1' is not understood: an alternative is VENDOR:DEVICE in four hex digits each "
	  "(* for any device), numa=NODE, or both, each once; commas stand between alternatives" },
	{ "two cards at once", M "device_match = 10de:1eb8 10de:1db6\n",
	  "f:4: [mdev_nvidia-35] device_match: '10de:1db6' is not understood: an alternative is VENDOR:DEVICE in four hex digits "
	  "each (* for any device), numa=NODE, or both, each once; commas stand between alternatives" },
	{ "a cap of nothing", M "max_instances = 0\n",
	  "f:4: [mdev_nvidia-35] max_instances: '0' is no whole number from 1 to 65535" },
	{ "a cap that is no number", M "max_instances = ten\n",
	  "f:4: [mdev_nvidia-35] max_instances: 'ten' is no whole number from 1 to 65535" },
	{ "a class that Nova would refuse", M "mdev_class = custom_a\n",
	  "f:4: [mdev_nvidia-35] mdev_class: 'custom_a' is neither VGPU nor CUSTOM_ with capital letters, digits and _ behind it, 63 "
	  "characters at most" },
	{ "parameters that are not printable", M "vgpu_params = a=\xc3\xa4\n",
	  "f:4: [mdev_nvidia-35] vgpu_params: only printable ASCII characters can be given to the driver" },
	{ "a placement that nobody knows", "[policy]\nplacement = best\n",
	  "f:2: [policy] placement: 'best' is none of: pack, spread, depth_first, breadth_first, compact, separate, consolidation, "
	  "performance" },
	{ "a migrate_uuid that nobody knows", "[policy]\nmigrate_uuid = Auto\n",
	  "f:2: [policy] migrate_uuid: 'Auto' is none of: auto, keep, fresh" },
	{ "a reuse that nobody knows", "[policy]\nreuse = yes\n",
	  "f:2: [policy] reuse: 'yes' is none of: never, free" },
	{ "a reclaim that nobody knows", "[policy]\nreclaim = all\n",
	  "f:2: [policy] reclaim: 'all' is none of: never, orphans" },
	{ "a driver_mismatch that nobody knows", "[policy]\ndriver_mismatch = ignore\n",
	  "f:2: [policy] driver_mismatch: 'ignore' is none of: refuse, warn" },
	{ "a cross_framework that nobody knows", "[policy]\ncross_framework = true\n",
	  "f:2: [policy] cross_framework: 'true' is none of: no, yes" },
	{ "seconds with a unit", "[policy]\nreclaim_grace = 10m\n",
	  "f:2: [policy] reclaim_grace: '10m' is no whole number from 0 to 31536000" },
	{ "a reservation that lives no time", "[policy]\nreserve_ttl = 0\n",
	  "f:2: [policy] reserve_ttl: '0' is no whole number from 1 to 86400" },
	{ "a creation without time", "[policy]\ncreate_timeout = 0\n",
	  "f:2: [policy] create_timeout: '0' is no whole number from 1 to 600" },
	{ "a grace that never ends", "[policy]\nstart_grace = 86401\n",
	  "f:2: [policy] start_grace: '86401' is no whole number from 1 to 86400" },
	{ "a release that blocks libvirt", "[policy]\nrelease_wait = 61\n",
	  "f:2: [policy] release_wait: '61' is no whole number from 0 to 60" },
	{ "a release without time", "[policy]\nrelease_timeout = 0\n",
	  "f:2: [policy] release_timeout: '0' is no whole number from 1 to 3600" },
	{ "a driver that gets too much time", "[policy]\ndriver_cleanup = 601\n",
	  "f:2: [policy] driver_cleanup: '601' is no whole number from 0 to 600" },
	{ "a lock without time", "[policy]\nlock_timeout = -1\n",
	  "f:2: [policy] lock_timeout: '-1' is no whole number from 1 to 600" },
	{ "a quota that is none", "[quota]\ndefault = many\n",
	  "f:2: [quota] default: 'many' is neither a whole number from 0 to 65535 nor unlimited" },
	{ "a project without a quota", "[quota]\nproject:5f1c\n",
	  "f:2: [quota] project: a project's line is project:ID = NUMBER, or unlimited" },
	{ "a quota without a project", "[quota]\nproject: = 4\n",
	  "f:2: [quota] project: '' is no project's id: one word of at most 79 characters" },
	{ "a quota of two words' project", "[quota]\nproject:a b = 4\n",
	  "f:2: [quota] project: 'a b' is no project's id: one word of at most 79 characters" },
	{ "a project's quota that is none", "[quota]\nproject:5f1c = 4.5\n",
	  "f:2: [quota] project: '4.5' is neither a whole number from 0 to 65535 nor unlimited" },
	{ "a project that comes twice", "[quota]\nproject:a = 1\nproject:b = 1\nproject:a=2\n",
	  "f:4: [quota] project: duplicates project (line 2)" },
	{ "a nova_conf without its path", "[devices]\nnova_conf = nova.conf\n",
	  "f:2: [devices] nova_conf: 'nova.conf' is no absolute path of a file" },
	{ "a nova_conf where there is no host", "[devices]\nnova_conf = /etc/nova/nova.conf\n",
	  "f:2: [devices] nova_conf: a nova.conf cannot be read here" },
	{ "plain VFs with the name of an enabled type",
	  "[devices]\nenabled_mdev_types = flex\n[vf_flex]\ndevice_match = 8086:56c0\n",
	  "f:3: [vf_flex]: flex is also named in enabled_mdev_types: give the VFs another name" },
	{ "plain VFs that are all VFs of the host", "[vf_flex]\n",
	  "f:1: [vf_flex]: needs device_addresses or device_match: no plain VF is in a pool by default" },
	{ "a mistake in a section of plain VFs", "[vf_flex]\nmdev_class = FLEX\n",
	  "f:2: [vf_flex] mdev_class: 'FLEX' is neither VGPU nor CUSTOM_ with capital letters, digits and _ behind it, 63 "
	  "characters at most" },
	{ "parameters for plain VFs", "[vf_flex]\nvgpu_params = a=1\n",
	  "f:2: [vf_flex] vgpu_params: no such key; the section has: device_addresses, device_match, max_instances, mdev_class" },
	{ "plain VFs with the name of a type", M "[vf_nvidia-35]\ndevice_match = 10de:*\n",
	  "f:4: [vf_nvidia-35]: duplicates [mdev_nvidia-35] (f:3)" },
};

static void what_is_refused(void)
{
	struct err err;
	struct config c;

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		bool is_refused;
		const char *text = refused[i].text;

		err = (struct err){ 0 };
		is_refused = config_parse(&c, "f", text, strlen(text), NULL, &err) == -EINVAL;
		is(is_refused ? err.text : "understood", refused[i].message, refused[i].sentence);
	}
}

static void what_no_text_has(void)
{
	static const char nul[] = "[policy]\nreuse = free\0never\n", comment[] = "# \0\n[policy]\n",
			  wide[] = "[\0p\0]\0\n\0";
	struct err err = { 0 };
	struct config c;

	ok(config_parse(&c, "f", nul, sizeof(nul) - 1, NULL, &err) < 0, "a NUL byte in a value is refused");
	is(err.text, "f:2: there is a NUL byte in the line: this is no text file", "and named");
	ok(config_parse(&c, "f", comment, sizeof(comment) - 1, NULL, &err) < 0, "so is one in a comment: %s", err.text);
	ok(config_parse(&c, "f", wide, sizeof(wide) - 1, NULL, &err) < 0, "so is a text of two bytes a letter: %s",
	   err.text);
	ok(c.nsections == 0 && c.policy.lock_timeout_s == 30, "after a refusal the defaults hold");
}

/* A text that is understood; ends the test where it is not. */
static struct config parsed(const char *text)
{
	struct err err = { 0 };
	struct config c;

	if (config_parse(&c, "f", text, strlen(text), NULL, &err) < 0) {
		ok(false, "understood: %s", err.text);
		exit(tap_done());
	}
	return c;
}

static void types(void)
{
	struct config c = parsed("\xef\xbb\xbf[devices]\r\n"
				 "enabled_vgpu_types: nvidia-36 , nvidia-35,i915-GVTg_V5_4 ; in this order\r\n"
				 "[mdev_nvidia-35] # the small one\r\n"
				 "device_addresses = 0000:84:00.0,\r\n"
				 "  # the second card\r\n"
				 "# the third\r\n"
				 "\t00000000:8A:00.0, mtty_mtty , # the last\r\n"
				 "  mdpy,a_a_b_a_a_b,x_y\r\n"
				 "device_match = 10DE:1eb8\r\n"
				 "   numa=0, numa=1, 10de:*\r\n"
				 "max_instances = 10\r\n"
				 "mdev_class = CUSTOM_A40_8Q\r\n"
				 "vgpu_params = frame_rate_limiter=0, a=#;\r\n"
				 "[vgpu_nvidia-36]");
	const struct section *s = config_section(&c, "nvidia-35");
	static const char *const addresses[] = { "0000:84:00.0", "0000:8a:00.0", "mtty", "mdpy", "a_a_b", "x_y" };

	ok(c.nsections == 3 && strcmp(c.sections[0].type, "nvidia-36") == 0 &&
		   strcmp(c.sections[1].type, "nvidia-35") == 0 && strcmp(c.sections[2].type, "i915-GVTg_V5_4") == 0,
	   "the types are in the order in which they are enabled");
	ok(s && s->enabled && !s->vf && s->line == 3 && strcmp(s->file, "f") == 0, "a section knows where it stands");
	ok(s && s->naddresses == ARRAY_SIZE(addresses), "a list goes on over lines, comments between them");
	for (size_t i = 0; s && i < s->naddresses; i++)
		is(s->addresses[i], addresses[i], "each address as sysfs spells it");
	ok(s && s->nmatches == 3 && strcmp(s->matches[0].vendor, "10de") == 0 &&
		   strcmp(s->matches[0].device, "1eb8") == 0 && s->matches[0].numa == 0,
	   "terms side by side are one alternative, over the end of a line, too");
	ok(s && s->matches[1].numa == 1 && !s->matches[1].vendor[0] && !s->matches[1].device[0], "a node alone is one");
	ok(s && strcmp(s->matches[2].vendor, "10de") == 0 && !s->matches[2].device[0] && s->matches[2].numa == -1,
	   "all cards of a vendor are one");
	ok(s && s->max_instances == 10 && strcmp(s->class, "CUSTOM_A40_8Q") == 0, "cap and class");
	is(s->params, "frame_rate_limiter=0, a=#;", "a # or ; without white space before it is no comment");
	s = config_section(&c, "i915-GVTg_V5_4");
	ok(s && s->line == 0 && s->naddresses == 0 && s->nmatches == 0 && s->max_instances == NO_LIMIT &&
		   strcmp(s->class, "VGPU") == 0 && !s->params[0],
	   "a type without a section has the defaults");
	ok(!config_section(&c, "nvidia-37"), "a type that is not enabled has none");
	ok(c.warnings.n == 1, "one warning");
	is(c.warnings.n ? c.warnings.list[0].text : NULL,
	   "f:2: [devices] enabled_vgpu_types: i915-GVTg_V5_4 gets no card: it has neither device_addresses nor device_match, and "
	   "nvidia-36, which comes before it, gets all cards that no section names",
	   "for the second type that takes what no section names");
	config_free(&c);
	c = parsed("[policy]\n");
	is(c.warnings.n == 1 ? c.warnings.list[0].text : NULL,
	   "f: no type is enabled, so there is no pool: set enabled_mdev_types in [devices]",
	   "nothing enabled is a warning");
	config_free(&c);
	config_free(&c);
	ok(true, "freeing twice does no harm");
}

static void policy(void)
{
	static const struct {
		const char *word;
		enum placement means;
	} placements[] = {
		{ "pack", PLACE_PACK },          { "depth_first", PLACE_PACK },   { "compact", PLACE_PACK },
		{ "consolidation", PLACE_PACK }, { "spread", PLACE_SPREAD },      { "breadth_first", PLACE_SPREAD },
		{ "separate", PLACE_SPREAD },    { "performance", PLACE_SPREAD },
	};
	struct config d,
		c = parsed(A "[policy]\nmigrate_uuid = fresh\nreuse = never\nreclaim = never\nreclaim_grace = 0\n"
			     "reserve_ttl = 1\ncreate_timeout = 2\nstart_grace = 3\nrelease_wait = 0\n"
			     "release_timeout = 5\ndriver_cleanup = 0\nlock_timeout = 7\ndriver_mismatch = warn\n"
			     "cross_framework = yes\npgpu_types = several\n");
	const struct policy *p = &c.policy;

	ok(p->migrate_uuid == MIGRATE_FRESH && !p->reuse_free && !p->reclaim_orphans && p->mismatch_warns &&
		   p->cross_framework && p->several_types,
	   "each word of a policy is taken");
	ok(p->reclaim_grace_s == 0 && p->reserve_ttl_s == 1 && p->create_timeout_s == 2 && p->start_grace_s == 3 &&
		   p->release_wait_s == 0 && p->release_timeout_s == 5 && p->driver_cleanup_s == 0 &&
		   p->lock_timeout_s == 7,
	   "and each time");
	config_free(&c);
	config_default(&d);
	c = parsed(A);
	ok(memcmp(&c.policy, &d.policy, sizeof(d.policy)) == 0, "without [policy] the defaults hold");
	ok(c.policy.reuse_free && c.policy.reclaim_orphans && c.policy.reclaim_grace_s == 600 &&
		   c.policy.start_grace_s == 120,
	   "which are the documented ones");
	config_free(&c);
	for (size_t i = 0; i < ARRAY_SIZE(placements); i++) {
		char text[64];

		snprintf(text, sizeof(text), "[policy]\nplacement = %s\n", placements[i].word);
		c = parsed(text);
		ok(c.policy.placement == placements[i].means, "placement has the word %s", placements[i].word);
		config_free(&c);
	}
}

static void quotas(void)
{
	struct config c = parsed(A
				 "[quota]\nproject:5f1c0000000000000000000000000000 = 4\nproject: b =unlimited # all\n"
				 "default = 2\nnone = 0\n");

	ok(config_quota(&c, "5f1c0000000000000000000000000000") == 4, "a project's quota, whose : is inih's separator");
	ok(config_quota(&c, "b") == NO_LIMIT, "unlimited is a quota");
	ok(config_quota(&c, "c") == 2, "other projects have the default");
	ok(config_quota(&c, "") == 0, "domains without a project have theirs");
	config_free(&c);
	c = parsed(A);
	ok(config_quota(&c, "c") == NO_LIMIT && config_quota(&c, "") == NO_LIMIT, "without [quota] there is none");
	config_free(&c);
}

/* Lines of any length: inih takes 198 bytes of one at most. */
static void long_lines(void)
{
	enum { N = 600 };
	char text[N * 32], req[PARENT_SIZE], *at = text;
	struct config c;
	struct err err;
	const struct section *s;
	size_t same = 0;

	at += sprintf(at, "%sdevice_addresses =", M);
	for (int i = 0; i < N; i++)
		at += sprintf(at, "%*s%04x:84:00.0", i % 7, i ? "," : "", i + 1);
	at += sprintf(at, "\nvgpu_params = ");
	for (int i = 0; i < 500; i++)
		at += sprintf(at, "%s", i % 2 ? " " : "x");
	sprintf(at, "x\n");
	c = parsed(text);
	s = config_section(&c, "nvidia-35");
	for (int i = 0; i < N; i++) {
		snprintf(req, sizeof(req), "%04x:84:00.0", i + 1);
		same += s && s->naddresses == N && strcmp(s->addresses[i], req) == 0;
	}
	ok(same == N, "a line of %zu bytes is read whole", strlen(text));
	ok(s && strlen(s->params) == 501, "so is one with a blank after each letter");
	config_free(&c);
	at = text + sprintf(text, "%svgpu_params = ", M);
	memset(at, 'x', PARAMS_SIZE);
	strcpy(at + PARAMS_SIZE, "\n");
	ok(config_parse(&c, "f", text, strlen(text), NULL, &err) < 0, "a value that does not fit is refused");
	is(err.text, "f:4: [mdev_nvidia-35] vgpu_params: is longer than 1023 characters", "and never cut");
	strcpy(at + PARAMS_SIZE - 1, "\n");
	c = parsed(text);
	ok(strlen(c.sections[0].params) == PARAMS_SIZE - 1, "one that just fits is taken");
	config_free(&c);
}

/* `n` addresses for each of five types. */
static int addresses_of(int n, struct config *c, struct err *err)
{
	autofree char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	fprintf(out, "[devices]\nenabled_mdev_types = t0, t1, t2, t3, t4\n");
	for (int i = 0; i < 5; i++) {
		fprintf(out, "[mdev_t%d]\ndevice_addresses = ", i);
		for (int k = 0; k < n; k++)
			fprintf(out, "p%d-%d,", i, k);
		fprintf(out, "\n");
	}
	fclose(out);
	return config_parse(c, "f", text, len, NULL, err);
}

static void bounds(void)
{
	struct config c;
	struct err err = { 0 };

	ok(addresses_of(819, &c, &err) == 0, "4095 addresses are understood: %s", err.text);
	config_free(&c);
	ok(addresses_of(1024, &c, &err) < 0, "more are refused");
	is(err.text, "f:12: [mdev_t4] device_addresses: more than 4096 addresses in all",
	   "with the last line that has some");
	ok(addresses_of(1025, &c, &err) < 0, "so are more in one section");
	is(err.text, "f:4: [mdev_t0] device_addresses: more than 1024 addresses", "with its line");
}

int main(void)
{
	what_is_refused();
	what_no_text_has();
	types();
	policy();
	quotas();
	long_lines();
	bounds();
	return tap_done();
}
