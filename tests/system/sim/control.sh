#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The operator's knobs: what can be made slow or wrong on the simulated host, and the program's options.
. "$(dirname "$0")/../../lib/sim.sh"
t4=0000:84:00.0
models="t4 m60 p4 p100 rtxa6000 a2 a16 rtx6000 rtx8000 a40 a100 a100d l40s-mdev l40s a10 rtx6000ada rtxpro6000"
models="$models bench gvt-g gvt-g-256 flex mi210 cx6 mlx5 mtty mdpy mbochs"
is "$("$sim" "$root" t5 2>&1)" "$(message M_SIM_UNKNOWN_MODEL t5 "${models// /, }")" \
	"an unknown model is refused, with those that are known"
is "$("$sim" "$root" p4+a2@0000:01:00.0 2>&1)" "$(message M_SIM_SAME_ADDRESS a2 p4 a2 a2)" \
	"two cards at one address are refused"
for model in '' t4:0 t4:x t4:17 t4:99 t4/4 a40/0 a40/400 bench/4x41 t4+t4 t4+ gvt-g:2 a40/4x4 t4@ t4@x mtty@0000:01:00.0 t4:4+p4@0000:87:00.0 \
	t4@0000:84:00.1; do
	fails "'$model' is refused" "$sim" "$root" "$model"
done
fails "nothing is left of it" test -e "$root"
is "$("$sim" "$root" 2>/dev/null; echo $?)" 2 "a usage error is 2"
is "$("$sim" --list-models | awk '{ print $1 }' | paste -sd' ')" "$models" "the models are listed"
holds "the host starts with a setting" "$sim" --driver=535.1.2 --set "inject=create any ENODEV" "$root" t4:2+a40/4+bench/2x3
is "$(cat "$root/sys/module/nvidia/version")" 535.1.2 "the driver's version is the one that was asked for"

### inject
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

### attr_delay_ms
control attr_delay_ms 3000
is "$(create $t4 nvidia-222 "$(uuid 5)")" ok "a device is created"
fails "its links come later" test -e "$mdevs/$(uuid 5)/mdev_type"
holds "mdev_type comes" eventually test -e "$mdevs/$(uuid 5)/mdev_type"
holds "and iommu_group" test -e "$mdevs/$(uuid 5)/iommu_group"
control attr_delay_ms 0

### remove_delay_ms
control remove_delay_ms 300
began=$(now)
remove "$(uuid 5)" >/dev/null
holds "a removal takes its time" test $(($(now) - began)) -ge 300
control remove_delay_ms 0

### driver_removes
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

### register
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
tap_done
