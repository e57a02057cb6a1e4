#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every kind of card that is not a T4: GPU instances, sizes side by side, a shared aperture, one pool for three sizes, network
# cards; and the kinds of devices that are none of ours.
. "$(dirname "$0")/../../lib/hook.sh"
host a100:1+rtxpro6000:1+gvt-g:1+mbochs+mlx5:1
configure nvidia-47{4,5}@0000:61:00.0 nvidia-15{19,34}@0001:c8:00.0 i915-GVTg_V5_{4,1}@0000:00:02.0 mbochs-{large,small}@mbochs \
	'mlx5_core-local@15b3:*' policy 'pgpu_types = several' 'driver_cleanup = 0' 'reclaim = never' 'release_wait = 2'

# of_type N TYPE: domain number N with an mdev of this type.
of_type() { another "$1" | asking "uuid='$(numbered "$1")' type='$2'" -; }
begin() { of_type "$1" "$2" | hook "vm$1" prepare begin -; }
end() { of_type "$1" x | hook "vm$1" release end -; }
until_refused() { # FIRST TYPE: how many domains, from this number on, get one; the refusal is in $said
	for ((got = 0; ; got++)); do said=$(begin $(($1 + got)) "$2" 2>&1) || break; done
}
end_all() { for ((n = $1; n < $1 + got; n++)); do end $n; done; } # FIRST

### GPU instances: a MIG-backed type is there where one is free
reports "without a GPU instance a MIG-backed type is refused, and it is told how to make one" begin 16 nvidia-474 -- M_MIG_CREATES 0000:61:00.0 1g.5gb
for setting in on 1g.5gb 1g.5gb 2g.10gb; do control mig "0000:61:00.0 $setting"; done
until_refused 16 nvidia-474
is "$got" 2 "with two of the profile two domains get one"
holds "and the third is told again" says M_MIG_NONE_FREE <<<"$said"
holds "a profile of another size beside them is had as well" begin 24 nvidia-475
is "$(parent_of "${u1%??}18")" 0000:61:00.6 "on a VF of its own"
end 24
end_all 16
is "$(devices)$(leases)" 0 "all are released"

### Sizes side by side: the driver's mode says so
holds "a small one on an empty card" start_vf 16 0001:c8:00.2 no nvidia-1519
reports "a large one beside it is refused: one framebuffer size for a card" start_vf 17 0001:c8:00.3 no nvidia-1534 \
	-- M_OTHER_SIZE 0001:c8:00.0 nvidia-1519 3072
end_vf 16 0001:c8:00.2 no nvidia-1519
control mixed '0001:c8:00.0 on'
holds "in mixed-size mode" start_vf 16 0001:c8:00.2 no nvidia-1519
holds "it is not" start_vf 17 0001:c8:00.3 no nvidia-1534
for i in 4 5; do start_vf 1$((i + 4)) 0001:c8:00.$i no nvidia-1534; done
reports "until the framebuffer is used up" start_vf 20 0001:c8:00.6 no nvidia-1534 -- M_FULL_FRAMEBUFFER 0001:c8:00.0 76800 98304
holds "where a small one still fits" start_vf 20 0001:c8:00.6 no nvidia-1519
is "$(grep '^0001:c8' "$root/.kernel/control/mixed")" "0001:c8:00.0 on" "the mode is left as it is"
for i in 2 3 4 5; do end_vf 1$((i + 4)) 0001:c8:00.$i no nvidia-1519; done
end_vf 20 0001:c8:00.6 no nvidia-1519
is "$(leases)" 0 "all are released"

### GVT-g: types without names share an aperture
until_refused 16 i915-GVTg_V5_4
is "$got" 5 "five of a type of Intel's fit into its aperture"
holds "the sixth is refused: full" says M_FULL_NO_MAX 0000:00:02.0 5 <<<"$said"
reports "and so is the largest type" begin 32 i915-GVTg_V5_1 -- M_FULL_NO_MAX 0000:00:02.0 5
end_all 16
holds "which has capacity when they are gone" begin 32 i915-GVTg_V5_1
end 32

### mbochs: one pool for three sizes
until_refused 16 mbochs-large
is "$got" 4 "four large displays use the pool up"
fails "a small one has no capacity then" begin 32 mbochs-small
end 16
holds "but where a large one was" begin 32 mbochs-small
holds "another one beside it" begin 33 mbochs-small
for n in 32 33 17 18 19; do end $n; done

reports "parameters for a driver that takes none are a refusal" prepare <(of_type 16 "mbochs-small' params='a=1") \
	-- M_PARAMS mbochs -- M_PARAMS_NVIDIA_ONLY "No such file or directory"
is "$(devices)$(leases)" 0 "and what was made is removed again"

### mlx5_core
until_refused 16 mlx5_core-local
is "$got" 16 "sixteen mdevs of a network card"
holds "and a refusal" says M_FULL_NO_MAX 0000:06:00.0 16 <<<"$said"
end_all 16
is "$(devices)$(leases)" 0 "all are released"

### None of ours
for model in vfio-ccw vfio-ap; do
	holds "a device of model $model is left alone" prepare <(sed "s/'vfio-pci' display='off'/'$model'/" "$vm")
done
is "$(devices)$(leases)" 0 "nothing is made or leased for it"
tap_done
