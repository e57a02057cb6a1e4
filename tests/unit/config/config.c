/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration as one text: what is understood, and what is refused in which words. */
#include "config/config.h"

#include "lib/config_text.h"
#include "lib/messages.h"

#define A "[devices]\nenabled_mdev_types = nvidia-35\n"
#define AB "[devices]\nenabled_mdev_types = nvidia-35, nvidia-36\n"
#define M A "[mdev_nvidia-35]\n"

static const struct {
	const char *sentence, *text, *message;
} refused[] = {
	{ "a key before the first section", "reuse = free\n", "f:1: {M_CONF_BEFORE_SECTION}" },
	{ "garbage before the first section", "\x1f\x8b\x08 gzip\n[devices]\n", "f:1: {M_CONF_CONTROL|1f}" },
	{ "a word that is no line of such a file", A "nvidia-36\n", "f:3: {M_CONF_NOT_A_LINE}" },
	{ "a line without a key", A "= 4\n", "f:3: {M_CONF_NO_KEY}" },
	{ "a bracket that does not close", "[devices\n", "f:1: {M_CONF_BAD_HEADER}" },
	{ "text behind the name", "[devices] reuse = free\n", "f:1: {M_CONF_BAD_HEADER}" },
	{ "a second bracket", "[devices]]\n", "f:1: {M_CONF_BAD_HEADER}" },
	{ "a section without a name", "[]\n", "f:1: {M_CONF_BAD_HEADER}" },
	{ "blanks in a section's name", "[ devices ]\n", "f:1: {M_CONF_BAD_HEADER}" },
	{ "a section's name that inih would cut", "[mdev_aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeee]\n",
	  "f:1: {M_CONF_BAD_HEADER}" },
	{ "a key that inih would cut", A "enabled_mdev_types_and_some_more_text_up_to_fifty_c = x\n",
	  "f:3: [devices] enabled_mdev_types_and_some_more_text_up_to_fifty_c: {M_CONF_UNKNOWN_KEY|enabled_mdev_types, enabled_vgpu_types, nova_conf}" },
	{ "a value before a section that nobody knows", M "max_instances = x\n[placement]\n",
	  "f:4: [mdev_nvidia-35] max_instances: {M_CONF_BAD_NUMBER|x|1|65535}" },
	{ "a section that comes twice", M "[policy]\n[mdev_nvidia-35]\n",
	  "f:5: [mdev_nvidia-35]: {M_CONF_DUPLICATE|[mdev_nvidia-35]|f:3}" },
	{ "a section that nobody knows", A "[placement]\n", "f:3: [placement]: {M_CONF_UNKNOWN_SECTION}" },
	{ "a section of Nova's alone", A "[DEFAULT]\ndebug = true\n", "f:3: [DEFAULT]: {M_CONF_UNKNOWN_SECTION}" },
	{ "a section in capitals", "[Devices]\n", "f:1: [Devices]: {M_CONF_UNKNOWN_SECTION}" },
	{ "a key in a section that is not its own", A "placement = pack\n",
	  "f:3: [devices] placement: {M_CONF_UNKNOWN_KEY|enabled_mdev_types, enabled_vgpu_types, nova_conf}" },
	{ "a key that comes twice", M "max_instances = 1\n# then\nmax_instances = 2\n",
	  "f:6: [mdev_nvidia-35] max_instances: {M_CONF_DUPLICATE|max_instances|line 4}" },
	{ "both spellings of a key", A "enabled_vgpu_types = nvidia-35\n",
	  "f:3: [devices] enabled_vgpu_types: {M_CONF_DUPLICATE|enabled_mdev_types|line 2}" },
	{ "both spellings of a section", M "[vgpu_nvidia-35]\n",
	  "f:4: [vgpu_nvidia-35]: {M_CONF_DUPLICATE|[mdev_nvidia-35]|f:3}" },
	{ "a key without a value", A "[policy]\nreuse =\n", "f:4: [policy] reuse: {M_CONF_EMPTY}" },
	{ "an indented line at the start", " [devices]\n", "f:1: {M_CONF_INDENTED}" },
	{ "an indented line behind a section's name", A "[policy]\n  reuse = free\n", "f:4: {M_CONF_INDENTED}" },
	{ "an indented line behind an empty one", M "device_addresses = 0000:84:00.0,\n\n  0000:85:00.0\n",
	  "f:6: {M_CONF_INDENTED}" },
	{ "an indented key", A "[policy]\nplacement = pack\n  reuse = never\n",
	  "f:4: [policy] placement: {M_CONF_ONE_LINE}" },
	{ "an indented section behind a single value", A "[policy]\nplacement = pack\n [quota]\n",
	  "f:4: [policy] placement: {M_CONF_ONE_LINE}" },
	{ "an indented section behind a list", A "  [policy]\n",
	  "f:2: [devices] enabled_mdev_types: {M_CONF_BAD_TYPE_CONTINUED|nvidia-35 [policy]}" },
	{ "a path as a type", "[devices]\nenabled_mdev_types = ../../x\n",
	  "f:2: [devices] enabled_mdev_types: {M_CONF_BAD_TYPE_IN_LIST|../../x}" },
	{ "a type's number alone, as drivers list it", "[devices]\nenabled_mdev_types = nvidia-35, 1148\n",
	  "f:2: [devices] enabled_mdev_types: {M_CONF_TYPE_NUMBER|1148|1148}" },
	{ "a path as a section's type", A "[mdev_../../x]\n", "f:3: [mdev_../../x]: {M_CONF_BAD_TYPE|../../x}" },
	{ "a section of no type", A "[mdev_]\n", "f:3: [mdev_]: {M_CONF_BAD_TYPE|}" },
	{ "a type in quotes", "[devices]\nenabled_mdev_types = \"nvidia-35\"\n",
	  "f:2: [devices] enabled_mdev_types: {M_CONF_BAD_TYPE_IN_LIST|\"nvidia-35\"}" },
	{ "a type that is enabled twice", "[devices]\nenabled_mdev_types = nvidia-35, a, nvidia-35\n",
	  "f:2: [devices] enabled_mdev_types: {M_CONF_NAMED_TWICE|nvidia-35}" },
	{ "a section of a disabled type", A "[mdev_nvidia-36]\n", "f:3: [mdev_nvidia-36]: {M_CONF_NOT_ENABLED}" },
	{ "a section without any [devices]", "[mdev_nvidia-35]\n", "f:1: [mdev_nvidia-35]: {M_CONF_NOT_ENABLED}" },
	{ "an address under two types",
	  AB
	  "[mdev_nvidia-35]\ndevice_addresses = 0000:84:00.0\n[mdev_nvidia-36]\n\ndevice_addresses = 0000:85:00.0,0000:84:00.0\n",
	  "f:7: [mdev_nvidia-36] device_addresses: {M_CONF_GIVEN_TWICE|0000:84:00.0|mdev_nvidia-35|f:4}" },
	{ "a quota that is none", "[quota]\ndefault = many\n", "f:2: [quota] default: {M_CONF_BAD_QUOTA|many}" },
	{ "a project without a quota", "[quota]\nproject:5f1c\n", "f:2: [quota] project: {M_CONF_PROJECT_LINE}" },
	{ "a quota without a project", "[quota]\nproject: = 4\n", "f:2: [quota] project: {M_CONF_BAD_PROJECT|}" },
	{ "a project of two words", "[quota]\nproject:a b = 4\n", "f:2: [quota] project: {M_CONF_BAD_PROJECT|a b}" },
	{ "a project's wrong quota", "[quota]\nproject:5f1c = 4.5\n", "f:2: [quota] project: {M_CONF_BAD_QUOTA|4.5}" },
	{ "a project that comes twice", "[quota]\nproject:a = 1\nproject:b = 1\nproject:a=2\n",
	  "f:4: [quota] project: {M_CONF_DUPLICATE|project:a|line 2}" },
	{ "a nova_conf without its path", "[devices]\nnova_conf = nova.conf\n",
	  "f:2: [devices] nova_conf: {M_CONF_NOT_ABSOLUTE|nova.conf}" },
	{ "plain VFs with the name of an enabled type",
	  "[devices]\nenabled_mdev_types = flex\n[vf_flex]\ndevice_match = 8086:56c0\n",
	  "f:3: [vf_flex]: {M_CONF_VF_NAME_TAKEN|flex}" },
	{ "plain VFs that are all VFs of the host", "[vf_flex]\n", "f:1: [vf_flex]: {M_CONF_VF_ALL}" },
	{ "a mistake in a section of plain VFs", "[vf_flex]\nmdev_class = FLEX\n",
	  "f:2: [vf_flex] mdev_class: {M_CONF_BAD_CLASS|FLEX}" },
	{ "parameters for plain VFs", "[vf_flex]\nvgpu_params = a=1\n",
	  "f:2: [vf_flex] vgpu_params: {M_CONF_UNKNOWN_KEY|device_addresses, device_match, max_instances, mdev_class}" },
	{ "plain VFs with the name of a type", M "[vf_nvidia-35]\ndevice_match = 10de:*\n",
	  "f:4: [vf_nvidia-35]: {M_CONF_DUPLICATE|[mdev_nvidia-35]|f:3}" },
};

/* A value of a key, which is all that is wrong: what is said of it. */
struct value {
	const char *sentence, *key, *value, *message;
};

static const struct value of_a_type[] = {
	{ "a key that nobody knows", "mdev_clas", "VGPU",
	  "M_CONF_SIMILAR_KEY|mdev_class|vgpu_params, device_addresses, device_match, max_instances, mdev_class" },
	{ "a list without an item", "device_addresses", ",", "M_CONF_EMPTY" },
	{ "a value that is only a comment", "device_addresses", "# none", "M_CONF_EMPTY" },
	{ "a comma that is missing at the end of a line", "device_addresses", "0000:84:00.0\n  0000:85:00.0",
	  "M_CONF_BAD_ADDRESS_CONTINUED|0000:84:00.0 0000:85:00.0" },
	{ "an address without its domain", "device_addresses", "84:00.0", "M_CONF_NEAR_ADDRESS|84:00.0|0000:84:00.0" },
	{ "an address that is none", "device_addresses", "0000:84:00.8", "M_CONF_BAD_ADDRESS|0000:84:00.8" },
	{ "an address with the wrong marks", "device_addresses", "0000.84.00.0", "M_CONF_BAD_ADDRESS|0000.84.00.0" },
	{ "a path as a parent", "device_addresses", "mtty/../x", "M_CONF_BAD_ADDRESS|mtty/../x" },
	{ "libvirt's name of a device", "device_addresses", "pci_0000_84_00_0",
	  "M_CONF_NEAR_ADDRESS|pci_0000_84_00_0|0000:84:00.0" },
	{ "an address twice in two spellings", "device_addresses", "0000:8A:00.0, 00000000:8a:00.0",
	  "M_CONF_NAMED_TWICE|0000:8a:00.0" },
	{ "a virtual parent twice in two spellings", "device_addresses", "mtty, mtty_mtty", "M_CONF_NAMED_TWICE|mtty" },
	{ "a match that is none", "device_match", "10de", "M_CONF_BAD_MATCH|10de" },
	{ "a match of too few digits", "device_match", "10de:1eb", "M_CONF_BAD_MATCH|10de:1eb" },
	{ "a match for everything", "device_match", "*:*", "M_CONF_BAD_MATCH|*:*" },
	{ "a match of two subsystems", "device_match", "10de:1e30:12ba:129e", "M_CONF_BAD_MATCH|10de:1e30:12ba:129e" },
	{ "a subsystem alone", "device_match", "*:*:12ba", "M_CONF_BAD_MATCH|*:*:12ba" },
	{ "two nodes at once", "device_match", "numa=0 numa=1", "M_CONF_BAD_MATCH|numa=1" },
	{ "two cards at once", "device_match", "10de:1eb8 10de:1db6", "M_CONF_BAD_MATCH|10de:1db6" },
	{ "a cap of nothing", "max_instances", "0", "M_CONF_BAD_NUMBER|0|1|65535" },
	{ "a cap that is no number", "max_instances", "ten", "M_CONF_BAD_NUMBER|ten|1|65535" },
	{ "a class that Nova would refuse", "mdev_class", "custom_a", "M_CONF_BAD_CLASS|custom_a" },
	{ "parameters that are not printable", "vgpu_params", "a=\xc3\xa4", "M_CONF_NOT_ASCII" },
};

static const struct value of_the_policy[] = {
	{ "a placement that nobody knows", "placement", "best", "M_CONF_BAD_WORD|best|pack, spread" },
	{ "a migrate_uuid that nobody knows", "migrate_uuid", "Auto", "M_CONF_BAD_WORD|Auto|auto, keep" },
	{ "a migrate_uuid of before", "migrate_uuid", "fresh", "M_CONF_OLD_WORD|fresh|auto or keep" },
	{ "a placement of before", "placement", "depth_first", "M_CONF_OLD_WORD|depth_first|pack" },
	{ "the other one", "placement", "performance", "M_CONF_OLD_WORD|performance|spread" },
	{ "a reuse that nobody knows", "reuse", "yes", "M_CONF_BAD_WORD|yes|never, free" },
	{ "a reclaim that nobody knows", "reclaim", "all", "M_CONF_BAD_WORD|all|never, orphans" },
	{ "a driver_mismatch that nobody knows", "driver_mismatch", "ignore", "M_CONF_BAD_WORD|ignore|refuse, warn" },
	{ "a cross_framework that nobody knows", "cross_framework", "true", "M_CONF_BAD_WORD|true|no, yes" },
	{ "seconds with a unit", "reclaim_grace", "10m", "M_CONF_BAD_NUMBER|10m|0|31536000" },
	{ "a reservation that lives no time", "reserve_ttl", "0", "M_CONF_BAD_NUMBER|0|1|86400" },
	{ "a creation without time", "create_timeout", "0", "M_CONF_BAD_NUMBER|0|1|600" },
	{ "a grace that never ends", "start_grace", "86401", "M_CONF_BAD_NUMBER|86401|1|86400" },
	{ "a release that blocks libvirt", "release_wait", "61", "M_CONF_BAD_NUMBER|61|0|60" },
	{ "a release without time", "release_timeout", "0", "M_CONF_BAD_NUMBER|0|1|3600" },
	{ "a driver that gets too much time", "driver_cleanup", "601", "M_CONF_BAD_NUMBER|601|0|600" },
	{ "a lock without time", "lock_timeout", "-1", "M_CONF_BAD_NUMBER|-1|1|600" },
};

static struct config c;
static struct err err;

static void refuse(const char *text, const char *message, const char *sentence)
{
	bool is_refused;

	err = (struct err){ 0 };
	is_refused = config_of_text(&c, "f", text, strlen(text), &err) == -EINVAL;
	is(is_refused ? err.text : "understood", message_in(message), sentence);
}

static void refuse_values(const char *before, const char *where, const struct value *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct value *v = &values[i];
		char text[256], message[512];

		snprintf(text, sizeof(text), "%s%s = %s\n", before, v->key, v->value);
		snprintf(message, sizeof(message), "%s %s: {%s}", where, v->key, v->message);
		refuse(text, message, v->sentence);
	}
}

static void what_is_refused(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		refuse(refused[i].text, refused[i].message, refused[i].sentence);
	refuse_values(M, "f:4: [mdev_nvidia-35]", of_a_type, ARRAY_SIZE(of_a_type));
	refuse_values("[policy]\n", "f:2: [policy]", of_the_policy, ARRAY_SIZE(of_the_policy));
}

static void what_no_text_has(void)
{
	static const char nul[] = "[policy]\nreuse = free\0never\n", comment[] = "# \0\n[policy]\n",
			  wide[] = "[\0p\0]\0\n\0";

	ok(config_of_text(&c, "f", nul, sizeof(nul) - 1, &err) < 0, "a NUL byte in a value is refused");
	is(err.text, message_in("f:2: {M_CONF_NUL}"), "and named");
	ok_err(config_of_text(&c, "f", comment, sizeof(comment) - 1, &err) < 0, "so is one in a comment");
	ok_err(config_of_text(&c, "f", wide, sizeof(wide) - 1, &err) < 0, "so is a text of two bytes a letter");
	ok(c.nsections == 0 && c.policy.lock_timeout_s == 30, "after a refusal the defaults hold");
}

/* A text that is understood, in `c`; ends the test where it is not. */
static void parse(const char *text)
{
	config_free(&c);
	if (config_of_text(&c, "f", text, strlen(text), &err) < 0) {
		ok_err(false, "understood");
		exit(tap_done());
	}
}

static void types(void)
{
	static const char *const addresses[] = { "0000:84:00.0", "0000:8a:00.0", "mtty", "mdpy", "a_a_b", "x_y" };
	const struct section *s;

	parse("\xef\xbb\xbf[devices]\r\n"
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
	s = config_section(&c, "nvidia-35");
	ok(c.nsections == 3 && strcmp(c.sections[0].type, "nvidia-36") == 0 &&
		   strcmp(c.sections[1].type, "nvidia-35") == 0 && strcmp(c.sections[2].type, "i915-GVTg_V5_4") == 0,
	   "the types are in the order in which they are enabled");
	ok(s && !s->vf && s->at.line == 3 && strcmp(s->at.file, "f") == 0, "a section knows where it stands");
	ok(s && s->naddresses == ARRAY_SIZE(addresses), "a list goes on over lines, comments between them");
	for (size_t i = 0; s && i < s->naddresses; i++)
		is(s->addresses[i].text, addresses[i], "each address as sysfs spells it");
	ok(s && s->nmatches == 3 && strcmp(s->matches[0].vendor, "10de") == 0 &&
		   strcmp(s->matches[0].device, "1eb8") == 0 && s->matches[0].numa == 0,
	   "terms side by side are one alternative, over the end of a line, too");
	ok(s && s->matches[1].numa == 1 && !s->matches[1].vendor[0] && !s->matches[1].device[0], "a node alone is one");
	ok(s && strcmp(s->matches[2].vendor, "10de") == 0 && !s->matches[2].device[0] && s->matches[2].numa == -1,
	   "all cards of a vendor are one");
	ok(s && s->max_instances == 10 && strcmp(s->class, "CUSTOM_A40_8Q") == 0, "cap and class");
	is(s->params, "frame_rate_limiter=0, a=#;", "a # or ; without white space before it is no comment");
	s = config_section(&c, "i915-GVTg_V5_4");
	ok(s && s->at.line == 2 && s->naddresses == 0 && s->nmatches == 0 && s->max_instances == NO_LIMIT &&
		   strcmp(s->class, "VGPU") == 0 && !s->params[0],
	   "a type without a section has the defaults");
	ok(!config_section(&c, "nvidia-37"), "a type that is not enabled has none");
	ok(c.warnings.n == 1, "one warning");
	is(c.warnings.n ? c.warnings.list[0].text : NULL,
	   message_in("f:2: {M_NO_PGPU_LEFT|i915-GVTg_V5_4|nvidia-36|it}"),
	   "for the second type that takes what no section names");
	parse("[policy]\n");
	is(c.warnings.n == 1 ? c.warnings.list[0].text : NULL, message_in("f: {M_CONF_NO_POOL}"),
	   "nothing enabled is a warning");
	config_free(&c);
	config_free(&c);
	ok(true, "freeing twice does no harm");
}

static void policy(void)
{
	const struct policy *p = &c.policy;
	struct config d;

	parse(A "[policy]\nmigrate_uuid = keep\nreuse = never\nreclaim = never\nreclaim_grace = 0\n"
		"reserve_ttl = 1\ncreate_timeout = 2\nstart_grace = 3\nrelease_wait = 0\n"
		"release_timeout = 5\ndriver_cleanup = 0\nlock_timeout = 7\ndriver_mismatch = warn\n"
		"cross_framework = yes\npgpu_types = several\n");
	ok(p->migrate_keep && !p->reuse_free && !p->reclaim_orphans && p->mismatch_warns && p->cross_framework &&
		   p->several_types,
	   "each word of a policy is taken");
	ok(p->reclaim_grace_s == 0 && p->reserve_ttl_s == 1 && p->create_timeout_s == 2 && p->start_grace_s == 3 &&
		   p->release_wait_s == 0 && p->release_timeout_s == 5 && p->driver_cleanup_s == 0 &&
		   p->lock_timeout_s == 7,
	   "and each time");
	config_default(&d);
	parse(A);
	ok(same_policy(&c.policy, &d.policy), "without [policy] the defaults hold");
	ok(c.policy.reuse_free && c.policy.reclaim_orphans && c.policy.reclaim_grace_s == 600 &&
		   c.policy.start_grace_s == 120,
	   "which are the documented ones");
	parse("[policy]\nplacement = pack\n");
	ok(p->placement == PLACE_PACK, "placement has the word pack");
	parse("[policy]\nplacement = spread\n");
	ok(p->placement == PLACE_SPREAD, "placement has the word spread");
}

static void quotas(void)
{
	parse(A "[quota]\nproject:5f1c0000000000000000000000000000 = 4\nproject: b =unlimited # all\n"
		"project:d : 3\nproject:e:1\ndefault: 2\nnone = 0\n");

	ok(config_quota(&c, "5f1c0000000000000000000000000000") == 4, "a project's quota, whose : is inih's separator");
	ok(config_quota(&c, "b") == NO_LIMIT, "unlimited is a quota");
	ok(config_quota(&c, "d") == 3 && config_quota(&c, "e") == 1, "the second separator can be a : as well");
	ok(config_quota(&c, "c") == 2, "other projects have the default");
	ok(config_quota(&c, "") == 0, "domains without a project have theirs");
	parse(A);
	ok(config_quota(&c, "c") == NO_LIMIT && config_quota(&c, "") == NO_LIMIT, "without [quota] there is none");
}

/* Lines of any length: inih takes 198 bytes of one at most. */
static void long_lines(void)
{
	enum { N = 600 };
	char text[N * 32], req[PARENT_SIZE], *at = text;
	const struct section *s;
	size_t same = 0;

	at += sprintf(at, "%sdevice_addresses =", M);
	for (int i = 0; i < N; i++)
		at += sprintf(at, "%*s%04x:84:00.0", i % 7, i ? "," : "", i + 1);
	at += sprintf(at, "\nvgpu_params = ");
	for (int i = 0; i < 500; i++)
		at += sprintf(at, "%s", i % 2 ? " " : "x");
	sprintf(at, "x\n");
	parse(text);
	s = config_section(&c, "nvidia-35");
	for (int i = 0; i < N; i++) {
		snprintf(req, sizeof(req), "%04x:84:00.0", i + 1);
		same += s && s->naddresses == N && strcmp(s->addresses[i].text, req) == 0;
	}
	ok(same == N, "a line of %zu bytes is read whole", strlen(text));
	ok(s && strlen(s->params) == 501, "so is one with a blank after each letter");
	at = text + sprintf(text, "%svgpu_params = ", M);
	memset(at, 'x', PARAMS_SIZE);
	strcpy(at + PARAMS_SIZE, "\n");
	config_free(&c);
	ok(config_of_text(&c, "f", text, strlen(text), &err) < 0, "a value that does not fit is refused");
	is(err.text, message_in("f:4: [mdev_nvidia-35] vgpu_params: {M_CONF_TOO_LONG|1023}"), "and never cut");
	strcpy(at + PARAMS_SIZE - 1, "\n");
	parse(text);
	ok(strlen(c.sections[0].params) == PARAMS_SIZE - 1, "one that just fits is taken");
}

/* inih gets only the beginning of a long line; the value is whole, wherever that ends. */
static void pieces(void)
{
	static const char *const patterns[] = { "a;#", "ab #c", "=a: b", "|", "x |;", "[a] b" };
	size_t same = 0;

	for (size_t p = 0; p < ARRAY_SIZE(patterns); p++)
		for (size_t before = 0; before < 8; before++) {
			char value[PARAMS_SIZE] = "", text[PARAMS_SIZE + 128], *comment;

			memset(value, 'v', before + 1);
			while (strlen(value) < 500)
				strcat(value, patterns[p]);
			strcat(value, "!");
			snprintf(text, sizeof(text), "%svgpu_params = %s\n", M, value);
			comment = strstr(value, " #");
			if (comment)
				*comment = '\0';
			parse(text);
			same += strcmp(c.sections[0].params, value) == 0;
		}
	ok(same == 8 * ARRAY_SIZE(patterns), "a long value is the same wherever it is cut: %zu", same);
}

/* `n` addresses for each of five types. */
static int addresses_of(int n)
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
	config_free(&c);
	err = (struct err){ 0 };
	return config_of_text(&c, "f", text, len, &err);
}

static void bounds(void)
{
	ok_err(addresses_of(819) == 0, "4095 addresses are understood");
	ok(addresses_of(1024) < 0, "more are refused");
	is(err.text, message_in("f:12: [mdev_t4] device_addresses: {M_CONF_TOO_MANY_ALL|4096}"),
	   "with the last line that has some");
	ok(addresses_of(1025) < 0, "so are more in one section");
	is(err.text, message_in("f:4: [mdev_t0] device_addresses: {M_CONF_TOO_MANY|1024}"), "with its line");
}

TESTS(what_is_refused, what_no_text_has, types, policy, quotas, long_lines, pieces, bounds)
