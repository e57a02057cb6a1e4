# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# what the target has under a VF's address, of its type, and of its driver
# shellcheck disable=SC2154 # arrives is pair.sh's
both="$PF1, $PF2"
for side in '' there; do
	$side load_nvidia
	$side configure_nvidia "$both"
done
vf=${PF1%0}1
# It has another VF than this one, and this is the one.
elsewhere() { [ -n "$device" ] && [ "$device" != "$1" ]; }
says_driver() { virsh metadata mover urn:vgpu-lease:domain:1 | grep -q "driver=[\"']$1[\"']"; }

MIGRATABLE=1 define_vf mover "$vf" 1147
run virsh start mover
migrate_to 2 mover
check "where the address is free, the domain keeps it" there runs_with mover 1147 "$vf"
check "and the hook printed nothing" no there rewritten mover
check "nothing stays on host1" within 20 no_types

define_vf other "$vf" 1147
run virsh start --paused other
check "on host1 another domain takes the address" typed_by "$vf" other 1147
there migrate_to 1 mover
check "where another domain has the VF, the domain comes all the same" there succeeded
device=$(device_in mover)
check "with another VF" elsewhere "$vf"
check "which it uses" typed_by "$device" mover 1147
check "the other domain has its own" typed_by "$vf" other 1147
check "nothing stays on host2" there within 20 no_types
run virsh destroy other

there eval "echo 1147 >$PCI/$device/nvidia/current_vgpu_type"
migrate_to 2 mover
check "a VF that somebody else gave the type is adopted" there typed_by "$device" mover 1147 adopted
there migrate_to 1 mover
check "it keeps that type when the domain leaves" there within 20 typed_are "$device"
there eval "echo 0 >$PCI/$device/nvidia/current_vgpu_type"
there eval "echo 1145 >$PCI/$device/nvidia/current_vgpu_type"
taken=$device
migrate_to 2 mover
check "a VF that has another type is not taken" succeeded
device=$(there device_in mover)
check "the domain gets one beside it" elsewhere "$taken"
check "with its own type" there typed_by "$device" mover 1147
check "nothing stays on host1" within 20 no_types
there eval "echo 0 >$PCI/$taken/nvidia/current_vgpu_type"

### What does not fit is refused, before QEMU starts

there run virsh destroy mover
there within 20 no_types
configure_nvidia "$PF1"
there configure_nvidia "$PF2"
run virsh start mover
record_calls
there record_calls
goes_on() { runs_with mover 1147 "$vf"; }

there sed -i 's/^enabled_mdev_types.*/enabled_mdev_types = nvidia-1148/; /^\[mdev_nvidia-1147\]/,/^$/d' "$CONF"
is_refused_with "no such type" M_NO_CAPACITY nvidia-1147 -- M_SERVES nvidia-1148
after "no such type" migrate
there configure_nvidia "$PF2"
there define_vf larger "${PF2%0}1" 1148
there run virsh start --paused larger
there forget_calls
is_refused_with "another framebuffer size" M_NO_CAPACITY nvidia-1147 -- M_OTHER_SIZE "$PF2" nvidia-1148 2048
check "another framebuffer size: on host2 the hook is called for migrate" there called migrate
there run virsh destroy larger
after "another framebuffer size, gone" "migrate stopped release:destroyed"

systemctl start vgpu-leased
check "the handler of host1 writes down what the source has" within 60 says_driver 570.133.10
systemctl stop vgpu-leased
there trouble driver_version 580.65.06
is_refused_with "another driver" M_OTHER_DRIVER 570.133.10 580.65.06
after "another driver" migrate
there configure_nvidia "$PF2" 'driver_mismatch = warn'
migrate_to 2 mover
check "another driver, let in: the driver itself takes the state of no other version" failed
after "another driver, let in" "$arrives stopped release:failed"
there trouble driver_version 570.133.10
virsh -q metadata mover urn:vgpu-lease:domain:1 --key vgpu --live \
	--set "<lease><device address='$vf' type='nvidia-1147' name='NVIDIA L40S-2Q' model='10de:26b9'/></lease>"
is_refused_with "a type of another name" M_OTHER_ON_SOURCE "NVIDIA L40S-2Q" 10de:26b9 nvidia-1147 "NVIDIA L40S-1Q"
after "a type of another name" migrate
run virsh destroy mover
within 20 no_types

### Definitions, saved domains, two VFs

run virsh start mover
migrate_to 2 mover --p2p --persistent --undefinesource
beside=$(there device_in mover)
check "with its definition the domain goes to host2" there runs_with mover 1147 "$beside"
check "to a VF of its pool" test "${beside%.*}" = "${PF2%.*}"
check "the definition that came along names the VF of host1" same "$(there device_in mover --inactive)" "$vf"
check "host1 knows nothing of the domain any more" no virsh dominfo mover
there save_vf mover managedsave mover
check "there it can be put to sleep" there within 20 no_types
there run virsh start mover
check "and it wakes with its VF" there runs_with mover 1147 "$beside"
there run virsh destroy mover
check "it ends there" there within 20 no_types
there run virsh start mover
check "its definition does not start where the pool has no such VF" there failed
check "and says why" there tells M_NOT_IN_POOL '*'
there eval "virsh dumpxml --inactive mover | vgpu-lease rewrite - >$WORK/mover.xml"
there virsh -q define "$WORK/mover.xml"
beside=$(there device_in mover --inactive)
there run virsh start mover
check "with the VF that 'vgpu-lease rewrite' chooses it does" there runs_with mover 1147 "$beside"
there run virsh destroy mover

two=("$vf" "${PF1%0}2")
MIGRATABLE=1 define_vf twin "$vf" 1147 "${two[1]}"
run virsh start twin
check "a guest has two VFs" runs_with twin 1147 "${two[@]}"
migrate_to 2 twin
check "both go along" succeeded
mapfile -t others < <(there device_in twin | sort)
check "to two VFs of host2" there runs_with twin 1147 "${others[@]}"
check "which are of its pool" test "${#others[@]} ${others[0]%.*} ${others[1]%.*}" = "2 ${PF2%.*} ${PF2%.*}"
check "nothing stays on host1" within 20 no_types
there migrate_to 1 twin
check "and back" there succeeded
mapfile -t two < <(device_in twin | sort)
check "again with two" runs_with twin 1147 "${two[@]}"
check "which are of host1's pool" test "${#two[@]} ${two[0]%.*} ${two[1]%.*}" = "2 ${PF1%.*} ${PF1%.*}"
run virsh destroy twin
check "at last nothing is left" within 20 no_types
check "nor on host2" there within 20 no_types
