#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2016 # Scripts for another shell are in single quotes.
# Input that is wrong, or larger than what is parsed: a clear line, and nothing lost.
. "$(dirname "$0")/../../lib/hook.sh"
host t4:1
good() { configure nvidia-222 policy 'driver_cleanup = 0' 'lock_timeout = 1'; }
good
mkdir "$root/run/vgpu-lease" # what counts the refusals

xml() { sed "$1" "$vm" >"$work/x.xml"; }
prepare_x() { prepare "$work/x.xml"; }

### XML
xml 's/<vcpu>/<vcpu/'
refused_in_a_line "XML that does not parse" M_XML_LINE -- prepare_x
passes "in a release of which nothing is said" release "$work/x.xml"
{ echo '<?xml version="1.0" encoding="ISO-8859-7"?>'; sed 's/<vcpu>/<!-- \xffsecret --><vcpu>/' "$vm"; } >"$work/x.xml"
refused_in_a_line "XML that is not in the encoding which it declares" M_XML_ENCODING -- prepare_x
is "$(refusals request)|$(refusals error)" "2|0" "both refusals are the domain's fault"
passes "in a release of which nothing is said, either" release "$work/x.xml"
xml "s/$u1/${u1^^}/"
holds "an upper-case UUID is the same one" prepare_x
is "$(devices)" "$u1 " "as the kernel lowers it"
is "$(hook vm release end - <"$work/x.xml" 2>&1)$(leases)" 0 "and is released"
typed nvidia-999 >"$work/x.xml"
refused_in_a_line "an unknown type, with the known ones" M_UNKNOWN_TYPE nvidia-999 "*" -- prepare_x
refused_in_a_line "and those that are known" M_ENABLED_TYPES "nvidia-222" -- prepare_x
refused_in_a_line "a type that is a path" M_UNKNOWN_TYPE ../../x -- prepare <(typed ../../x)
passes "no XML at all is no domain with a vGPU" prepare /dev/null

{ echo '<domain><metadata>'; head -c 8000000 /dev/zero | sed 's|\x0\x0\x0\x0|<a/>|g'; echo "</metadata><devices><hostdev type='usb'/></devices></domain>"; } >"$work/x.xml"
long_x() { timeout 100 "$builddir/hooks/qemu" --root "$root" -- vm prepare begin - <"$work/x.xml"; }
passes "8 MB of tags before a device that is no vGPU hold nobody up" long_x

{
	echo '<domain><name>vm</name><uuid>4dea22b3-1d52-d8f3-2516-782e98ab3fa0</uuid><devices>'
	printf "<hostdev mode='subsystem' type='pci'><source><address bus='%s'/></source></hostdev>\n" {1..200}
	echo '</devices></domain>'
} >"$work/x.xml"
passes "a domain with 200 PCI devices, none of them a vGPU, starts" prepare_x

### Names
name=$'evil\n\e[31mname'
refused_in_a_line "a name with a newline and an escape code is shown as one safe line" M_REFUSED 'evil\x0a\x1b[31mname' -- \
	"$builddir/hooks/qemu" --root "$root" -- "$name" prepare begin - < <(typed nvidia-999)
long=$(head -c 4000 /dev/zero | tr '\0' n)
refused_in_a_line "a very long name leaves capacity for the cause" M_UNKNOWN_TYPE nvidia-999 -- \
	"$builddir/hooks/qemu" --root "$root" -- "$long" prepare begin - < <(typed nvidia-999)
another 3 | sed "s|<name>.*</name>|<name>a\&#10;b \&lt;%s</name>|; s/${u1%??}03/$u1/" >"$work/named.xml"
prepare "$work/named.xml"
is "$(prepare 2>&1)" "$(message M_REFUSED vm "$u1" "$(message M_LEASED_TO_DO 'a\x0ab <%s' "${vm_uuid%??}03")")" \
	"a name that breaks lines in the XML is one line where another domain is told of it"
release "$work/named.xml"
passes "a domain may be called --dry-run: four arguments are always libvirt's call" "$builddir/hooks/qemu" --dry-run start begin - <"$vm"
passes "an operation that is unknown is none of ours" hook vm frobnicate begin - <"$vm"
passes "nor one that has no part in this" hook vm attach begin - <"$vm"
"$builddir/hooks/qemu" vm prepare begin 2>"$work/err" <"$vm"
is "$?" 2 "a call with three arguments is a wrong one"
"$builddir/hooks/qemu" --bogus -- vm prepare begin - 2>"$work/err" <"$vm"
is "$?" 2 "so is an option that there is not"
for args in '' vm 'vm prepare begin - -' --root "--root $root vm prepare begin -" "--root $root -- vm prepare begin"; do
	in_words "$builddir/hooks/qemu" "$args" >"$work/out" 2>&1 </dev/null
	is "$?$(wc -l <"$work/out")" 21 "so is '${args//$root/DIR}'"
done

### Streams
refused_in_a_line "a closed standard input" M_XML_NOT_READ -- hook vm prepare begin - <&-
holds "a closed standard output hurts no start" bash -c '"$0" --root "$1" -- vm prepare begin - <"$2" >&-' "$builddir/hooks/qemu" "$root" "$vm"
is "$(leases)" 1 "which has its lease"
release "$vm"
holds "with none of the three at all a start ends as it should" \
	bash -c '"$0" --root "$1" -- vm prepare begin - <"$2" >&- 2>&-' "$builddir/hooks/qemu" "$root" "$vm"
fails "and what would have been said stands in none of its files" grep -rq 'vgpu-lease: ' "$root/run/vgpu-lease"
passes "a release without its XML ends with 0" bash -c '"$0" --root "$1" -- vm release end - <&-' "$builddir/hooks/qemu" "$root"
is "$(leases)" 1 "though it cannot know whose it is"
release "$vm"
sed "s/$u1/00000000-0000-0000-0000-000000000001/" "$vm" >"$work/placeholder.xml"
refused_in_a_line "a migration whose XML cannot be handed over is refused, and its reservation taken back" M_XML_NOT_WRITTEN -- \
	bash -c '"$0" --root "$1" -- vm migrate begin - <"$2" >/dev/full' "$builddir/hooks/qemu" "$root" "$work/placeholder.xml"
bash -c '"$0" --root "$1" -- vm restore begin - <"$2" >/dev/full 2>"$3"' "$builddir/hooks/qemu" "$root" "$work/placeholder.xml" "$work/err"
is "$?$(leases)" 00 "a restore likewise, but it ends with 0"
for op in restore reconnect; do
	(ulimit -f 0; hook vm $op begin - <"$vm" >"$work/out" 2>&1)
	is "$? $(cat "$work/out")" "0 " "a $op whose process is killed (SIGXFSZ) ends with 0, and prints nothing"
done
is "$(refusals capacity)|$(refusals error)" "0|2" "what cannot be read or written is an error: no card is full"
good

### State
mkdir -p "$root/run/vgpu-lease/leases"
echo rubbish >"$root/run/vgpu-lease/leases/$u1"
holds "a lease file that is garbage is not trusted" prepare
is "$(cat "$root/run/vgpu-lease/garbage/$u1")" rubbish "it is set aside"
holds "the domain has its device and its lease" grep -q state=active "$root/run/vgpu-lease/leases/$u1"
release "$vm"
prepare
leases=$root/run/vgpu-lease/leases
other() { echo "$leases/${u1%??}$1"; } # the file of another vGPU
cp "$leases/$u1" "$(other 31)"
head -c 60 "$leases/$u1" >"$(other 32)"
sed "s|^parent=.*|parent=../../../etc|; s/^id=.*/id=${u1%??}33/" "$leases/$u1" >"$(other 33)"
head -c 100000 /dev/zero >"$(other 34)"
ln -s /etc/passwd "$(other 35)"
mkdir "$(other 36)"
mkfifo "$(other 37)"
: >"$(other 38)"
timeout 20 "$builddir/vgpu-lease" --root "$root" list >"$work/out" 2>"$work/err"
is "$(grep -c "${u1%??}" "$work/out")" 1 "of a copy, a half, a path, a big one, a link, a directory, a pipe and an empty file none is a lease"
holds "the command says how many there are" grep -q '8 ' "$work/err"
another 2 >"$work/x.xml"
holds "a start goes on beside them" timeout 20 "$builddir/hooks/qemu" --root "$root" -- vm2 prepare begin - <"$work/x.xml"
is "$(leases) $(find "$root/run/vgpu-lease/garbage" -mindepth 1 | wc -l)" "2 9" "and sets them aside"
release "$vm"
leaves "releases find theirs all the same" 0 release "$work/x.xml"
rm -r "$root/run/vgpu-lease/garbage"
chmod 775 "$root/run/vgpu-lease"
refused_in_a_line "a state directory that others may write to is not ours" M_STATE_NOT_TRUSTED /run/vgpu-lease -- prepare
chmod 755 "$root/run/vgpu-lease"
lock=$root/run/vgpu-lease/lock
take_lock "$lock"
refused_in_a_line "a lock that is held for too long, with its holder" M_LOCK_HELD /run/vgpu-lease/lock $holder -- prepare
let_go
echo "$$ $(cut -d ' ' -f 22 /proc/$$/stat) 1" >"$lock"
refused_in_a_line "a program that is not ours, and has not said who it is" M_LOCK_UNKNOWN -- with_lock "$lock" prepare
exec 8>>"$lock"
holder=$(bash -c 'flock 8 & wait $!; echo $!')
echo "$holder 1 1" >"$lock"
refused_in_a_line "one that is gone, whose lock was inherited" M_LOCK_INHERITED "$holder" -- prepare
exec 8>&-
flock -o "$lock" sleep 60 &
holder=$!
eventually is_locked "$lock"
refused_in_a_line "one that is not ours, and is there" M_LOCK_HELD /run/vgpu-lease/lock $holder -- prepare
kill $holder
! wait $holder 2>/dev/null

### Configuration
holds "a lease to test with" prepare
echo '[nonsense]' >>"$root/etc/vgpu-lease.conf"
passes "a broken configuration hurts no reconnect" hook vm reconnect begin - <"$vm"
passes "nor a release" release
good
holds "which left it to gc, as the driver has its time" eventually collected
is "$(devices)" '' "and the device is gone, too"
echo '[nonsense]' >>"$root/etc/vgpu-lease.conf"
refused_in_a_line "a start is refused with file and line" M_CONF_AT "$root/etc/vgpu-lease.conf" 6 "[nonsense]" "$(message M_CONF_UNKNOWN_SECTION)" -- prepare
good

### Nothing is written where nothing should be
rm -rf "$root/run/vgpu-lease" "$root/var/lib/vgpu-lease"
xml '1d; /<hostdev/,/<\/hostdev/d'
passes "a domain without a vGPU passes" prepare_x
passes "in every operation" hook vm release end - <"$work/x.xml"
fails "and opens no state" test -e "$root/run/vgpu-lease"
LD_DEBUG=libs "$builddir/hooks/qemu" --root "$root" -- vm prepare begin - <"$work/x.xml" >"$work/out" 2>"$work/libs"
fails "nor loads the XML library" grep -q libxml2 "$work/libs"
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	strace -f -e trace=file -o "$work/trace" "$builddir/hooks/qemu" --root "$root" -- vm prepare begin - <"$work/x.xml"
	nothing "nor looks at anything of the host, but notes that it was called" \
		"$(grep -v execve "$work/trace" | grep -F "\"$root" | grep -vF "\"$root/run/vgpu-lease/called\"")"
fi
all() { find "$root/run" "$root/etc" "$root/var" "$root/sys/bus/mdev" -printf '%p %y %m %s %T@ %l\n' | sort; }
before=$(all)
hook_dry() { "$builddir/hooks/qemu" --root "$root" --dry-run -- vm "$@"; }
for op in 'prepare begin' 'migrate begin' 'restore begin' 'release end' 'reconnect begin' 'started begin'; do
	is "$(in_words hook_dry "$op -" <"$vm" 2>"$work/err")" "$(cat "$vm")" "a dry run of $op prints the XML"
done
xml "s/$u1/00000000-0000-0000-0000-000000000001/"
fails "of a placeholder with a UUID in its place" grep -q 00000000-0000 <(hook_dry prepare begin - <"$work/x.xml" 2>"$work/err")
holds "and says each step" says M_PLAN_CREATE "*" nvidia-222 0000:84:00.0 <"$work/err"
is "$(all)" "$before" "a dry run writes nothing"
prepare
before=$(all)
hook_dry release end - <"$vm" >"$work/out" 2>&1
hook_dry prepare begin - <"$vm" >"$work/out" 2>&1
is "$(all)" "$before" "nor where there is a lease"
release "$vm"
cp "$builddir/hooks/qemu" "$work/qemu" && chmod 755 "$work" "$work/qemu"
said=$(as_nobody "$work/qemu" vm prepare begin - <"$vm" 2>&1)
is "$?$said" "1$(message M_REFUSED vm "$u1" "$(message M_NOT_ROOT)")" "a libvirt that is not root's is told so"
said=$("$builddir/hooks/qemu" --help 2>"$work/err")
is "$?$(cat "$work/err")" 0 "--help is no error"
holds "and prints the usage on standard output" grep -q '^usage: qemu .*GUEST OP SUBOP EXTRA' <<<"$said"
passes "a domain may be called --help" "$builddir/hooks/qemu" --help start begin - <"$vm"

### Domains, and files of libvirt's, that are larger than what is parsed: who has no vGPU of ours is not held up by that
new_host t4:1+l40s/2
configure_both 'driver_cleanup = 0' 'reclaim_grace = 0'
mkdir "$root/run/vgpu-lease" # what counts the refusals
typed nvidia-222 >"$work/vm.xml"
vm=$work/vm.xml vf=0000:26:00.4
fill() { head -c "$1" /dev/zero | tr '\0' x; }
# large FROM TO: a domain with 9 MB of description in the place where libvirt has that, before the devices.
large() {
	sed '/<\/uuid>/q' "$1" | sed 's|</uuid>.*|</uuid>|'
	echo "<description>$(fill 9000000)</description>"
	sed '1,/<\/uuid>/d' "$1"
}
without() { sed '/<hostdev/,/<\/hostdev>/d; s/<metadata>.*<\/metadata>//' "$vm"; }
with() { without | awk -v h="$(vf_hostdev "$1")" '/<\/devices>/ { print h } { print }'; }
without >"$work/small.xml" && large "$work/small.xml" >"$work/none.xml"
for op in 'prepare begin' 'migrate begin' 'restore begin' 'reconnect begin' 'release end'; do
	passes "a domain of 9 MB without a vGPU passes $op" in_words hook vm "$op -" <"$work/none.xml"
done
with 0000:99:00.1 >"$work/small.xml" && large "$work/small.xml" >"$work/nic.xml"
refused_in_a_line "one with a PCI device does not, where the pool has VFs" M_XML_TOO_LARGE 8 -- hook vm prepare begin - <"$work/nic.xml"
passes "its release passes" hook vm release end - <"$work/nic.xml"
with $vf >"$work/vf.xml" && large "$work/vf.xml" >"$work/large-vf.xml"
refused_in_a_line "nor one with a VF of the pool" M_XML_TOO_LARGE 8 -- hook vm prepare begin - <"$work/large-vf.xml"
large "$vm" >"$work/large.xml"
refused_in_a_line "nor one with an mdev" M_XML_TOO_LARGE 8 -- hook vm prepare begin - <"$work/large.xml"
refused_in_a_line "nor to migrate" M_XML_TOO_LARGE 8 -- hook vm migrate begin - <"$work/large.xml"
passes "its restore does, as its failure would delete the image" hook vm restore begin - <"$work/large.xml"
passes "and its reconnect, as that would kill the guest" hook vm reconnect begin - <"$work/large.xml"
is "$(devices)$(leases)" 0 "nothing came of all that"
is "$(refusals request)|$(refusals error)" "4|0" "but four refusals, which are the domain's fault"
"$builddir/hooks/qemu" --root "$root" --dry-run -- vm prepare begin - <"$work/none.xml" >"$work/out"
holds "a dry run of one without a vGPU prints it whole" cmp "$work/none.xml" "$work/out"

prepare
sed 's/<\/uuid>.*/<\/uuid>/' "$vm" >"$work/x.xml" && large "$work/x.xml" >"$work/large.xml"
passes "what a domain has leased is released though it is 9 MB by now" hook vm release end - <"$work/large.xml"
is "$(devices)$(leases)" 0 "all of it"
then_is "a VF, too" 1 leases prepare "$work/vf.xml"
passes "is released by such a release" hook vm release end - <"$work/large-vf.xml"
is "$(leases)" 0 "with its lease"
prepare
passes "nor does an error in the metadata stop a release, though the UUID comes first" hook vm release end - \
	< <(sed 's|<name>.*</name>||; s|</uuid>|&<name>one-vgpu</name>|; s|<vgpu:device |&address="0000:41:00.4" |' "$vm")
is "$(devices)$(leases)" 0 "and all of it is released"
prepare
passes "a release whose XML is cut behind the UUID releases" hook vm release end - < <(sed '/<\/uuid>/q' "$vm"; echo "mdev")
is "$(devices)$(leases)" 0 "all of it, too"

LD_DEBUG=libs hook vm release end - <"$vm" >"$work/out" 2>"$work/libs"
fails "a release does not load the XML library" grep -q libxml2 "$work/libs"

### One file of libvirt's
mkdir -p "$root/run/libvirt/qemu"
aa=${u1%??}aa bb=${u1%??}bb
{ fill 17000000; echo "<address uuid='$aa'/>"; fill 1000000; } | libvirt_has huge
make_device 0000:84:00.0 nvidia-222 $u1
holds "beside a definition of 18 MB a start takes the device that exists" prepare
release "$vm"
for orphan in "$aa" "$bb"; do make_orphan 0000:84:00.0 nvidia-222 "$orphan"; done
for_guest $u1 nvidia-222 0000:84:00.0
holds "and gc goes on" lease gc
is "$(devices)" "$aa " "with what no file names, however far down"

ln -s loop.xml "$root/etc/libvirt/qemu/loop.xml"
make_device 0000:84:00.0 nvidia-222 $u1
holds "beside a definition that cannot be read a start takes the device that exists, too" prepare
release "$vm"
holds "gc goes on" lease gc
is "$(devices)" "$u1 $aa " "but removes nothing foreign, as the file may name it"
reports "and says so" lease gc --dry-run -- M_NAMED_UNKNOWN
holds "with the file" grep -q '/loop.xml: Too many levels' <<<"$said"
mv "$root/etc/libvirt/qemu/loop.xml" "$root/run/libvirt/qemu/"
hook vm prepare begin - <"$vm"
sed -i 's/^since_ms=.*/since_ms=1/' "$root/run/vgpu-lease/leases/$u1"
lease gc >"$work/out" 2>&1
is "$(leases)" 1 "beside a status file that cannot be read no domain is taken for dead"
rm "$root/run/libvirt/qemu/loop.xml"
lease gc >"$work/out" 2>&1
is "$(leases)" 0 "which it is without"
tap_done
