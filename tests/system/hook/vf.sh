#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# VFs as vGPUs, from start to end: those of NVIDIA's variant driver, which take a type, and plain ones; beside mdevs.
. "$(dirname "$0")/../../lib/hook.sh"
host l40s:2+t4:1+flex/4:1
pool() { # LINE...: the policy
	configure nvidia-222@10de:1eb8 nvidia-1147@10de:26b9 'vgpu_params = frame_rate_limiter=0' vf_flex@8086:56c0 \
		policy 'driver_cleanup = 0' 'release_wait = 2' "$@"
}
pool 'reclaim = never'

a=0000:26:00.4 b=0000:26:00.5 flex=0000:4d:00.1

### A VF that takes a type
holds "a domain with a VF of the pool starts, without any metadata" start_vf 1 $a
is "$(vf_type $a)" 1147 "the VF has the type that its card serves"
is "$(cat "$root/sys/bus/pci/devices/$a/nvidia/vgpu_params")" frame_rate_limiter=0 "and the parameters"
is "$(listed id,type,framework,parent,pgpu,state,domain,origin)" "$a nvidia-1147 variant $a 0000:26:00.0 active vm1 created" "its lease is under its address"
is "$(vf_domain 2 $b | lease plan -)" "$(message M_PLAN_CREATE $b nvidia-1147 $b "$(message M_PLAN_NAMED_VF)")" \
	"a plan for a start speaks of no other card: there is no choice"
is "$(start_vf 2 $a 2>&1)" "$(message M_REFUSED vm2 $a "$(message M_LEASED_TO vm1 "$(domain_uuid 1)")$(message M_FREE_VFS \
	"0000:26:00.5, 0000:26:00.6, 0000:26:00.7, 0000:26:01.0, 0000:26:01.1, 0000:26:01.2$(message M_AND_MORE 89)")")" \
	"another domain with the same VF is refused, the owner and the free ones named"
holds "the owner's release succeeds" end_vf 1 $a
is "$(vf_type $a) $(leases)" "0 0" "the type is taken back, and the lease dropped"
holds "a second release is no error" end_vf 1 $a

control inject 'params any EPERM 1'
reports "where the driver refuses the parameters, so is the start" start_vf 1 $a -- M_PARAMS "0000:26:00.0" "Operation not permitted"
is "$(vf_type $a) $(leases)" "0 0" "and the type that was set before them is taken back"

holds "a VF by the name of a type" start_vf 1 $a no 'NVIDIA L40S-1Q'
is "$(vf_type $a)" 1147 "gets that"
end_vf 1 $a

### Refusals
said=$(start_vf 1 0000:99:00.4 no nvidia-1147 2>&1)
holds "one that is not here, and that the metadata names, is refused with the free ones" \
	grep -q "vGPU 0000:99:00.4: no such VF in the pool: no PCI device has this address; free: 0000:26:00.4" <<<"$said"
mkdir -p "$root/usr/lib64"
ln -s libvirt.so.0.9000.0 "$root/usr/lib64/libvirt.so.0"
reports "a libvirt that takes none is told of" start_vf 1 $a -- M_LIBVIRT_NO_VARIANT 9.0.0
holds "check says so before" says M_LIBVIRT_NO_VARIANT 9.0.0 <<<"$(lease check)"
rm "$root/usr/lib64/libvirt.so.0"
is "$(vf_type $a) $(leases)" "0 0" "nothing is left of a refusal"

start_vf 1 $a
vf_domain 1 $a | libvirt_runs vm1
reports "a domain does not get a card whole while another runs with a VF of it" start_vf 2 0000:26:00.0 yes -- M_PGPU_IN_USE 0000:26:00.0 $a vm1
holds "but another card" start_vf 2 0000:27:00.0 yes
rm "$root/run/libvirt/qemu/vm1.xml"
end_vf 1 $a
with_pgpu() { vf_domain 3 $b | sed "s|</devices>|$(vf_hostdev 0000:26:00.0 yes)&|" | hook vm3 prepare begin -; }
refuses "nor does a domain get a VF of a card that it has whole" with_pgpu -- M_WHOLE_PGPU -- M_FIX_WHOLE_PGPU 0000:26:00.0

typed VGPU | hook vm prepare begin -
is "$(type_of $u1)" nvidia-222 "a class gets an mdev those of its types that are mdevs"
typed VGPU | hook vm release end -

### The driver that libvirt is to use: one of its own choice takes the VF from NVIDIA's
with_driver() { # MANAGED DRIVER
	vf_domain 1 $a "$1" | sed "s|<hostdev[^>]*>|&<driver $2/>|" | hook vm1 prepare begin -
}
holds "managed='yes' with NVIDIA's driver leaves the VF on it" with_driver yes "model='nvidia'"
is "$(vf_type $a)" 1147 "and gives it its type"
end_vf 1 $a
reports "with another driver it is refused" with_driver yes "model='vfio-pci'" -- M_MANAGED
reports "also with name='vfio', which says nothing" with_driver yes "name='vfio'" -- M_MANAGED
holds "that does not matter with managed='no'" with_driver no "name='vfio'"
end_vf 1 $a

### Others' hands
other_type() { set_vf_type $a 0 && set_vf_type $a 1150; }
set_vf_type $a 1147
vf_serves "a VF to which somebody gave the type is adopted" 1 $a
is "$(vf_type $a)" 1147 "and left as it was"
other_type
pool 'reclaim = orphans' 'reclaim_grace = 0'
for_guest $a nvidia-1150 $a
vf_domain 1 $a | libvirt_has vm1
control inject "remove 0000:26:00.0 EIO 1000000"
said=$(vf_domain 1 $a no nvidia-1147 | timeout 30 "$builddir/hooks/qemu" --root "$root" -- vm1 prepare begin - 2>&1)
is "$? ${said%%;*}" "1 $(message M_REFUSED vm1 $a "$(message M_ORPHAN_STAYS nvidia-1150 "Input/output error: $(message M_DRIVER_ERROR)")")" \
	"one that the driver does not reset is refused, and not tried without end"
control inject clear
holds "one of another type that nobody needs is reset" start_vf 1 $a no nvidia-1147
is "$(vf_type $a)" 1147 "and gets the type"
holds "gc leaves a leased VF alone" lease gc
end_vf 1 $a
rm -r "$root/etc/libvirt"
make_orphan $a nvidia-1150 $a
is "$(lease gc | tr -s ' ' | sed -n 's/^removed \([^ ]* [^ ]*\).*/\1/p')" "$a nvidia-1150" "gc resets an orphan"
is "$(vf_type $a)" 0 "so that its VF is free"
holds "the types of the card are remembered" grep -q '^1147 : NVIDIA L40S-1Q$' "$root/var/lib/vgpu-lease/types/10de:26b9:10de:1851@550.90.05"

start_vf 1 $a
other_type
holds "the release of a VF to which somebody gave another type meanwhile succeeds" end_vf 1 $a
is "$(vf_type $a) $(leases)" "1150 0" "and takes nothing from him"
set_vf_type $a 0
start_vf 1 $a
other_type
configure nvidia-1147@10de:26b9 nvidia-1150@10de:26b9 policy 'driver_cleanup = 0' 'release_wait = 2'
start_vf 1 $a
is "$(vf_type $a) $(listed origin)" "1150 adopted" "another start of the domain adopts what it has"
end_vf 1 $a
is "$(vf_type $a) $(leases)" "1150 0" "and the release leaves it"
set_vf_type $a 0
pool 'reclaim = orphans' 'reclaim_grace = 0'

### Trouble
control inject "create 0000:26:00.0 EIO"
reports "a driver that refuses is told of, with what that means" start_vf 1 $a \
	-- M_NO_CAPACITY "$(message M_ONLY_TYPE_OF_VF nvidia-1147)" -- M_DRIVER_REFUSED 0000:26:00.0 "Input/output error"
is "$(vf_type $a) $(leases)" "0 0" "and nothing is left of it"
holds "the next start tries the card all the same" start_vf 1 $a
control plugin_delay_ms 1500
open_device $a
reports "a VF that is open is not released by hand" lease release $a -- M_HELD_OPEN "*" vm1
holds "a release waits for it, but not for long" end_vf 1 $a
is "$(vf_type $a) $(listed state)" "1147 releasing" "and leaves it as it is"
close_device
left() { lease gc >"$work/gc.out" 2>&1; echo "$(vf_type $a) $(leases)"; }
holds "when it is closed, and the driver's manager has let go, gc releases it" within 15 prints "0 0" left
control plugin_delay_ms 0
start_vf 1 $a
control remove_delay_ms 4000
then_is "a removal goes on when its release has ended" 1147 "vf_type $a" end_vf 1 $a
holds "the domain starts again" start_vf 1 $a
eventually prints 0 grep -c '^remove' "$root/.kernel/control/pending"
is "$(vf_type $a) $(listed state)" "1147 active" "with the VF as it is after that removal"
control remove_delay_ms 0
end_vf 1 $a

### Arrivals
arrive() { vf_domain "$@" | hook "vm$1" migrate begin -; }
reports "of several pools of VFs an arrival must say which" arrive 3 $b -- M_WHICH_TYPE "nvidia-1147, flex"
holds "a VF that is free here keeps its address" test -z "$(arrive 3 $b no nvidia-1147)"
is "$(listed id,state)" "$b reserved" "and is reserved"
holds "the start that follows makes it" start_vf 3 $b
holds "one that is leased here becomes another, in the hostdev" grep -q "function='0x4'" <(arrive 4 $b no nvidia-1147)
holds "and the start that follows gets that" start_vf 4 $a
is "$(vf_type $a) $(vf_type $b)" "1147 1147" "so that there are two"
holds "one that is not here, too, in the metadata as well" \
	grep -q "address='0000:26:00.6' .*type='nvidia-1147'" <(arrive 5 0000:99:00.4 no nvidia-1147)
is "$(arrive 5 0000:26:00.6 no nvidia-1147)" "" "a second arrival of the same domain replaces the first"
end_vf 3 $b; end_vf 4 $a; end_vf 5 0000:26:00.6
is "$(leases)" 0 "and all end with the release"

### Definitions
start_vf 3 $a
vf_domain 4 $a no nvidia-1147 >"$work/4.xml"
vf_domain 4 0000:26:00.5 no nvidia-1147 >"$work/expected"
holds "a definition whose VF is taken gets one that is free" diff "$work/expected" <(lease rewrite "$work/4.xml")
vf_domain 6 0000:99:00.4 no nvidia-1150 >"$work/6.xml"
holds "where there is none that is told" says M_NO_CAPACITY nvidia-1150 -- M_SERVES nvidia-1147 -- M_SEE_INVENTORY \
	< <(lease rewrite "$work/6.xml" 2>&1)
control iommu "$b $a"
set_vf_type $b 1147
is "$(start_vf 4 $a 2>&1 | grep -c $b)" 0 "a VF with the type is not named as free if its IOMMU group is another domain's"
holds "nor does an arrival get it" grep -q "function='0x6'" <(arrive 4 $b no nvidia-1147)
set_vf_type $b 0
end_vf 3 $a
end_vf 4 0000:26:00.6

### Plain VFs
under nvidia-1147 vf_flex@8086:56c0 policy 'reclaim = never' 'release_wait = 2' -- holds "a domain with a plain VF starts" start_vf 6 $flex
is "$(listed id,type,framework,pgpu)" "$flex flex vf 0000:4d:00.0" "it is leased"
for i in 2 3 4; do start_vf 1$i 0000:4d:00.$i; done
reports "a full pool refuses an arrival" arrive 7 0000:99:00.1 no flex -- M_FULL 0000:4d:00.0 4 4 -- M_FIX_FREE
is "$(lease types | tr -s ' ' | sed -n 's/^\(flex .*\)/\1/p')" "flex flex VGPU - - - 4 4 0 0 0000:4d:00.0*" "types counts them"
holds "a VF of the other kind beside it gets the one type of that" start_vf 20 $a
is "$(vf_type $a)" 1147 "by the card that it is of"
echo 'start_grace = 1' >>"$root/etc/vgpu-lease.conf"
sleep 1.2
is "$(lease gc | awk 'NR > 1 { print $1 }' | sort | uniq -c | tr -s ' \n' ' ')" " 4 dropped 1 removed " \
	"gc releases what no domain runs with: a plain VF's lease, and a type with its lease"
is "$(leases) $(vf_type $a)" "0 0" "and nothing is left"
sed -i /start_grace/d "$root/etc/vgpu-lease.conf"
start_vf 6 $flex
for i in 2 3 4; do start_vf 1$i 0000:4d:00.$i; done
end_vf 6 $flex
vf_serves "one that was released can be had again" 7 $flex
for i in 2 3 4; do end_vf 1$i 0000:4d:00.$i; done
is "$(leases)" 0 "all are released"

### What is not ours
holds "a domain with another PCI device passes" start_vf 8 0000:84:00.0
under nvidia-222@10de:1eb8 -- holds "a VF that no section names passes" start_vf 8 $flex
is "$(start_vf 8 $flex no nvidia-222 2>&1)" "$(message M_REFUSED vm8 $flex "$(message M_NO_SUCH_VF "$(message M_NO_SECTION 0000:4d:00.0)")")" \
	"unless the metadata claims it: then it is refused, and nothing else is the cause"
rm "$root/etc/vgpu-lease.conf"
holds "without a configuration a plain VF passes" start_vf 8 $flex
is "$(leases)" 0 "and nothing is leased"
echo '[nonsense' | configure
holds "a mistake in the configuration is no business of a domain without a vGPU" start_vf 8 0000:84:00.0
pool 'reclaim = never'

### Lost leases
start_vf 9 $a
rm "$root"/run/vgpu-lease/leases/*
vf_domain 9 $a | hook vm9 reconnect begin -
is "$(listed id,state,origin)" "$a active created" "a reconnect restores the lease of a VF that this boot's hook made"
end_vf 9 $a
is "$(vf_type $a) $(leases)" "0 0" "which then ends like any other"
new_host flex:1 vf_a@0000:4d:00.1 vf_b@0000:4d:00.2
start_vf 2 0000:4d:00.2
rm "$root"/run/vgpu-lease/leases/*
vf_domain 2 0000:4d:00.2 | hook vm2 reconnect begin -
is "$(listed id,type)" "0000:4d:00.2 b" "that of a plain VF has the name of its own section again"
tap_done
