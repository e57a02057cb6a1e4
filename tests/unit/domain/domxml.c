/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A domain's XML: what it asks for, and what is refused. */
#include <dlfcn.h>
#include <sys/resource.h>
#include <time.h>

#include "base/text.h"
#include "lib/messages.h"
#include "unit/domain/parsed.h"

#define OF_LEASE(devices) LEASE_XML(" project='p1'>" devices)

static const struct vgpu_request *req_of(const char *xml)
{
	static const struct vgpu_request none;
	const struct request *request = request_of(xml, 0);

	return request->nvgpus ? &request->vgpus[0] : &none;
}

static const char *id_of(const struct request *request, size_t n)
{
	return n < request->nvgpus ? request->vgpus[n].id : "";
}

static void refused(const char *xml, const char *because, const char *sentence)
{
	int r = parse_bytes(xml, strlen(xml), 0);

	if (!ok(r == -EINVAL && says(err.text, because) && !strchr(err.text, '\n'), "%s", sentence))
		printf("# %d: %s\n", r, err.text);
}

/* Runs first: nothing has loaded libxml2 yet. */
static void loading(void)
{
	static const char none[] = DOMAIN_XML("<devices>" PCI_XML("bus='1'") "</devices>");
	static const char mdev[] = DOMAIN("", MDEV_XML(A)), lease[] = DOMAIN(LEASE(""), "");
	static const char spelt[] = "<hostdev mode='subsystem' type='&#109;dev' model='vfio-pci'>";
	struct rlimit was, few;

	ok(domxml_concerns(mdev, strlen(mdev)), "an mdev may concern us");
	ok(domxml_concerns(lease, strlen(lease)), "so may our metadata");
	ok(domxml_concerns(spelt, strlen(spelt)), "and a type in which a letter is written as its number");
	ok(!domxml_concerns(none, strlen(none)) && !domxml_concerns("", 0), "a domain with neither does not");
	ok(!domxml_concerns(mdev, (size_t)(strstr(mdev, "mdev'") - mdev)), "nor does what stands behind its end");
	ok(!dlopen(XML_SONAME, RTLD_LAZY | RTLD_NOLOAD), "that takes no libxml2");

	getrlimit(RLIMIT_NOFILE, &was);
	few = was;
	few.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &few);
	ok_err(parse_bytes(none, strlen(none), 0) == -ELIBACC && says(err.text, "M_NO_LIBXML2"),
	       "where libxml2 is missing the error says so");
	setrlimit(RLIMIT_NOFILE, &was);
	ok(parse_bytes(none, strlen(none), 0) == 0, "and it is looked for again");
}

static void peeked(const char *xml, const char *uuid, const char *says)
{
	char got[UUID_SIZE], *copy = malloc(strlen(xml));

	/* No NUL follows. */
	memccpy(copy, xml, '\0', strlen(xml));
	if (!domxml_peek_uuid(got, copy, strlen(xml)))
		*got = '\0';
	is(got, uuid, says);
	free(copy);
}

#define UUID_XML "<uuid>" VM "</uuid>"

static void identity(void)
{
	const struct request *request = request_of("<domain><name>a&#10;&lt;<![CDATA[&]]><!-- x -->\xc3\xa4</name>"
						   "<uuid>\n 67A42C8B 11114000-8000000000000001\t</uuid></domain>",
						   0);

	is(request->name, "a\n<&\xc3\xa4", "a name is any text, and all of it");
	is(request->uuid, VM, "a UUID is read in every spelling that libvirt reads");
	request = request_of("<domain><name> a </name><name>b</name>" UUID_XML "</domain>", 0);
	is(request->name, " a ", "blanks belong to a name, and the first one counts");
	request = request_of(
		"<?xml version='1.0' encoding='ISO-8859-1'?><domain><name>\xe4</name>" UUID_XML "</domain>", 0);
	is(request->name, "\xc3\xa4", "a name in another encoding is turned into UTF-8");
	ok(request_of("<domain><name>a</name></domain>", DOMXML_FILE)->uuid[0] == '\0' && doc,
	   "a file to be defined may leave the UUID to libvirt");
	ok(request_of("<domain><name>a</name><uuid/></domain>", DOMXML_FILE)->uuid[0] == '\0' && doc, "or is empty");
	is(request_of(DOMAIN(LEASE("<v:device/>"), MDEV_XML("x")), DOMXML_IDENTITY)->uuid, VM,
	   "who only asks for the identity gets it whatever else is wrong");
	peeked("<domain type='kvm' id='1'>\n  <name>a&gt;b</name>\n  " UUID_XML "\n  <metadata>", VM,
	       "the UUID is told from what libvirt prints first, whatever follows");
	peeked("<domain a='>'><name></name><uuid>67A42C8B111140008000000000000001</uuid>", VM, "as libvirt reads it");
	peeked("<domain><name><uuid>" A "</uuid></name>" UUID_XML, "", "what is in the name is none");
	peeked("<domain>" UUID_XML "<name>a</name>", "", "nor is it where libvirt has it nowhere");
	peeked("<domain><name>a</name><title/>" UUID_XML, "", "nor behind anything else");
	peeked("<domain><name>a</name><uuid>" VM "<!-- --></uuid>", "", "nor with anything in it");
	peeked("<domain>a</name>" UUID_XML, "", "nor behind the end of a name that does not begin");
	peeked("<domain><name>a</name><uuid>" VM "</uuid", "", "nor cut short");
	peeked("<domain><name>a</name><uuid>" VM, "", "anywhere");
	peeked("<!DOCTYPE domain><domain><name>a</name>" UUID_XML, "", "nor behind a document type");
	peeked("<network><name>a</name>" UUID_XML, "", "nor of what is no domain");
	refused("<domain><name>a</name></domain>", "M_DOMAIN_NO_UUID", "libvirt itself always gives a UUID");
	refused("<domain><name>a</name><uuid>" VM "0</uuid></domain>", "M_DOMAIN_NO_UUID", "33 digits are no UUID");
	refused("<domain><name>a</name><uuid>67a42c8b-1</uuid></domain>", "M_DOMAIN_NO_UUID", "nor are nine");
	refused("<domain>" UUID_XML "</domain>", "M_DOMAIN_NO_NAME", "a domain has a name");
	refused("<domain><name/>" UUID_XML "</domain>", "M_DOMAIN_EMPTY_NAME", "that is not empty");
	refused("<network><name>a</name></network>", "M_XML_NO_DOMAIN", "a network is no domain");
	refused("<domain xmlns='urn:x'><name>a</name></domain>", "M_XML_NO_DOMAIN", "nor is one of another namespace");
}

#define UPPER_A "C6F1A2B3-0000-4000-8000-00000000000A"
#define HOSTDEV(attributes, address) "<hostdev " attributes "><source><address " address "/></source></hostdev>"

static void mdevs(void)
{
	static const char *const others[] = {
		"<hostdev type='mdev' mode='capabilities' model='vfio-pci'/>",
		HOSTDEV("mode='subsystem' type='mdev' model='vfio-ccw'", "uuid='" B "'"),
		HOSTDEV("mode='subsystem' type='mdev' model='vfio-ap'", "uuid='" B "'"),
		HOSTDEV("mode='subsystem' type='usb'", "uuid='" B "'"),
		HOSTDEV("xmlns='urn:x' mode='subsystem' type='mdev' model='vfio-pci'", "uuid='" B "'"),
		PCI_XML("bus='0x41'"),
		"<disk>" MDEV_XML(B) "</disk>",
	};
	const struct request *request;
	char xml[4096] = "<domain><name>a</name>" UUID_XML "<devices>" MDEV_XML(UPPER_A);

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		text_add(xml, sizeof(xml), "%s", others[i]);
	text_add(xml, sizeof(xml), MDEV_XML(NIL) "</devices>" MDEV_XML(B) "</domain>");
	request = request_of(xml, 0);
	ok(request->nvgpus == 2, "mdevs of model vfio-pci, in <devices> and in no namespace, are requests");
	is(id_of(request, 0), A, "their UUIDs are lowered");
	ok(request->nvgpus == 2 && !request->vgpus[0].any && request->vgpus[1].any, "the nil UUID is a placeholder");
	request = request_of(DOMAIN_XML("<devices>" MDEV_XML(A) "</devices><devices>" MDEV_XML(B) "</devices>"), 0);
	ok(request->nvgpus == 2, "a second <devices> counts, too");
	request = request_of(DOMAIN("", "<hostdev type='mdev' model='vfio-pci'><source/><source><address uuid='" A
					"'/><address uuid='" B "'/></source></hostdev>"),
			     0);
	is(id_of(request, 0), A, "of several addresses the first counts; the mode may be missing");
	request = request_of(DOMAIN("", HOSTDEV("xmlns:q='q' q:type='mdev' type='usb' model='vfio-pci'",
						"xmlns:uuid='q' q:uuid='" A "' uuid='" B "'")),
			     0);
	is(id_of(request, 0), A, "of several attributes the first of the name counts, whatever its prefix");
	refused(DOMAIN("", MDEV_XML(A) MDEV_XML(B) MDEV_XML("{" UPPER_A "}")), "M_NOT_A_UUID", "an mdev has a UUID");
	refused(DOMAIN("", MDEV_XML(A) MDEV_XML(UPPER_A)), "M_SAME_UUID",
		"two mdevs have two UUIDs, however they are spelled");
	refused(DOMAIN("", "<hostdev type='mdev' model='vfio-pci'/>"), "M_NO_SOURCE", "an mdev has an address");
}

static void many(void)
{
	static char xml[1 << 20];

	for (int n = REQUEST_MAX; n <= REQUEST_MAX + 1; n++) {
		strcpy(xml, "<domain><name>a</name>" UUID_XML "<devices>");
		for (int i = 0; i < n; i++)
			text_add(
				xml, sizeof(xml),
				HOSTDEV("type='mdev' model='vfio-pci'", "uuid='00000000-0000-0000-0000-000000000%03x'"),
				i);
		text_add(xml, sizeof(xml), "</devices></domain>");
		if (n == REQUEST_MAX)
			ok(request_of(xml, 0)->nvgpus == REQUEST_MAX, "%d vGPUs are not too many", n);
		else
			refused(xml, "M_TOO_MANY_VGPUS", "one more is");
	}
}

/* The processor time for a document with `n` vGPUs and many other elements. */
static double seconds_for(int n)
{
	enum { OTHERS = 400000 };
	static const char other[] = "<a/>";
	static char hostdevs[1 << 20], xml[sizeof(hostdevs) + OTHERS * sizeof(other)];
	char *end = xml;
	clock_t began;

	hostdevs[0] = '\0';
	for (int i = 0; i < n; i++)
		text_add(hostdevs, sizeof(hostdevs),
			 HOSTDEV("type='mdev' model='vfio-pci'", "uuid='00000000-0000-0000-0000-000000000%03x'"), i);
	end = stpcpy(end, "<domain><name>a</name>" UUID_XML "<devices>");
	end = stpcpy(end, hostdevs);
	for (int i = 0; i < OTHERS; i++)
		end = stpcpy(end, other);
	stpcpy(end, "</devices></domain>");
	began = clock();
	ok(request_of(xml, 0)->nvgpus == (size_t)n, "%d vGPUs are found among other elements", n);
	return (double)(clock() - began) / CLOCKS_PER_SEC;
}

/* All elements of the metadata have one namespace, of 1 MiB. */
static double seconds_for_namespace(void)
{
	enum { LENGTH = 1 << 20, OTHERS = 20000 };
	static const char other[] = "<a:b/>";
	static char xml[LENGTH + OTHERS * sizeof(other) + 1024];
	char *end = stpcpy(xml, "<domain><name>a</name>" UUID_XML "<metadata xmlns:a='");
	clock_t began;

	end = (char *)memset(end, 'x', LENGTH) + LENGTH;
	end = stpcpy(end, "'>");
	for (int i = 0; i < OTHERS; i++)
		end = stpcpy(end, other);
	stpcpy(end, "</metadata></domain>");
	began = clock();
	ok(request_of(xml, 0)->nvgpus == 0, "a document with a long namespace is read");
	return (double)(clock() - began) / CLOCKS_PER_SEC;
}

static void large_documents(void)
{
	ok(at_best(seconds_for(REQUEST_MAX) < 3 * seconds_for(1)),
	   "an element is not compared with each of many vGPUs");
	ok(at_best(seconds_for_namespace() < 1), "a long namespace is not searched for each element");
}

static void pci_devices(void)
{
	/* NULL: it is left for libvirt to refuse. */
	static const struct {
		const char *attrs, *id;
	} rows[] = {
		{ "domain='0x0000' bus='0x41' slot='0x00' function='0x4'", "0000:41:00.4" },
		{ "type='pci' bus='65' slot='0' function='4'", "0000:41:00.4" },
		{ "domain='0' bus='41' slot='31' function='7'", "0000:29:1f.7" },
		{ "domain='0' bus='041' slot='+1' function=' 7'", "0000:21:01.7" },
		{ "domain='0x10000' bus='0xFF' slot='0x1F' function='0x7'", "10000:ff:1f.7" },
		{ "bus='0x100'", NULL },
		{ "slot='32'", NULL },
		{ "function='8'", NULL },
		{ "bus='-1'", NULL },
		{ "bus='4g'", NULL },
		{ "bus=''", NULL },
	};
	static const char two[] = DOMAIN(OF_LEASE("<v:device address='0000:41:00.4' type='nvidia-1145'/>"),
					 PCI_XML("bus='0x41' function='4'") PCI_XML("bus='0x41' function='5'")
						 MDEV_XML(A));
	static const char same[] = DOMAIN("", PCI_XML("bus='9'") PCI_XML("bus='0x9'"));

	ok(request_of(two, 0)->nvgpus == 2, "a PCI device is a request where the metadata names it");
	is(req_of(two)->facts.type, "nvidia-1145", "that says its type");
	ok(request_of(two, DOMXML_ALL_PCI)->nvgpus == 3, "or where all are asked for");
	for (ROWS(row, rows)) {
		const struct request *request;
		char xml[1024];

		snprintf(xml, sizeof(xml), DOMAIN("", PCI_XML("%s")), row->attrs);
		request = request_of(xml, DOMXML_ALL_PCI);
		if (row->id)
			ok(request->nvgpus == 1 && strcmp(id_of(request, 0), row->id) == 0, "%s is %s, as to libvirt",
			   row->attrs, row->id);
		else
			ok(request->nvgpus == 0 && doc, "%s is left for libvirt to refuse", row->attrs);
	}
	ok(parse_bytes(same, strlen(same), DOMXML_ALL_PCI) == -EINVAL &&
		   says(err.text, "M_SAME_ADDRESS", "0000:09:00.0"),
	   "two hostdevs are two addresses");
}

/* The first mdev, with this metadata of it. */
static const struct vgpu_request *with(const char *attributes)
{
	static char xml[2048];

	snprintf(xml, sizeof(xml), DOMAIN(OF_LEASE("<v:device uuid='" A "' %s/>"), MDEV_XML(A)), attributes);
	return req_of(xml);
}

static const char *project_of(const char *xml)
{
	return request_of(xml, 0)->project;
}

static void metadata(void)
{
	const struct vgpu_request *req = req_of(DOMAIN(
		"<lease xmlns='' project='no'><device uuid='" A "' type='no'/></lease>"
		"<lease xmlns='" DOMXML_NS "' project='p1'><device uuid='" B "' type='b'/>"
		"<device uuid='C6F1A2B3-00004000-80000000-0000000A' type='GRID T4-1B' placement='spread' numa='1'"
		" params='a=1,b=&quot;2&quot;' name='GRID T4-1C' framework='mdev' model='10de:1eb8' driver='550.90.05'/>"
		"</lease>",
		MDEV_XML(A)));

	is(req->facts.type, "GRID T4-1B",
	   "the device that has the hostdev's UUID gives the type, whatever prefix it has");
	ok(req->has_metadata && req->has_placement && req->placement == PLACE_SPREAD, "and the placement");
	ok(req->numa == NUMA_NODE && req->numa_node == 1, "and the NUMA node");
	ok(req->has_params, "and parameters");
	is(req->params, "a=1,b=\"2\"", "as XML means them");
	ok(strcmp(req->facts.name, "GRID T4-1C") == 0 && strcmp(req->facts.framework, "mdev") == 0 &&
		   strcmp(req->facts.model, "10de:1eb8") == 0 && strcmp(req->facts.driver, "550.90.05") == 0,
	   "and the facts of the host that it comes from");
	is(domxml_request(doc)->project, "p1", "the lease gives the project");
	req = req_of(DOMAIN_XML("<metadata xmlns='" DOMXML_NS "'><lease><device uuid='" A
				"'/></lease></metadata><devices>" MDEV_XML(A) "</devices>"));
	ok(req->id[0] && !req->has_metadata, "a <metadata> that is not libvirt's is none");
	req = req_of(DOMAIN("", MDEV_XML(A)));
	ok(!req->has_metadata && !req->has_placement && !req->has_params && req->numa == NUMA_AUTO,
	   "without metadata nothing is asked for");
	ok(with("placement='pack' numa='none' params=''")->numa == NUMA_NONE, "NUMA can be none");
	ok(with("numa='auto' params=''")->has_params, "empty parameters are some");
	req = req_of(DOMAIN(OF_LEASE("<v:device uuid='" B "' placement='?' type='&#10;'/>"), MDEV_XML(A)));
	ok(req->id[0], "what is said of a device without a hostdev does not matter");
	is(project_of(DOMAIN(
		   NOVA_XML("<nova:owner><nova:user uuid='u'/><nova:project uuid='n1'>x</nova:project></nova:owner>")
			   OF_LEASE(""),
		   "")),
	   "n1", "Nova's project goes before");
	is(project_of(DOMAIN("<instance><owner><project uuid='n1'/></owner></instance>", "")), "",
	   "what is not in Nova's namespace is not Nova's");
	is(project_of(DOMAIN(LEASE_XML(" project='1'>") LEASE_XML(" project='2'>"), "")), "1",
	   "of two leases the first counts, as libvirt keeps that");
}

static void bad_metadata(void)
{
	static const struct {
		const char *device, *because, *sentence;
	} bad[] = {
		{ "uuid='" A "' placement='dense'", "M_META_PLACEMENT", "a placement that is none is refused" },
		{ "uuid='" A "' numa='-1'", "M_META_NUMA", "so is a node that is none" },
		{ "uuid='" A "' type='a&#10;b'", "M_META_NOT_ASCII", "so is a type with a line end" },
		{ "uuid='" A "' params='\xc3\xa4'", "M_META_NOT_ASCII", "so are parameters that are not ASCII" },
		{ "uuid='" A "' framework='0123456789012345'", "M_META_TOO_LONG", "so is a word that is too long" },
		{ "type='x'", "M_META_NO_ID", "a device needs a name" },
		{ "uuid='" A "' address='0000:41:00.0'", "M_META_NO_ID", "one name" },
		{ "uuid='nvidia'", "M_META_NOT_A_UUID", "a UUID is one" },
		{ "address='41:00.0'", "M_META_NOT_PCI", "an address has its domain" },
		{ "uuid='" A "'/><v:device uuid='C6F1A2B3-0000-4000-8000-00000000000A'", "M_META_TWICE",
		  "two of one name are refused" },
		{ "uuid='" B "'/><v:device uuid='" B "'", "M_META_TWICE", "also without a hostdev" },
	};
	char xml[1024];

	for (ROWS(row, bad)) {
		snprintf(xml, sizeof(xml), DOMAIN(OF_LEASE("<v:device %s/>"), MDEV_XML(A)), row->device);
		refused(xml, row->because, row->sentence);
	}
}

static const struct request *near(const char *rest)
{
	static char xml[1024];

	snprintf(xml, sizeof(xml), DOMAIN_XML("%s"), rest);
	return request_of(xml, 0);
}

static void nearness(void)
{
	const struct request *request = near(
		"<vcpu cpuset='64-95'> 2 </vcpu><cputune><vcpupin vcpu='0' cpuset='0-3,^2'/>"
		"<vcpupin vcpu='1' cpuset='8'/></cputune>"
		"<numatune><memory mode='strict' nodeset='0-2,^1,99'/></numatune>");

	ok(request->cpus[0] == 0x10b, "the CPUs of all pins are put together");
	ok(request->memory_nodes == 5, "and the memory's nodes; those beyond 63 are left out");
	request = near("<vcpu cpuset='64-95'>2</vcpu><cputune><vcpupin vcpu='1' cpuset='8'/></cputune>");
	ok(request->cpus[0] == 0x100 && request->cpus[1] == 0xffffffff, "a vCPU without a pin has the CPUs of <vcpu>");
	request = near("<vcpu cpuset='x'>2</vcpu><numatune><memory mode='strict' nodeset='0-'/></numatune>");
	ok(doc && !request->cpus && !request->memory_nodes, "a list that is none is no request");
	request = near("<vcpu>2</vcpu><numatune><memory mode='strict' placement='auto'/></numatune>");
	ok(doc && !request->cpus && !request->memory_nodes, "nor is no list");
}

static void hostile(void)
{
	/* <?xml version='1.0' encoding='UTF-8'?><domain><name>a</name></domain> in code page 037 */
	static const char ebcdic[] =
		"\x4c\x6f\xa7\x94\x93\x40\xa5\x85\x99\xa2\x89\x96\x95\x7e\x7d\xf1\x4b\xf0\x7d\x40\x85\x95\x83\x96"
		"\x84\x89\x95\x87\x7e\x7d\xe4\xe3\xc6\x60\xf8\x7d\x6f\x6e\x4c\x84\x96\x94\x81\x89\x95\x6e\x4c\x95"
		"\x81\x94\x85\x6e\x81\x4c\x61\x95\x81\x94\x85\x6e\x4c\x61\x84\x96\x94\x81\x89\x95\x6e";
	static const char *const unlike[] = {
		DOMAIN("", HOSTDEV("xmlns:1='u' type='mdev' model='vfio-pci'", "uuid='" A "'")),
		DOMAIN("", HOSTDEV("type='mdev' model='vfio-pci'", "xmlns:1='u' uuid='" A "'")),
		"<?xml version='1.0' encoding='ISO-8859-1'?>" DOMAIN(
			"", HOSTDEV("\xe4='' type='mdev' model='vfio-pci'", "uuid='" A "'")),
	};
	static const char utf16[] = "\xff\xfe<\0d\0o\0m\0a\0i\0n\0/\0>\0";
	size_t big = DOMXML_MAX + 1;
	autofree char *xml = malloc(big);
	char deep[300 * 3 + 1];

	refused("<!DOCTYPE domain [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>"
		"<!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;'><!ENTITY d '&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;'>]>"
		"<domain><name>&d;</name></domain>",
		"M_XML_DOCTYPE", "a billion laughs are not laughed");
	refused("<!DOCTYPE domain SYSTEM 'file:///etc/passwd'><domain/>", "M_XML_DOCTYPE", "no file is fetched");
	refused("<!DOCTYPE domain>" DOMAIN("", ""), "M_XML_DOCTYPE", "nor is an empty document type looked at");
	refused("<domain>\n<name>&a;</name></domain>", "M_XML_ENTITY", "an entity that nobody declared is refused");
	refused("<domain><name>a</name><graphics passwd='sec&ret;'/></domain>", "M_XML_LINE", "an error has its line");
	ok_err(!strstr(err.text, "ret;") && !strstr(err.text, "'ret"), "and says nothing of what stands there");
	refused("<?xml version='1.0' encoding='UTF-7'?>" DOMAIN("", ""), "M_XML_NOT_READABLE", "UTF-7 hides its tags");
	refused("<?xml version='1.0' encoding='Shift_JIS'?>" DOMAIN("", ""), "M_XML_NOT_READABLE",
		"so may other encodings");
	refused("<domain><name>\xff</name></domain>", "M_XML_LINE", "bytes that are no UTF-8 are refused");
	refused("<?xml version='1.0' encoding='ISO-8859-7'?><domain><name>\xff</name></domain>", "M_XML_ENCODING",
		"so are bytes that the declared encoding does not have");
	ok(parse_bytes(utf16, sizeof(utf16) - 1, 0) == -EINVAL && says(err.text, "M_XML_NUL"), "so is UTF-16");
	ok(parse_bytes("<domain\0/>", 10, 0) == -EINVAL && says(err.text, "M_XML_NUL"), "so is a NUL byte");
	ok_err(parse_bytes("", 0, 0) == -EINVAL, "nothing is no domain");
	for (size_t i = 0; i < 300; i++)
		memcpy(deep + i * 3, "<a>", 4);
	refused(deep, "M_XML_LINE", "300 levels are refused");

	ok_err(parse_bytes(ebcdic, sizeof(ebcdic) - 1, 0) == -EINVAL && says(err.text, "M_XML_NOT_READABLE"),
	       "so is EBCDIC that is declared to be UTF-8");
	for (ROWS(attr, unlike))
		ok_err(parse_bytes(*attr, strlen(*attr), 0) == -EINVAL,
		       "an attribute that has another name in the bytes");

	memset(xml, ' ', big);
	memcpy(xml, DOMAIN("", ""), strlen(DOMAIN("", "")));
	ok(parse_bytes(xml, big - 1, 0) == 0, "8 MiB are read");
	ok_err(parse_bytes(xml, big, 0) == -E2BIG, "one byte more is not");
	ok(parse_bytes(xml, big, DOMXML_LARGE) == 0 && !domxml_request(doc)->nvgpus,
	   "or it has no vGPU where that is asked");
	memcpy(xml + big - 21, "<hostdev type='mdev'>", 21);
	ok_err(parse_bytes(xml, big, DOMXML_LARGE) == -E2BIG, "but is refused if it may have an mdev");
	memset(xml, '<', big);
	ok(parse_bytes(xml, big - 1, 0) == -EINVAL, "8 MiB of nonsense are refused");
	parse_bytes("", 0, 0);
}

TESTS(loading, identity, mdevs, many, large_documents, pci_devices, metadata, bad_metadata, nearness, hostile)
