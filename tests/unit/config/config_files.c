/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration's files: the main one, its drop-ins, and which of them are trusted. */
#include "lib/config_text.h"
#include "lib/messages.h"
#include "unit/config/files.h"

static void no_file(void)
{
	ok_err(load_code(NULL) == -ENOENT, "no configuration is a case of its own");
	ok(c.policy.release_timeout_s == 10, "and the defaults hold then");
	put("etc/vgpu-lease.conf.d/a.conf", "[policy]\nreuse = never\n");
	ok(load_code(NULL) == -ENOENT, "drop-ins alone are none");
}

static void drop_ins(void)
{
	const struct section *s;
	char path[PATH_MAX];

	put("etc/vgpu-lease.conf",
	    "[devices]\nenabled_vgpu_types = a\n[mdev_a]\nmax_instances = 1\nmdev_class = CUSTOM_A\n"
	    "device_addresses = 0000:84:00.0, 0000:85:00.0\n[quota]\nproject:p = 1\ndefault = 2\n");
	put("etc/vgpu-lease.conf.d/10-x.conf",
	    "[vgpu_a]\ndevice_addresses = 0000:86:00.0\nmax_instances = 2\n[mdev_b]\n");
	put("etc/vgpu-lease.conf.d/9-y.conf", "[mdev_a]\nmax_instances = 3\n[quota]\nproject:p = 5\n");
	put("etc/vgpu-lease.conf.d/B.conf", "[devices]\nenabled_mdev_types = b, a\n");
	put("etc/vgpu-lease.conf.d/z.conf.off", "nonsense\n");
	put("etc/vgpu-lease.conf.d/.z.conf", "nonsense\n");
	put("etc/vgpu-lease.conf.d/.conf", "nonsense\n");
	is(load(NULL), "", "drop-ins are read, others in their directory not");
	ok(c.nfiles == 4 && strstr(c.files[1], "/10-x.conf") && strstr(c.files[2], "/9-y.conf") &&
		   strstr(c.files[3], "/B.conf"),
	   "in the order of their bytes");
	s = config_section(&c, "a");
	ok(c.nsections == 2 && strcmp(c.sections[0].type, "b") == 0,
	   "a later file's key replaces an earlier one's, in any spelling");
	ok(s && s->max_instances == 3 && strcmp(s->class, "CUSTOM_A") == 0, "key by key in a section");
	ok(s && s->naddresses == 1 && strcmp(s->addresses[0].text, "0000:86:00.0") == 0, "a list as a whole");
	ok(config_quota(&c, "p") == 5 && config_quota(&c, "q") == 2, "and project by project");

	put("etc/vgpu-lease.conf.d/9-y.conf", "[policy]\nreuse = never\n[mdev_c]\n");
	loads(NULL, "ROOT/etc/vgpu-lease.conf.d/9-y.conf:3: [mdev_c]: {M_CONF_NOT_ENABLED}",
	      "a mistake in a drop-in is named with its own file");
	put("etc/vgpu-lease.conf.d/9-y.conf", "[mdev_b]\ndevice_addresses = 0000:86:00.0\n");
	loads(NULL,
	      "ROOT/etc/vgpu-lease.conf.d/9-y.conf:2: [mdev_b] device_addresses: {M_CONF_GIVEN_TWICE|0000:86:00.0|vgpu_a|ROOT/etc/vgpu-lease.conf.d/10-x.conf:2}",
	      "one card under two types is seen over files");

	put("etc/other", "[devices]\nenabled_mdev_types = a\n");
	snprintf(path, sizeof(path), "%s/etc/other", tree.path);
	is(load(path), "", "another file is taken as it is");
	ok(c.nfiles == 1 && strcmp(c.files[0], path) == 0, "without the usual one's drop-ins");
	tree_add(&tree, "etc/other.d/x.conf = [mdev_b]\n");
	loads(path, "ROOT/etc/other.d/x.conf:1: [mdev_b]: {M_CONF_NOT_ENABLED}", "but with its own");
	tree_add(&tree, "etc/other.d/y.conf -> nowhere\n");
	tree_remove(&tree, "etc/other.d/x.conf");
	loads(path, "ROOT/etc/other.d/y.conf: {M_CONF_GONE}", "a drop-in that is none is refused");
}

static void trust(void)
{
	char path[PATH_MAX];

	tree_add(&tree, "etc/real/main = [policy]\\nreuse = never\netc/vgpu-lease.conf -> real/main\n");
	is(load(NULL), "", "a link is followed");
	ok(!c.policy.reuse_free, "to what it means");
	change("etc/real/main", 0666, (uid_t)-1);
	loads(NULL, "ROOT/etc/vgpu-lease.conf: {M_CONF_GROUP_WRITABLE|ROOT/etc/vgpu-lease.conf}",
	      "a file that everybody may write is refused");
	change("etc/real/main", 0664, (uid_t)-1);
	loads(NULL, "ROOT/etc/vgpu-lease.conf: {M_CONF_GROUP_WRITABLE|ROOT/etc/vgpu-lease.conf}",
	      "so is one that its group may write");
	change("etc/real/main", 0644, (uid_t)-1);
	put("etc/vgpu-lease.conf.d/x.conf", "");
	is(load(NULL), "", "an empty drop-in does no harm");
	change("etc/vgpu-lease.conf.d", 0777, (uid_t)-1);
	loads(NULL, "ROOT/etc/vgpu-lease.conf.d: {M_CONF_GROUP_WRITABLE|ROOT/etc/vgpu-lease.conf.d}",
	      "a directory of drop-ins that everybody may write is refused");
	change("etc/vgpu-lease.conf.d", 0755, (uid_t)-1);
	if (geteuid() == 0) {
		change("etc/vgpu-lease.conf.d/x.conf", 0644, 4242);
		loads(NULL,
		      "ROOT/etc/vgpu-lease.conf.d/x.conf: {M_CONF_OTHER_OWNER|4242|ROOT/etc/vgpu-lease.conf.d/x.conf}",
		      "another user's file is refused");
	} else {
		ok(true, "another user's file is refused # SKIP needs root");
	}
	tree_remove(&tree, "etc/vgpu-lease.conf.d/x.conf");
	snprintf(path, sizeof(path), "%s/etc/vgpu-lease.conf", tree.path);
	unlink(path);
	if (mkfifo(path, 0600) < 0)
		tree_fail(path);
	loads(NULL, "ROOT/etc/vgpu-lease.conf: {M_CONF_NOT_REGULAR}", "a pipe is refused and not waited for");
	unlink(path);
	if (mkdir(path, 0700) < 0)
		tree_fail(path);
	loads(NULL, "ROOT/etc/vgpu-lease.conf: {M_CONF_NOT_REGULAR}", "so is a directory");
	rmdir(path);
	put("etc/vgpu-lease.conf", "#");
	if (truncate(path, 1024 * 1024 + 1) < 0)
		tree_fail(path);
	loads(NULL, "ROOT/etc/vgpu-lease.conf: {M_CONF_TOO_LARGE|1}", "so is a file without end");
}

/* The file that is shipped: as it is, and with its examples and defaults uncommented. */
static void shipped(void)
{
	autofree char *text = source_text("etc/vgpu-lease.conf"), *whole = mem_strdup(text);
	struct config d;
	char *to = whole;

	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n") + 1;
		bool keep = *line != '#' || strchr(" \n", line[1]) || strncmp(line, "#nova_conf", 10) == 0;

		to = mempcpy(to, line + !keep, n - !keep);
		line += n;
	}
	*to = '\0';
	err = (struct err){ 0 };
	config_default(&d);
	ok_err(config_of_text(&c, "f", whole, strlen(whole), &err) == 0,
	       "the shipped file with all its settings is right");
	ok(same_policy(&c.policy, &d.policy) && c.quota_default == d.quota_default && c.quota_none == d.quota_none,
	   "what it shows for a default is one");
	ok(c.nsections == 2 && c.sections[1].vf && c.nquotas == 1, "and it shows the rest");

	put("etc/vgpu-lease.conf", text);
	is(load(NULL), "", "the shipped file as it is is right, too");
	is(warning(0), message_in("ROOT/etc/vgpu-lease.conf: {M_CONF_NO_POOL}"), "and says what is still to do");
}

/* One line for each mistake: "FILE:LINE", or "FILE". */
static const char *places(struct config_notes *mistakes)
{
	static char text[2048];

	text[0] = '\0';
	for (size_t i = 0; i < mistakes->n; i++) {
		const struct err *m = &mistakes->list[i];

		text_add(text, sizeof(text), "%s%.*s", i ? " " : "", m->where > 2 ? (int)m->where - 2 : 0, m->text);
	}
	config_notes_free(mistakes);
	return rooted(text);
}

static void all_mistakes(void)
{
	struct config_notes mistakes = { 0 };

	put("etc/vgpu-lease.conf", "[devices]\nenabled_mdev_types = a, b\n[mdev_a]\ndevice_addresses = 0000:84:00.0,\n"
				   "  pci_1, # the old one\n  0000:85:00.0,\n  pci_2\nmax_instances = none\nwhat\n"
				   "[policy\nplacement = nowhere\n[quota]\ndefault = few\n");
	put("etc/vgpu-lease.conf.d/x.conf", "[policy]\nplacement = nowhere\n");
	put("etc/vgpu-lease.conf.d/y.conf", "[mdev_c]\n");
	ok(load_code(&mistakes) == -EINVAL, "a configuration with mistakes is refused");
	ok_err(mistakes.n && strcmp(err.text, mistakes.list[0].text) == 0, "with the first of them");
	ok(mistakes.n > 2 && strstr(mistakes.list[1].text, message_in("{M_CONF_CONTINUED}")) &&
		   !strstr(mistakes.list[2].text, message_in("{M_CONF_CONTINUED}")),
	   "each in an indented line says so: %s", mistakes.list[1].text);
	is(places(&mistakes),
	   "ROOT/etc/vgpu-lease.conf:5 ROOT/etc/vgpu-lease.conf:7 ROOT/etc/vgpu-lease.conf:8 ROOT/etc/vgpu-lease.conf:9 "
	   "ROOT/etc/vgpu-lease.conf:10 ROOT/etc/vgpu-lease.conf:13 ROOT/etc/vgpu-lease.conf.d/x.conf:2",
	   "each in its own line; what belongs to one that cannot be read is none");

	put("etc/vgpu-lease.conf",
	    "[devices]\nenabled_mdev_types = a, b\n[mdev_a]\ndevice_addresses = 0000:84:00.0\n[mdev_b]\n"
	    "device_addresses = 0000:86:00.0,\n  0000:84:00.0\n[vf_d]\n");
	put("etc/vgpu-lease.conf.d/x.conf", "");
	ok(load_code(&mistakes) == -EINVAL, "so is one that does not fit together");
	is(places(&mistakes),
	   "ROOT/etc/vgpu-lease.conf:8 ROOT/etc/vgpu-lease.conf.d/y.conf:1 ROOT/etc/vgpu-lease.conf:7",
	   "a type that is not enabled, VFs that are not named, and a card that is given twice, in the line of that");

	put("etc/vgpu-lease.conf", "[devices]\nenabled_mdev_types = a b\n[mdev_a]\n[mdev_b]\n");
	ok(load_code(&mistakes) == -EINVAL, "nor does a list that cannot be read");
	is(places(&mistakes), "ROOT/etc/vgpu-lease.conf:2", "make each section one too many");
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = etc/nova.conf\n[mdev_a]\n");
	ok(load_code(&mistakes) == -EINVAL, "nor does any other key of [devices]");
	is(places(&mistakes), "ROOT/etc/vgpu-lease.conf:2", "whose value is a mistake");

	put("etc/vgpu-lease.conf", "[devices]\nenabled_mdev_types = a, b, c\n[mdev_a]\n"
				   "device_addresses = 0000:84:00.0,\n  # a comment\n  0000:85:00.0\n"
				   "device_match = 10de:1eb8,\n 10de:1eb9\n");
	ok(load_code(&mistakes) == 0 && mistakes.n == 0, "a good one has none");
	ok(c.sections[0].addresses[0].at.line == 4 && c.sections[0].addresses[1].at.line == 6,
	   "each address knows its line");
	ok(c.sections[0].matches[0].at.line == 7 && c.sections[0].matches[1].at.line == 8, "each match, too");
	ok(c.sections[1].at.line == 2 && c.sections[1].at.file == c.files[0], "and each type");
	change("etc/vgpu-lease.conf", 0666, 0);
	ok(load_code(&mistakes) == -EINVAL, "a file that is not trusted is one");
	is(places(&mistakes), "ROOT/etc/vgpu-lease.conf", "of the file as a whole");
	put("etc/vgpu-lease.conf.d/z.conf", "[devices]\n");
	tree_remove(&tree, "etc/vgpu-lease.conf");
	ok(load_code(&mistakes) == -ENOENT && mistakes.n == 0, "no file means none");
}

CONFIG_TESTS(no_file, drop_ins, trust, all_mistakes, shipped)
