/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nova.conf: what is read of it, what is refused, and what is told about it. */
#include "base/text.h"
#include "lib/messages.h"
#include "unit/config/files.h"

#define AT "ROOT/etc/nova/nova.conf:"

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
	const struct section *s;
	bool kept = false;

	put("etc/nova/nova.conf", nova_conf);
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf\n");
	change("etc/nova/nova.conf", 0660, geteuid() == 0 ? 4242 : (uid_t)-1);
	is(load(NULL), "", "a nova.conf is read below the host's root, Nova's user may own it");
	s = config_section(&c, "nvidia-35");
	ok(c.nsections == 2 && s && s->naddresses == 2 && s->max_instances == 4 &&
		   strcmp(s->class, "CUSTOM_SMALL") == 0,
	   "with its types, addresses, caps and classes");
	ok(s && s->at.file == c.files[1] && s->at.line == 21, "a section says that it stands there");
	s = config_section(&c, "nvidia-36");
	ok(s && s->naddresses == 0 && !s->params[0],
	   "an empty list is one to Nova; keys that are ours alone are not looked at");
	warns(0, AT "29: [mdev_nvidia-40]: {M_CONF_UNUSED_SECTION}", "a type that Nova has not enabled is a warning");
	ok(c.warnings.n == 1, "the only one");
	for (size_t i = 0; i < c.nnames; i++)
		kept |= c.names[i][0] == '['; /* a section's name has no bracket */
	ok(!kept, "the file's text is not kept, because it can contain passwords");
	ok(!c.policy.reuse_free, "what is free there is left to Nova");

	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf\nenabled_mdev_types = nvidia-35\n"
				   "[vgpu_nvidia-35]\nmax_instances = 9\n[policy]\nreuse = free\n");
	is(load(NULL), "", "our own file beside it");
	s = config_section(&c, "nvidia-35");
	ok(c.nsections == 1 && s && s->max_instances == 9 && s->naddresses == 0, "wins, with its whole section");
	ok(c.policy.reuse_free, "and may ask for what is free");
	warns(0, AT "14: [devices] enabled_mdev_types: {M_CONF_REPLACED|enabled_mdev_types|ROOT/etc/vgpu-lease.conf:3}",
	      "its list of types is said to win");
	warns(1, AT "21: [mdev_nvidia-35]: {M_CONF_REPLACED|[vgpu_nvidia-35]|ROOT/etc/vgpu-lease.conf:4}",
	      "and its section");
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf\n[mdev_nvidia-37]\n");
	loads(NULL, "ROOT/etc/vgpu-lease.conf:3: [mdev_nvidia-37]: {M_CONF_NOT_ENABLED}",
	      "a section of ours that Nova has not enabled is a mistake");
}

/* The pool in one line: "TYPE=ADDRESS,... CLASS MAX;" for each section. */
static const char *pool(void)
{
	static char text[1024];

	text[0] = '\0';
	for (size_t i = 0; i < c.nsections; i++) {
		const struct section *s = &c.sections[i];

		text_add(text, sizeof(text), "%s%s=", i ? "; " : "", s->type);
		for (size_t k = 0; k < s->naddresses; k++)
			text_add(text, sizeof(text), "%s%s", k ? "," : "", s->addresses[k].text);
		text_add(text, sizeof(text), " %s", s->class);
		if (s->max_instances != NO_LIMIT)
			text_add(text, sizeof(text), " %d", s->max_instances);
	}
	return text;
}

/* Each way in which the pool is written in the field: `second` is a file of a directory behind the first one. */
static const struct {
	const char *sentence, *text, *second, *pool;
} nova_in_the_field[] = {
	{ "Kolla, as Kayobe's documents have it: a class for each type",
	  "[DEFAULT]\ntransport_url = rabbit://openstack:x$y@10.0.0.1:5672,openstack:x$y@10.0.0.2:5672//\n"
	  "log_format = %(asctime)s %(message)s\n\n"
	  "[devices]\nenabled_mdev_types = nvidia-700, nvidia-699\n\n[libvirt]\nrbd_user = cinder\n\n"
	  "[mdev_nvidia-700]\ndevice_addresses = 0000:21:00.4,0000:21:00.5,0000:81:00.4\n"
	  "mdev_class = CUSTOM_NVIDIA_700\n\n[mdev_nvidia-699]\ndevice_addresses = 0000:21:00.7\n"
	  "mdev_class = CUSTOM_NVIDIA_699\n",
	  NULL,
	  "nvidia-700=0000:21:00.4,0000:21:00.5,0000:81:00.4 CUSTOM_NVIDIA_700; "
	  "nvidia-699=0000:21:00.7 CUSTOM_NVIDIA_699" },
	{ "Puppet: no blanks, a type without addresses, one with a maximum",
	  "# File is managed by Puppet\n[devices]\nenabled_mdev_types=nvidia-35,nvidia-36,nvidia-37\n"
	  "[mdev_nvidia-35]\ndevice_addresses=0000:84:00.0,0000:85:00.0\n[mdev_nvidia-36]\nmdev_class=VGPU\n"
	  "[mdev_nvidia-37]\ndevice_addresses=0000:86:00.0\nmdev_class=CUSTOM_MDEV1\nmax_instances=10\n",
	  NULL, "nvidia-35=0000:84:00.0,0000:85:00.0 VGPU; nvidia-36= VGPU; nvidia-37=0000:86:00.0 CUSTOM_MDEV1 10" },
	{ "a directory, and the old names in one of its files, as an OpenStack operator mounts it",
	  "[DEFAULT]\nstate_path = /var/lib/nova\nmy_ip = 172.17.0.1\n[vnc]\nserver_listen = $my_ip\n",
	  "[libvirt]\nlive_migration_downtime = 500000\n[devices]\nenabled_vgpu_types=nvidia-228,nvidia-229\n"
	  "[vgpu_nvidia-228]\ndevice_addresses=0000:82:00.0\n[vgpu_nvidia-229]\ndevice_addresses=0000:04:00.0\n",
	  "nvidia-228=0000:82:00.0 VGPU; nvidia-229=0000:04:00.0 VGPU" },
	{ "OpenStack-Ansible: several types, a section only for those with addresses, JSON in [pci]",
	  "[libvirt]\nlive_migration_uri = \"qemu+ssh://nova@%s/system?no_verify=1&keyfile=/x\"\n"
	  "[filter_scheduler]\navailable_filters = a\navailable_filters = b\n"
	  "[devices]\nenabled_mdev_types = nvidia-35,nvidia-36\n\n[mdev_nvidia-35]\ndevice_addresses = 0000:84:00.0\n"
	  "[pci]\ndevice_spec = {\"address\": \"0000:84:00.0\"}\nalias = {\"name\": \"a\"}\n",
	  NULL, "nvidia-35=0000:84:00.0 VGPU; nvidia-36= VGPU" },
	{ "a merged file: lists over several lines, a comma at the end, CRLF",
	  "[devices]\r\nenabled_mdev_types =\r\n\tnvidia-35,\r\n\tnvidia-36,\r\n[mdev_nvidia-35]\r\n"
	  "device_addresses = 0000:84:00.0,\r\n    0000:85:00.0\r\n",
	  NULL, "nvidia-35=0000:84:00.0,0000:85:00.0 VGPU; nvidia-36= VGPU" },
	{ "DevStack: nova-cpu.conf with a section and a key that post-config repeats",
	  "[devices]\nenabled_mdev_types = nvidia-35\n[DEFAULT]\nmy_ip = 10.0.0.1\n[devices]\n"
	  "enabled_mdev_types = \"nvidia-36\"\n[mdev_nvidia-36]\ndevice_addresses =\n",
	  NULL, "nvidia-36= VGPU" },
};

static void nova_as_deployed(void)
{
	tree_add(&tree, "etc/nova/nova.conf.d/\n");
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf, /etc/nova/nova.conf.d\n");
	for (size_t i = 0; i < ARRAY_SIZE(nova_in_the_field); i++) {
		const char *second = nova_in_the_field[i].second;

		put("etc/nova/nova.conf", nova_in_the_field[i].text);
		put("etc/nova/nova.conf.d/25-nova.conf", second ? second : "");
		is(load(NULL), "", nova_in_the_field[i].sentence);
		is(pool(), nova_in_the_field[i].pool, "... is the pool that Nova has");
	}
}

#define A "[devices]\nenabled_mdev_types = a, b\n"
#define INSTEAD(section) "{M_CONF_NOVA_INSTEAD|" section "}"

static const struct {
	const char *sentence, *text, *message;
} nova_refused[] = {
	{ "a bracket that does not close", "[mdev_nvidia-35\n", AT "1: {M_CONF_NOVA_HEADER}" },
	{ "a comment behind a header", "[mdev_a] # x\n", AT "1: {M_CONF_NOVA_HEADER}" },
	{ "a section without a name", "[]\n", AT "1: {M_CONF_NOVA_HEADER}" },
	{ "a line without a value, in any section", "[DEFAULT]\ndebug\n", AT "2: {M_CONF_NOT_A_LINE}" },
	{ "a value without a key", "[DEFAULT]\n= 1\n", AT "2: {M_CONF_NO_KEY}" },
	{ "a key before the first section", "\na = 1\n[DEFAULT]\n", AT "2: {M_CONF_BEFORE_SECTION}" },
	{ "a line behind a comment", "[mdev_a]\ndevice_addresses = mtty,\n# b\n  mdpy\n", AT "4: {M_CONF_INDENTED}" },
	{ "and behind a form feed", "[mdev_a]\ndevice_addresses = mtty,\n  \f\n  mdpy\n", AT "4: {M_CONF_INDENTED}" },
	{ "an address without its domain", A "[mdev_a]\ndevice_addresses = 84:00.0\n",
	  AT "4: [mdev_a] device_addresses: {M_CONF_NEAR_ADDRESS|84:00.0|0000:84:00.0}" INSTEAD("mdev_a") },
	{ "a libvirt name", A "[mdev_a]\ndevice_addresses = mtty_mtty,\n  pci_0000_84_00_0\n",
	  AT "5: [mdev_a] device_addresses: {M_CONF_NEAR_ADDRESS|pci_0000_84_00_0|0000:84:00.0}" INSTEAD(
		  "mdev_a") "{M_CONF_CONTINUED}" },
	{ "an address in capitals, which Nova compares as text", A "[vgpu_a]\ndevice_addresses = 0000:3B:00.0\n",
	  AT "4: [vgpu_a] device_addresses: {M_CONF_NOVA_NO_DEVICE|0000:3B:00.0|0000:3b:00.0}" INSTEAD("vgpu_a") },
	{ "an address that is empty, which Nova may refuse",
	  A "[mdev_a]\ndevice_addresses = 0000:84:00.0,,0000:85:00.0\n",
	  AT "4: [mdev_a] device_addresses: {M_CONF_BAD_ADDRESS|}" INSTEAD("mdev_a") },
	{ "an indented comment, which Nova takes for a part of the list",
	  A "[mdev_a]\ndevice_addresses = mtty_mtty,\n  # b\n",
	  AT "5: [mdev_a] device_addresses: {M_CONF_BAD_ADDRESS|# b}" INSTEAD("mdev_a") "{M_CONF_CONTINUED}" },
	{ "a cap over two lines", A "[mdev_a]\nmax_instances = 1\n  2\n",
	  AT "4: [mdev_a] max_instances: {M_CONF_ONE_LINE}" INSTEAD("mdev_a") },
	{ "a cap of nothing", A "[mdev_a]\nmax_instances = 0\n",
	  AT "4: [mdev_a] max_instances: {M_CONF_BAD_NUMBER|0|1|65535}" INSTEAD("mdev_a") },
	{ "a class that is none", A "[mdev_a]\nmdev_class = vgpu\n",
	  AT "4: [mdev_a] mdev_class: {M_CONF_BAD_CLASS|vgpu}" INSTEAD("mdev_a") },
	{ "another option's value", A "[mdev_a]\nmax_instances = $my_count\n",
	  AT "4: [mdev_a] max_instances: {M_CONF_BAD_NUMBER|$my_count|1|65535}" INSTEAD("mdev_a") },
	{ "a type that is one", "[devices]\nenabled_mdev_types = nvidia-35, $my_type\n",
	  AT "2: [devices] enabled_mdev_types: {M_CONF_BAD_TYPE_IN_LIST|$my_type}" INSTEAD("devices") },
	{ "a comment behind a value, which Nova takes for a part of it",
	  "[devices]\nenabled_mdev_types = nvidia-35 ; small\n",
	  AT "2: [devices] enabled_mdev_types: {M_CONF_BAD_TYPE_IN_LIST|nvidia-35 ; small}" INSTEAD("devices") },
	{ "a type twice that has addresses",
	  "[devices]\nenabled_mdev_types = a, a\n[mdev_a]\ndevice_addresses = mtty_mtty\n",
	  AT "2: [devices] enabled_mdev_types: {M_CONF_NAMED_TWICE|a}" INSTEAD("devices") },
	{ "one address under two types",
	  A "[mdev_a]\ndevice_addresses = mtty_mtty\n[vgpu_b]\ndevice_addresses = mtty_mtty\n",
	  AT "6: [vgpu_b] device_addresses: {M_CONF_NOVA_TWICE|mtty|mdev_a|" AT "4}" },
};

static void nova_is_checked(void)
{
	const char *message;

	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf\n");
	is(load(NULL),
	   "ROOT/etc/vgpu-lease.conf:2: [devices] nova_conf: ROOT/etc/nova/nova.conf: No such file or directory",
	   "a nova.conf that is not there is a mistake of our file");
	for (size_t i = 0; i < ARRAY_SIZE(nova_refused); i++) {
		put("etc/nova/nova.conf", nova_refused[i].text);
		message = load(NULL);
		is(*message ? message : "understood", message_in(nova_refused[i].message), nova_refused[i].sentence);
	}
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf\nenabled_mdev_types = a\n"
				   "[mdev_a]\nmax_instances = 2\n");
	put("etc/nova/nova.conf", "[devices]\nenabled_mdev_types = $x\n[mdev_a]\nmax_instances = $my_count\n");
	is(load(NULL), "", "what such a refusal says to write is enough");
	is(pool(), "a= VGPU 2", "it counts in place of what cannot be read");
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf\n[policy]\npgpu_types = several\n");
	put("etc/nova/nova.conf", A "[mdev_a]\ndevice_addresses = mtty_mtty\n[mdev_b]\ndevice_addresses = mtty_mtty\n");
	loads(NULL, AT "6: [mdev_b] device_addresses: {M_CONF_NOVA_TWICE|mtty|mdev_a|" AT "4}",
	      "several types on a card are none of Nova's");
	put("etc/nova/nova.conf", "[devices]\nenabled_mdev_types = 'nvidia-35, nvidia-36'\n");
	is(load(NULL), "", "quotes around a value are not part of it, as oslo.config has it");
	ok(c.nsections == 2, "two types");
	change("etc/nova/nova.conf", 0666, (uid_t)-1);
	loads(NULL, AT " {M_CONF_OTHER_WRITABLE|ROOT/etc/nova/nova.conf}", "one that everybody may write is refused");
}

static const struct {
	const char *sentence, *text, *warning;
} nova_warned[] = {
	{ "a type twice, of which Nova takes the first", "[devices]\nenabled_mdev_types = a,\n  a\n",
	  AT "3: [devices] enabled_mdev_types: {M_CONF_NAMED_TWICE|a}" },
	{ "a key that comes twice: the last counts", A "[mdev_a]\nmax_instances = 1\nmax_instances = 2\n",
	  AT "4: [mdev_a] max_instances: {M_CONF_REPLACED|[mdev_a] max_instances|" AT "5}" },
	{ "the old name of the list beside the new one", A "enabled_vgpu_types = c\n",
	  AT "3: [devices] enabled_vgpu_types: {M_CONF_REPLACED|[devices] enabled_mdev_types|" AT "2}" },
	{ "addresses under the old name beside those under the new one",
	  A "[mdev_a]\ndevice_addresses = 0000:84:00.0\n[vgpu_a]\ndevice_addresses = 0000:85:00.0\n",
	  AT "6: [vgpu_a] device_addresses: {M_CONF_REPLACED|[mdev_a] device_addresses|" AT "4}" },
	{ "a cap that Nova does not read", A "[vgpu_a]\nmax_instances = 2\n",
	  AT "4: [vgpu_a] max_instances: {M_CONF_NOVA_OLD_SECTION|a}" },
	{ "a class that Nova does not use", A "[mdev_a]\nmdev_class = CUSTOM_A\n",
	  AT "4: [mdev_a] mdev_class: {M_CONF_NOVA_CLASS}" },
};

static void nova_is_explained(void)
{
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf\n");
	for (size_t i = 0; i < ARRAY_SIZE(nova_warned); i++) {
		put("etc/nova/nova.conf", nova_warned[i].text);
		is(load(NULL), "", nova_warned[i].sentence);
		is(warning(0), message_in(nova_warned[i].warning), "... and check says so");
	}
}

static void nova_in_several_files(void)
{
	const struct section *s;

	tree_add(&tree, "etc/nova/conf.d/\n");
	put("etc/vgpu-lease.conf",
	    "[devices]\nnova_conf = /etc/nova/nova.conf,\n  /etc/nova/conf.d, /etc/nova/last.conf\n");
	put("etc/nova/nova.conf", A "[mdev_a]\nmax_instances = 1\nmdev_class = CUSTOM_A\n");
	put("etc/nova/conf.d/9.conf", "[vgpu_a]\ndevice_addresses = 0000:84:00.0\n");
	put("etc/nova/conf.d/10.conf", "[mdev_a]\ndevice_addresses = 0000:85:00.0\nmax_instances = 2\n");
	put("etc/nova/conf.d/.x.conf", "nonsense\n");
	put("etc/nova/conf.d/x.conf.bak", "nonsense\n");
	put("etc/nova/last.conf", "[devices]\nenabled_vgpu_types = a\n");
	is(load(NULL), "", "files and directories of Nova's are read");
	s = config_section(&c, "a");
	ok(c.nsections == 1 && c.nfiles == 5, "the last that has a key counts, under whichever name");
	ok(s && s->naddresses == 1 && strcmp(s->addresses[0].text, "0000:84:00.0") == 0,
	   "the files of a directory in the order of their bytes");
	ok(s && s->max_instances == 2 && strcmp(s->class, "CUSTOM_A") == 0, "key by key");
	ok(c.warnings.n == 0, "and without a warning, as that is what such files are for");
	change("etc/nova/conf.d", 0777, (uid_t)-1);
	loads(NULL, "ROOT/etc/nova/conf.d: {M_CONF_OTHER_WRITABLE|ROOT/etc/nova/conf.d}",
	      "a directory that everybody may write to is refused");
	put("etc/vgpu-lease.conf", "[devices]\nnova_conf = /etc/nova/nova.conf, /etc/nova/nova.conf\n");
	loads(NULL, "ROOT/etc/vgpu-lease.conf:2: [devices] nova_conf: {M_CONF_NAMED_TWICE|/etc/nova/nova.conf}",
	      "our own key stays strict");
}

CONFIG_TESTS(nova_is_read, nova_as_deployed, nova_is_checked, nova_is_explained, nova_in_several_files)
