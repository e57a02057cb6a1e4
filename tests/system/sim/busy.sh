#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The simulated host with several processes: who has a device open, a removal that waits for them, operations side by
# side, writers that are killed.
. "$(dirname "$0")/../../lib/sim.sh"
t4=0000:84:00.0

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
eventually grep -q "^remove mtty" "$control/pending"
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
is "$(put "frame_rate_limiter=0" "$mdevs/$(uuid 1)/nvidia/vgpu_params")" "No such file or directory" \
	"only NVIDIA's devices have parameters"

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
control create_delay_ms "$t4 4000"
create $t4 nvidia-222 "$(uuid 20)" >/dev/null &
writer=$!
eventually test -d "$mdevs/$(uuid 20)"
kill -9 $writer
holds "what a killed writer began is completed" eventually test -e "$mdevs/$(uuid 20)/mdev_type"
wait $writer 2>/dev/null
is "$(awk -v u="$(uuid 20)" '$5 == u { print $2, $6 }' "$control/log")" "create ok" "and is in the log"

### Four at once with one UUID
control create_delay_ms "$t4 0"
for i in 1 2 3 4; do create $t4 nvidia-222 "$(uuid 30)" >"$tmp/race$i" & done
wait
is "$(sort "$tmp"/race? | uniq -c | awk '{ print $1, $2 }' | paste -sd' ')" "3 File 1 ok" "one of four with the same UUID wins"

### The end of it
open_device "$(uuid 30)"
remove "$(uuid 30)" >/dev/null 2>&1 &
eventually grep -q ^remove "$control/pending"
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
