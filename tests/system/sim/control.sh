#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The operator's knobs: what can be made slow or wrong on the simulated host, and the program's options. And several processes
# on that host.
. "$(dirname "$0")/../../lib/sim.sh"
t4=0000:84:00.0
models="t4 m60 p4 p100 rtxa6000 a2 a16 rtx6000 rtx8000 a40 a100 a100d l40s-mdev l40s a10 rtx6000ada rtxpro6000"
models="$models bench gvt-g gvt-g-256 flex mi210 cx6 mlx5 mtty mdpy mbochs"
is "$("$sim" "$root" t5 2>&1)" "$(message M_SIM_UNKNOWN_MODEL t5 "${models// /, }")" \
	"an unknown model is refused, with those that are known"
is "$("$sim" "$root" p4+a2@0000:01:00.0 2>&1)" "$(message M_SIM_SAME_ADDRESS a2 p4 a2 a2)" "two cards at one address are refused"
for model in '' t4:0 t4:x t4:17 t4:99 t4/4 a40/0 a40/400 bench/4x41 t4+t4 t4+ gvt-g:2 a40/4x4 t4@ t4@x mtty@0000:01:00.0 t4:4+p4@0000:87:00.0 \
	t4@0000:84:00.1; do
	fails "'$model' is refused" "$sim" "$root" "$model"
done
fails "nothing is left of it" test -e "$root"
is "$("$sim" "$root" 2>/dev/null; echo $?)" 2 "a usage error is 2"
is "$("$sim" --list-models | awk '{ print $1 }' | paste -sd' ')" "$models" "the models are listed"
holds "the host starts with a setting" "$sim" --driver=535.1.2 --set "inject=create any ENODEV" "$root" t4:2+a40/4+bench/2x3
is "$(cat "$root/sys/module/nvidia/version")" 535.1.2 "the driver's version is the one that was asked for"

is "$(create $t4 nvidia-222 "$(uuid 1)")" "No such device" "an ordered error comes"
is "$(create $t4 nvidia-222 "$(uuid 1)")" ok "once"
control inject "create 0000:41:00.0 EIO 2"
is "$(create 0000:41:00.4 nvidia-557 "$(uuid 2)")" "Input/output error" "an error on a card is one on its VFs"
is "$(create $t4 nvidia-222 "$(uuid 3)")" ok "another card has none"
is "$(cat "$control/inject")" "create 0000:41:00.0 EIO 1" "the file shows what is left"
control inject clear
is "$(create 0000:41:00.4 nvidia-557 "$(uuid 2)")" ok "all of it can be cleared"
control inject "remove $t4 EBUSY"
is "$(remove "$(uuid 3)")" "Device or resource busy" "a removal can fail"
holds "the device stays" test -e "$mdevs/$(uuid 3)/mdev_type"
is "$(remove "$(uuid 3)")" ok "and is removed the next time"
is "$(put "create nowhere EIO" "$control/inject")" "No such device" "a card that is not there is refused"
while read -r file line; do
	is "$(put "$line" "$control/$file")" "Invalid argument" "'$line' in $file is refused"
done <<-END
	inject create $t4 EFOO
	inject create any EIO 1 2
	create_delay_ms -1
	driver_removes off zombie
	mig 0000:c1:00.0 on
	bind 0000:41:00.4 vfio-pci
	vfs 0000:41:00.0 maybe
END
control create_delay_ms "$t4 3000"
control inject "create $t4 EAGAIN"
create $t4 nvidia-222 "$(uuid 4)" >"$tmp/out" &
holds "a driver that fails was asked first: the device is seen" eventually test -e "$mdevs/$(uuid 4)"
wait
is "$(cat "$tmp/out")" "Resource temporarily unavailable" "then the write fails"
fails "and the device is gone" test -e "$mdevs/$(uuid 4)"
is "$(capacity $t4 nvidia-222)" 15 "it took no capacity"
control create_delay_ms "$t4 0"

control attr_delay_ms 3000
is "$(create $t4 nvidia-222 "$(uuid 5)")" ok "a device is created"
fails "its links come later" test -e "$mdevs/$(uuid 5)/mdev_type"
holds "mdev_type comes" eventually test -e "$mdevs/$(uuid 5)/mdev_type"
holds "and iommu_group" test -e "$mdevs/$(uuid 5)/iommu_group"
control attr_delay_ms 0

control remove_delay_ms 300
began=$(now)
remove "$(uuid 5)" >/dev/null
holds "a removal takes its time" test $(($(now) - began)) -ge 300
control remove_delay_ms 0

control driver_removes "0000:85:00.0 3000"
for i in 6 7; do create 0000:85:00.0 nvidia-222 "$(uuid $i)" >/dev/null; done
true 9<>"$(node_of "$(uuid 6)")"
holds "the driver does not remove at once" test -e "$mdevs/$(uuid 6)"
holds "but by itself" eventually test ! -e "$mdevs/$(uuid 6)"
holds "what was never open stays" test -e "$mdevs/$(uuid 7)"
holds "the capacity of what it removed is back" eventually fits 0000:85:00.0 nvidia-222 15
control driver_removes "0000:85:00.0 60000 zombie"
true 9<>"$(node_of "$(uuid 7)")"
is "$(remove "$(uuid 7)")" ok "who is faster than the driver can remove"
is "$(capacity 0000:85:00.0 nvidia-222)" 15 "but the instance is lost"
is "$(cat "$control/driver_removes")" $'default off\n0000:85:00.0 60000 zombie' "the file shows what is set"
is "$(awk '$2 ~ /remove$/ { print $2 }' "$control/log" | tail -n 2 | paste -sd' ')" "driver-remove remove" "the log tells who it was"

types=$bus/0000:41:00.5/mdev_supported_types
holds "a VF has types" test -d "$types/nvidia-557"
ls -R "$types" >/dev/null
is "$(put "0000:41:00.0 off" "$control/register")" ok "a card's types can be taken away"
fails "they are gone at once" test -e "$types"
fails "also from class/mdev_bus" test -e "$bus/0000:41:00.5"
fails "also the device that was there" test -e "$mdevs/$(uuid 2)"
fails "also by the card's own path" test -e "$root/sys/bus/pci/devices/0000:41:00.5/mdev_supported_types"
is "$(put "0000:41:00.5 on" "$control/register")" ok "one VF can be registered alone"
is "$(capacity 0000:41:00.5 nvidia-557)" 1 "then it has capacity"
fails "and the others have no types yet" test -e "$bus/0000:41:00.4"
is "$(create 0000:41:00.5 nvidia-557 "$(uuid 8)")" ok "an mdev is created there"
is "$(readlink "$mdevs/$(uuid 8)/mdev_type")" ../mdev_supported_types/nvidia-557 "with its type"
exec 9<>"$(node_of "$(uuid 8)")"
is "$(put "0000:41:00.5 off" "$control/register")" "Device or resource busy" "a parent with an open device stays"
exec 9<&-
is "$(put "0000:41:00.5 off" "$control/register")" ok "once it is closed it goes"

is "$(cat "$bus/0000:c1:00.5/mdev_supported_types/"*/name | wc -l)" 3 "a bench card has as many types as asked for"
for path in "$root" "$work/none" ./none; do
	said=$("$sim" t4 "$path" 2>&1)
	is "$?|$said" "2|$(message M_SIM_DIR_FIRST "$path")" "a model before the directory is an error: ${path##*/}"
done

### Several of a kind, MIG
"$sim" --stop "$root"
holds "a model stands at several addresses" "$sim" "$root" t4+t4@0001:84:00.0+rtxpro6000:2+a100/4
is "$(cd "$bus" && printf '%s\n' * | paste -sd' ')" "0000:61:00.4 0000:61:00.5 0000:61:00.6 0000:61:00.7 0000:84:00.0 0001:84:00.0" "as it was told to"
is "$(readlink "$root/sys/bus/pci/devices/0001:c9:00.0/virtfn47")" ../0001:c9:06.1 "the 48th VF of the second card is functions ahead"
a100=0000:61:00.0 vf=0000:61:00.4 other=0000:61:00.5
mig() { put "$a100 $1" "$control/mig"; }
fits() { for t; do capacity $other "nvidia-$t"; done | paste -sd' '; }
is "$(mig 1g.5gb) $(mig on) $(fits 468 474)" "Invalid argument ok 0 0" "in MIG mode there is no capacity at first"
is "$(mig 3g.20gb) $(mig 1g.5gb) $(mig 4g.20gb) $(mig 4g.5gb)" "ok ok No space left on device Invalid argument" \
	"GPU instances are made of seven slices"
is "$(capacity $vf nvidia-474) $(fits 474 476 475)" "1 1 1 0" "a free one is capacity on every VF"
is "$(create $vf nvidia-474 "$(uuid 1)") $(fits 474) $(create $other nvidia-474 "$(uuid 2)") $(create $other nvidia-476 "$(uuid 2)")" \
	"ok 0 Input/output error ok" "until it is taken"
is "$(mig off),$(mig "7 off"),$(mig "99 off")" "Device or resource busy,Device or resource busy,No such device" "what is taken stays"

closed() { "$sim" "$@" <&- >&- 2>&-; }
holds "a host starts without any standard descriptor" closed "$work/closed" mtty
holds "and answers" test -d "$work/closed/sys/class/mdev_bus/mtty"
holds "as it ends" closed --stop "$work/closed"

### Several processes: who has a device open, a removal that waits for them, operations side by side, writers that are killed
"$sim" --stop "$root"
holds "a host starts" "$sim" "$root" t4:3+mtty

### Who has it open
create mtty mtty-2 "$(uuid 1)" >/dev/null
node=$(node_of "$(uuid 1)")
open_device "$(uuid 1)"
is "$(stat -L -c '%F %Hr:%Lr' "$root/proc/$holder/fd/"*)" "character special file $(cat "$root/sys/class/vfio/0/dev")" \
	"proc shows who has the group open: a device of its number''"
is "$(cat "$root/proc/$holder/comm")" "$(cat /proc/$holder/comm)" "with its name"
is "$(cut -d' ' -f22 "$root/proc/$holder/stat")" "$(cut -d' ' -f22 /proc/$holder/stat)" "and its start time"
is "$(ls "$root/proc")" "$holder" "proc shows nobody else"
is "$(put "" "$node")" "Device or resource busy" "a group is opened by one process at a time"

is "$(put "" "$root/dev/vfio/devices/vfio0")" "Device or resource busy" "nor can its device then be opened by itself"
create mtty mtty-2 "$(uuid 9)" >/dev/null
exec 9<>"$root/dev/vfio/devices/$(ls "$mdevs/$(uuid 9)/vfio-dev")"
is "$(stat -L -c '%F %Hr:%Lr' "$root/proc/$$/fd/"*)" "character special file $(cat "$mdevs/$(uuid 9)/vfio-dev/vfio1/dev")" \
	"a device that is opened by itself is seen as well"
exec 9<&-
remove "$(uuid 9)" >/dev/null
is "$(ls "$root/dev/vfio/devices")" vfio0 "its node goes with it"

### A removal in the meantime
remove "$(uuid 1)" >"$tmp/removed" &
remover=$!
eventually pending "remove mtty"
writer=$(cut -d" " -f5 "$control/pending")
fails "the link on the bus is gone while the removal waits" test -L "$mdevs/$(uuid 1)"
fails "so is the type's" test -L "$(type_dir mtty mtty-2)/devices/$(uuid 1)"
is "$(ls "$root/sys/devices/virtual/mtty/mtty/$(uuid 1)")" iommu_group "iommu_group is all that is left of the device"
is "$(capacity mtty mtty-2)" 11 "its capacity is still taken"
is "$(create mtty mtty-1 "$(uuid 1)")" "File exists" "its UUID is still used"
is "$(create mtty mtty-1 "$(uuid 2)")" ok "others are created all the same"
kill "$writer"
holds "who removes sleeps uninterruptibly, whatever signal comes" eventually grep -q '^[0-9]* ([^)]*) D' "/proc/$writer/stat"
close_device
holds "once the holder is gone, the removal ends" eventually test ! -d "/proc/$writer"
wait $remover
is "$(capacity mtty mtty-1)" 23 "then the capacity is back"
is "$(ls "$root/proc")" "" "and proc is empty"
holds "the UUID is free again" test "$(create mtty mtty-1 "$(uuid 1)")" = ok
is "$(put "frame_rate_limiter=0" "$mdevs/$(uuid 1)/nvidia/vgpu_params")" "No such file or directory" "only NVIDIA's devices have parameters"

create $t4 nvidia-222 "$(uuid 3)" >/dev/null
is "$(exec 9<>"$(node_of "$(uuid 3)")"; put $'a=1\n' "$mdevs/$(uuid 3)/nvidia/vgpu_params")" "Operation not permitted" \
	"the parameters of an open device stay"
is "$(put $'a=1\n' "$mdevs/$(uuid 3)/nvidia/vgpu_params")" ok "those of a closed one do not"

### Side by side
control create_delay_ms "5000"
began=$(now)
for i in 4 5 6; do create 0000:8$i:00.0 nvidia-222 "$(uuid 1$i)" >"$tmp/made$i" & done
under_way() { wc -l <"$control/pending"; }
holds "three creations are under way at once" eventually prints 3 under_way
capacity $t4 nvidia-222 >/dev/null
cat "$root/sys/bus/pci/devices/"*/vendor >/dev/null
holds "reads do not wait for creations" prints 3 under_way
holds "the device is seen while its driver still works on it" test -d "$mdevs/$(uuid 14)"
fails "but has no type yet" test -e "$mdevs/$(uuid 14)/mdev_type"
is "$(put 1 "$mdevs/$(uuid 14)/remove")" "Resource temporarily unavailable" "and cannot be removed yet"
wait
holds "a creation takes its time" test $(($(now) - began)) -ge 5000
is "$(cat "$tmp"/made[456] | paste -sd' ')" "ok ok ok" "all succeed"
is "$(readlink "$mdevs/$(uuid 14)/mdev_type")" ../mdev_supported_types/nvidia-222 "when the write returns the type is there"

control create_delay_ms 0
control create_delay_ms "$t4 600000"
create $t4 nvidia-222 "$(uuid 20)" >/dev/null &
writer=$!
eventually test -d "$mdevs/$(uuid 20)"
kill -9 $writer
control create_delay_ms "$t4 0"
holds "what a killed writer began is completed" eventually test -e "$mdevs/$(uuid 20)/mdev_type"
wait $writer 2>/dev/null
is "$(awk -v u="$(uuid 20)" '$5 == u { print $2, $6 }' "$control/log")" "create ok" "and is in the log"

### Four at once with one UUID
for i in 1 2 3 4; do create $t4 nvidia-222 "$(uuid 30)" >"$tmp/race$i" & done
wait
is "$(sort "$tmp"/race? | uniq -c | awk '{ print $1, $2 }' | paste -sd' ')" "3 File 1 ok" "one of four with the same UUID wins"

open_device "$(uuid 30)"
remove "$(uuid 30)" >/dev/null 2>&1 &
eventually pending remove
pid=$(cat "$control/pid")
holds "a host with an open device and a waiting removal can be ended" "$sim" --stop "$root"
holds "its process is gone, or only waits to be reaped" test ! -e "/proc/$pid/exe"
fails "so are its links" test -L "$root/sys"
kill $holder
wait

holds "it starts again in the same place" "$sim" "$root" mtty
is "$("$sim" "$root" mtty 2>&1 | says_times M_SIM_IN_USE "$root")" 1 "a second one says that the place is in use"
kill -9 "$(cat "$control/pid")"
holds "one whose process was killed can be ended, too" "$sim" --stop "$root"
fails "where none runs there is none to end" "$sim" --stop "$root"
tap_done
