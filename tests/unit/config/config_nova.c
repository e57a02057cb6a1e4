/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nova.conf: what is read of it, what is refused, and what is told about it. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "config/config.h"
#include "lib/messages.h"
#include "lib/tap.h"
#include "lib/tree.h"
#include "unit/config/files.h"

static const char nova_conf[] = "[DEFAULT]\n"
				"enabled_apis = osapi_compute ; a\n"
				"log = a\n  [devices]\n  enabled_mdev_types = never\n"
				"debug = true\n"
				"[DEFAULT]\n"
				"[pci]\n"
				"[devices_old]\nenabled_mdev_types = never\n"
				"# [devices]\n"
				"[devices]\n"
				"; a comment\n"
				"enabled_mdev_types = nvidia-35,nvidia-36,\n"
				"some = thing\n  over\n  lines\n"
				"some = thing else\n"
				"[libvirt]\nx = \x01\n"
				"[mdev_nvidia-35]\n"
				"device_addresses = 0000:84:00.0,\n\t0000:85:00.0\n"
				"max_instances: 4\n"
				"mdev_class = CUSTOM_SMALL\n"
				"[vgpu_nvidia-36]\n"
				"device_addresses =\n"
				"vgpu_params = never\n"
				"[mdev_nvidia-40]\n"
				"device_addresses = 0000:84:00.0\n"
				"[placement]\n";

static void nova_is_read(void)
{
	struct config c;
	const struct section *s;

	tree_begin(&tree, "etc/\n");
	put("etc/nova/nova.conf", nova_conf);
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf\n");
	change("etc/nova/nova.conf", 0660, geteuid() == 0 ? 4242 : (uid_t)-1);
	is(load(&c, NULL), "", "a nova.conf is read below the host's root, Nova's user may own it");
	s = config_section(&c, "nvidia-35");
	ok(c.nsections == 2 && s && s->naddresses == 2 && s->max_instances == 4 &&
		   strcmp(s->class, "CUSTOM_SMALL") == 0,
	   "with its types, addresses, caps and classes");
	ok(s && s->file == c.files[1] && s->line == 21, "a section says that it stands there");
	s = config_section(&c, "nvidia-36");
	ok(s && s->naddresses == 0 && !s->params[0],
	   "an empty list is one to Nova; keys that are ours alone are not looked at");
	is(warning(&c, 0), message_in("ROOT/etc/nova/nova.conf:29: [mdev_nvidia-40]: {M_CONF_UNUSED_SECTION}"),
	   "a type that Nova has not enabled is a warning");
	ok(c.warnings.n == 1, "the only one");
	ok(!c.policy.reuse_free, "what is free there is left to Nova");
	config_free(&c);

	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf\nenabled_mdev_types = nvidia-35\n"
				   "[vgpu_nvidia-35]\nmax_instances = 9\n[policy]\nreuse = free\n");
	is(load(&c, NULL), "", "our own file beside it");
	s = config_section(&c, "nvidia-35");
	ok(c.nsections == 1 && s && s->max_instances == 9 && s->naddresses == 0, "wins, with its whole section");
	ok(c.policy.reuse_free, "and may ask for what is free");
	is(warning(&c, 0),
	   message_in(
		   "ROOT/etc/nova/nova.conf:14: [devices] enabled_mdev_types: {M_CONF_REPLACED|enabled_mdev_types|ROOT/etc/vgpu-lease.conf:3}"),
	   "its list of types is said to win");
	is(warning(&c, 1),
	   message_in(
		   "ROOT/etc/nova/nova.conf:21: [mdev_nvidia-35]: {M_CONF_REPLACED|[vgpu_nvidia-35]|ROOT/etc/vgpu-lease.conf:4}"),
	   "and its section");
	config_free(&c);
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf\n[mdev_nvidia-37]\n");
	is(load(&c, NULL), message_in("ROOT/etc/vgpu-lease.conf:3: [mdev_nvidia-37]: {M_CONF_NOT_ENABLED}"),
	   "a section of ours that Nova has not enabled is a mistake");
	tree_end(&tree);
}

#define A "[devices]\nenabled_mdev_types = a, b\n"

static const struct {
	const char *sentence, *text, *message;
} nova_refused[] = {
	{ "a bad address", A "[mdev_a]\ndevice_addresses = 84:00.0\n",
	  "ROOT/etc/nova/nova.conf:4: [mdev_a] device_addresses: {M_CONF_NOVA_ADDRESS|84:00.0}" },
	{ "a libvirt name", A "[mdev_a]\ndevice_addresses = mtty_mtty, pci_0000_84_00_0\n",
	  "ROOT/etc/nova/nova.conf:4: [mdev_a] device_addresses: {M_CONF_NOVA_ADDRESS|pci_0000_84_00_0}" },
	{ "a section's bracket that does not close", "[mdev_nvidia-35\n",
	  "ROOT/etc/nova/nova.conf:1: {M_CONF_NOVA_HEADER|[mdev_nvidia-35}" },
	{ "a comment behind a header", "[mdev_a] # x\n",
	  "ROOT/etc/nova/nova.conf:1: {M_CONF_NOVA_HEADER|[mdev_a] # x}" },
	{ "a section without a name", "[]\n", "ROOT/etc/nova/nova.conf:1: {M_CONF_NOVA_HEADER|[]}" },
	{ "a line without a value, in any section", "[DEFAULT]\ndebug\n",
	  "ROOT/etc/nova/nova.conf:2: {M_CONF_NOT_A_LINE|debug}" },
	{ "a value without a key", "[DEFAULT]\n= 1\n", "ROOT/etc/nova/nova.conf:2: {M_CONF_NO_KEY}" },
	{ "a key before the first section", "\na = 1\n[DEFAULT]\n",
	  "ROOT/etc/nova/nova.conf:2: {M_CONF_BEFORE_SECTION|a}" },
	{ "another encoding, in a comment, too", "# x\r# caf\xe9\n",
	  "ROOT/etc/nova/nova.conf:2: {M_CONF_NOVA_UTF8|e9}" },
	{ "an indented comment, which Nova takes for a part of the list",
	  A "[mdev_a]\ndevice_addresses = mtty_mtty,\n  # b\n",
	  "ROOT/etc/nova/nova.conf:5: [mdev_a] device_addresses: {M_CONF_NOVA_ADDRESS|# b}" },
	{ "a list whose last line alone is in quotes", A "[mdev_a]\ndevice_addresses = mtty_mtty,\n  'mdpy_mdpy'\n",
	  "ROOT/etc/nova/nova.conf:5: [mdev_a] device_addresses: {M_CONF_NOVA_ADDRESS|'mdpy_mdpy'}" },
	{ "a line that continues what a comment ended", "[mdev_a]\ndevice_addresses = mtty,\n# b\n  mdpy\n",
	  "ROOT/etc/nova/nova.conf:4: {M_CONF_INDENTED}" },
	{ "a cap over two lines", A "[mdev_a]\nmax_instances = 1\n  2\n",
	  "ROOT/etc/nova/nova.conf:4: [mdev_a] max_instances: {M_CONF_NOVA_NUMBER|1\n2}" },
	{ "a cap of nothing", A "[mdev_a]\nmax_instances = 0\n",
	  "ROOT/etc/nova/nova.conf:4: [mdev_a] max_instances: {M_CONF_NOVA_NUMBER|0}" },
	{ "a class that is none", A "[mdev_a]\nmdev_class = vgpu\n",
	  "ROOT/etc/nova/nova.conf:4: [mdev_a] mdev_class: {M_CONF_BAD_CLASS|vgpu}" },
	{ "another option's value", A "[mdev_a]\nmax_instances = $my_ip\n",
	  "ROOT/etc/nova/nova.conf:4: [mdev_a] max_instances: {M_CONF_NOVA_NAME|my_ip}" },
	{ "one address under two types",
	  A "[mdev_a]\ndevice_addresses = mtty_mtty\n[vgpu_b]\ndevice_addresses = mtty_mtty\n",
	  "ROOT/etc/nova/nova.conf:6: [vgpu_b] device_addresses: {M_CONF_NOVA_TWICE|mtty_mtty|ROOT/etc/nova/nova.conf:4}" },
	{ "a type with addresses twice",
	  "[devices]\nenabled_mdev_types = a,\n  a\n[mdev_a]\ndevice_addresses = mtty_mtty\n",
	  "ROOT/etc/nova/nova.conf:2: [devices] enabled_mdev_types: {M_CONF_NAMED_TWICE|a}" },
};

static void nova_is_checked(void)
{
	struct config c;
	const char *message;

	tree_begin(&tree, "etc/\n");
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf\n");
	is(load(&c, NULL),
	   "ROOT/etc/vgpu-lease.conf:2: [devices] nova_conf: ROOT/etc/nova/nova.conf: No such file or directory",
	   "a nova.conf that is not there is a mistake of our file");
	for (size_t i = 0; i < ARRAY_SIZE(nova_refused); i++) {
		put("etc/nova/nova.conf", nova_refused[i].text);
		message = load(&c, NULL);
		is(*message ? message : "understood", message_in(nova_refused[i].message), nova_refused[i].sentence);
	}
	put("etc/nova/nova.conf", "[devices]\nenabled_mdev_types = 'nvidia-35, nvidia-36'\n");
	is(load(&c, NULL), "", "quotes around a value are not part of it, as oslo.config has it");
	ok(c.nsections == 2, "two types");
	config_free(&c);
	change("etc/nova/nova.conf", 0666, (uid_t)-1);
	is(load(&c, NULL), message_in("ROOT/etc/nova/nova.conf: {M_CONF_OTHER_WRITABLE|ROOT/etc/nova/nova.conf}"),
	   "one that everybody may write is refused");
	tree_end(&tree);
}

static const struct {
	const char *sentence, *text, *warning;
} nova_warned[] = {
	{ "a key that comes twice: the last counts", A "[mdev_a]\nmax_instances = 1\nmax_instances = 2\n",
	  "ROOT/etc/nova/nova.conf:4: [mdev_a] max_instances: {M_CONF_REPLACED|[mdev_a] max_instances|ROOT/etc/nova/nova.conf:5}" },
	{ "the old name of the list beside the new one", A "enabled_vgpu_types = c\n",
	  "ROOT/etc/nova/nova.conf:3: [devices] enabled_vgpu_types: {M_CONF_REPLACED|[devices] enabled_mdev_types|ROOT/etc/nova/nova.conf:2}" },
	{ "addresses under the old name beside those under the new one",
	  A "[mdev_a]\ndevice_addresses = 0000:84:00.0\n[vgpu_a]\ndevice_addresses = 0000:85:00.0\n",
	  "ROOT/etc/nova/nova.conf:6: [vgpu_a] device_addresses: {M_CONF_REPLACED|[mdev_a] device_addresses|ROOT/etc/nova/nova.conf:4}" },
	{ "a cap that Nova does not read", A "[vgpu_a]\nmax_instances = 2\n",
	  "ROOT/etc/nova/nova.conf:4: [vgpu_a] max_instances: {M_CONF_NOVA_OLD_SECTION|a}" },
	{ "a class that Nova does not use", A "[mdev_a]\nmdev_class = CUSTOM_A\n",
	  "ROOT/etc/nova/nova.conf:4: [mdev_a] mdev_class: {M_CONF_NOVA_CLASS}" },
	{ "a comment behind a value, which Nova takes for a part of it",
	  "[devices]\nenabled_mdev_types = nvidia-35 ; small\n",
	  "ROOT/etc/nova/nova.conf:2: [devices] enabled_mdev_types: {M_CONF_NOVA_NO_TYPE|nvidia-35 ; small}{M_CONF_OWN_LINE}" },
	{ "an address in capitals", A "[mdev_a]\ndevice_addresses = 0000:3B:00.0\n",
	  "ROOT/etc/nova/nova.conf:4: [mdev_a] device_addresses: {M_CONF_NOVA_NO_DEVICE|0000:3B:00.0|0000:3b:00.0}" },
	{ "an address without a point", A "[mdev_a]\ndevice_addresses = 0000:84:00x0\n",
	  "ROOT/etc/nova/nova.conf:4: [mdev_a] device_addresses: {M_CONF_NOVA_ODD_DEVICE|0000:84:00x0}" },
	{ "an address that is empty", A "[mdev_a]\ndevice_addresses = 0000:84:00.0,\n  ,0000:85:00.0\n",
	  "ROOT/etc/nova/nova.conf:5: [mdev_a] device_addresses: {M_CONF_NOVA_NOT_PCI|}" },
	{ "a virtual parent, which earlier releases reject", A "[mdev_a]\ndevice_addresses = mtty_mtty\n",
	  "ROOT/etc/nova/nova.conf:4: [mdev_a] device_addresses: {M_CONF_NOVA_VIRTUAL|mtty_mtty}" },
};

static void nova_is_explained(void)
{
	struct config c;

	tree_begin(&tree, "etc/\nsys/devices/virtual/\n");
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf\n");
	for (size_t i = 0; i < ARRAY_SIZE(nova_warned); i++) {
		put("etc/nova/nova.conf", nova_warned[i].text);
		is(load(&c, NULL), "", nova_warned[i].sentence);
		is(warning(&c, 0), message_in(nova_warned[i].warning), "... and check says so");
		config_free(&c);
	}
	tree_end(&tree);
}

static void nova_in_several_files(void)
{
	struct config c;
	const struct section *s;

	tree_begin(&tree, "etc/\netc/nova/conf.d/\n");
	put("etc/vgpu-lease.conf",
	    "[devices]\nnova_conf = /etc/nova/nova.conf,\n  /etc/nova/conf.d, /etc/nova/last.conf\n");
	put("etc/nova/nova.conf", A "[mdev_a]\nmax_instances = 1\nmdev_class = CUSTOM_A\n");
	put("etc/nova/conf.d/9.conf", "[vgpu_a]\ndevice_addresses = 0000:84:00.0\n");
	put("etc/nova/conf.d/10.conf", "[mdev_a]\ndevice_addresses = 0000:85:00.0\nmax_instances = 2\n");
	put("etc/nova/conf.d/.x.conf", "nonsense\n");
	put("etc/nova/conf.d/x.conf.bak", "nonsense\n");
	put("etc/nova/last.conf", "[devices]\nenabled_vgpu_types = a\n");
	is(load(&c, NULL), "", "files and directories of Nova's are read");
	s = config_section(&c, "a");
	ok(c.nsections == 1 && c.nfiles == 5, "the last that has a key counts, under whichever name");
	ok(s && s->naddresses == 1 && strcmp(s->addresses[0], "0000:84:00.0") == 0,
	   "the files of a directory in the order of their bytes");
	ok(s && s->max_instances == 2 && strcmp(s->class, "CUSTOM_A") == 0, "key by key");
	ok(c.warnings.n == 0, "and without a warning, as that is what such files are for");
	config_free(&c);
	change("etc/nova/conf.d", 0777, (uid_t)-1);
	is(load(&c, NULL), message_in("ROOT/etc/nova/conf.d: {M_CONF_OTHER_WRITABLE|ROOT/etc/nova/conf.d}"),
	   "a directory that everybody may write to is refused");
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf, /etc/nova/nova.conf\n");
	is(load(&c, NULL),
	   message_in("ROOT/etc/vgpu-lease.conf:2: [devices] nova_conf: {M_CONF_NAMED_TWICE|/etc/nova/nova.conf}"),
	   "our own key stays strict");
	tree_end(&tree);
}

int main(void)
{
	umask(022);
	nova_is_read();
	nova_is_checked();
	nova_is_explained();
	nova_in_several_files();
	return tap_done();
}
