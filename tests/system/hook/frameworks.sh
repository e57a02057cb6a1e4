#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The same life in each framework: mdevs on the card, mdevs on VFs, VFs that take a type, plain VFs. A lease, a failure, a full
# pool, the end; forty at once; a move to another host.
. "$(dirname "$0")/../../lib/hook.sh"
other=$work/other

# What differs: a host with 4 places on two cards, or 32 with "many", as MODEL, and the type with the card that it is served by.
# The target of a migration has its cards elsewhere. A plain VF has no type but a name.
kind() { # FRAMEWORK [many]
	local n=${2:+many}
	word=mdev # of the framework in a lease
	! is_pci "$1" || word=$1
	case $1 in
	card) model=t4:2 where=0000:a4:00.0 match=10de:1eb8 type=nvidia-233; [ -z "$n" ] || type=nvidia-222 ;;
	vfs) model=a40/3:2 where=0000:b4:00.0 match=10de:2235 type=nvidia-565; [ -z "$n" ] || { model=a40/20:2 type=nvidia-559; } ;;
	variant) model=l40s/3:2 where=0000:c4:00.0 match=10de:26b9 type=nvidia-1155; [ -z "$n" ] || { model=l40s/20:2 type=nvidia-1149; } ;;
	vf) model=flex/2:2 where=0000:d4:00.0 match=8086:56c0 type=flex; [ -z "$n" ] || model=flex/16:2 ;;
	esac
}
start() { # FRAMEWORK MODEL
	local section=$type
	[ "$1" != vf ] || section=vf_flex
	new_host "$2" "$section@$match" policy 'driver_cleanup = 0' 'reuse = never' 'release_wait = 10' 'reserve_ttl = 600' 'lock_timeout = 60'
	mapfile -t vfs < <(cd "$root/sys/bus/pci/devices" && for d in */physfn; do echo "${d%/physfn}"; done)
}
is_pci() { [ "$1" = variant ] || [ "$1" = vf ]; }

# id FRAMEWORK N: what the domain number N names: a UUID of its own, or the VF number N.
id() { if is_pci "$1"; then echo "${vfs[$2]-}"; else printf '%08x-0000-4000-8000-00000000000a' "$2"; fi; }

domain() {
	local of=("vm$2" "$(domain_uuid "$2")" "$3")
	case $1 in
	variant) vf_xml "${of[@]}" no "$type" ;;
	vf) vf_xml "${of[@]}" yes "$type" ;;
	*) mdev_xml "${of[@]}" "$type" ;;
	esac
}
call() { hook "vm$3" "$1" "$2" - <"$work/$3.xml"; } # OP SUBOP N: with the XML of the domain
named() { sed -n "s/.*<vgpu:device.* \(uuid\|address\)='\([^']*\)'.*/\2/p"; } # the id in the XML on standard input
typed_vfs() { grep -Lx 0 "$root"/sys/bus/pci/devices/*/nvidia/current_vgpu_type; }
made() { if [ "$1" = variant ]; then typed_vfs; else devices; fi | wc -w; } # FRAMEWORK
card_of() { lease list --json | grep -A8 "\"id\": \"$1\"" | sed -n 's/.*"pgpu": "\(.*\)",/\1/p'; }

life() { # FRAMEWORK
	local f=$1 first second expected=1 i
	kind "$f"
	start "$f" "$model"
	[ "$f" != vf ] || expected=0
	for i in 0 1 2 3 4 5; do domain "$f" $i "$(id "$f" $i)" >"$work/$i.xml"; done
	holds "$f: a domain gets its vGPU" call prepare begin 0
	first=$(id "$f" 0)
	is "$(states) $(listed framework) $(made "$f")" "1 active $word $expected" "$f: it is leased, in its framework"
	holds "$f: once more changes nothing" call prepare begin 0
	is "$(states) $(made "$f")" "1 active $expected" "$f: there is one"
	libvirt_runs vm0 <"$work/0.xml"
	is "$(lease list | awk 'NR == 2 { print $1, $2, $NF }')" "$first $type -" "$f: the list has it, and nothing against it"
	rm -r "$root/run/libvirt"
	domain "$f" 9 "$first" >"$work/9.xml"
	refuses "$f: another domain with the same one is refused" call prepare begin 9 -- M_LEASED_TO vm0 "$(domain_uuid 0)"
	call release end 9
	is "$(states)" "1 active" "$f: its release takes nothing away"

	### A card that fails, a VF that somebody else has
	case $f in
	card | vfs)
		control inject "create $(card_of "$first") EIO"
		holds "$f: where one card fails, another serves" call prepare begin 1
		fails "$f: that is not the one that failed" test "$(card_of "$(id "$f" 1)")" = "$(card_of "$first")"
		;;
	variant)
		control inject "create $(id "$f" 1) EIO"
		refuses "$f: where the driver refuses, so does the hook" call prepare begin 1 -- M_FREE_VFS
		holds "$f: by their addresses" grep -q 0000:2 <<<"$said"
		hook vm1 migrate begin - <"$work/1.xml" >"$work/1.new" 2>/dev/null
		mv "$work/1.new" "$work/1.xml"
		second=$(named <"$work/1.xml")
		fails "$f: a migration is given one on another card" test "${second%.*}" = "$(dirname "$(id "$f" 1)")"
		holds "$f: and takes it" call prepare begin 1
		;;
	vf)
		exec 9<>"$(node_of "$(id "$f" 1)")"
		refuses "$f: a VF that some process has open is refused" call prepare begin 1 -- M_FREE_VFS
		exec 9<&-
		holds "$f: once it is closed it is leased" call prepare begin 1
		;;
	esac
	is "$(states)" "2 active" "$f: there are two"

	### Full, and empty
	for i in 2 3 4 5; do
		[ "$f" != vf ] || [ $i -lt 4 ] || continue
		call prepare begin $i 2>/dev/null || :
	done
	is "$(states)" "4 active" "$f: four fit on two cards"
	domain "$f" 7 "$(id "$f" 0)" >"$work/7.xml"
	is_pci "$f" || domain "$f" 7 "$(id "$f" 7)" >"$work/7.xml"
	refuses "$f: no more" hook vm7 migrate begin - <"$work/7.xml" -- M_REFUSED_THERE vm7 -- M_NO_CAPACITY
	is "$(wc -l <<<"$said")" 1 "$f: that is said in one line"
	holds "$f: and the type" grep -q "$type" <<<"$said"
	for i in 0 1 2 3 4 5; do [ ! -e "$work/$i.xml" ] || call release end $i; done
	holds "$f: all are released" eventually no_lease
	is "$(made "$f")" 0 "$f: and the kernel has none left"
}

# With an argument N.status and N.xml each in $work/many.
many() { # FRAMEWORK
	local f=$1 n ok=0
	kind "$f" many
	start "$f" "$model"
	mkdir -p "$work/many"
	rm -f "$work/many"/*
	for n in {0..39}; do
		# All of them arrive with the address of one VF, which is not on this host.
		if is_pci "$f"; then domain "$f" "$n" 0000:99:00.7; else domain "$f" "$n" "$(id "$f" "$n")"; fi >"$work/many/$n.xml"
		(
			# Every second domain with an mdev starts without having arrived.
			if { ! is_pci "$f" && [ $((n % 2)) = 1 ]; } || hook "vm$n" migrate begin - <"$work/many/$n.xml" >"$work/many/$n.new" 2>"$work/many/$n.err"; then
				[ ! -s "$work/many/$n.new" ] || mv "$work/many/$n.new" "$work/many/$n.xml"
				hook "vm$n" prepare begin - <"$work/many/$n.xml" 2>"$work/many/$n.err"
			fi
			echo $? >"$work/many/$n.status"
		) &
	done
	wait
	ok=$(cat "$work/many"/*.err | grep -c .)
	[ "$ok" = 8 ] || sort "$work/many"/*.err | sed 's/^/# /'
	is "$(lease list --json | grep -c '"state": "active"') $ok" "32 8" \
		"$f: of forty domains that arrive at once on 32 places 32 run, and 8 are refused"
	is "$(for n in {0..39}; do [ -s "$work/many/$n.err" ] || named <"$work/many/$n.xml"; done | sort | uniq -d)" "" \
		"$f: no two have the same vGPU"
	is "$(made "$f")" "$([ "$f" = vf ] && echo 0 || echo 32)" "$f: the kernel has 32"
	for n in {0..39}; do hook "vm$n" release end - <"$work/many/$n.xml" || echo "vm$n" & done >"$work/failed"
	wait
	nothing "$f: forty releases at once end with 0" "$(cat "$work/failed")"
	holds "$f: and leave no lease" eventually no_lease
	is "$(made "$f")" 0 "$f: and no vGPU"
}

# Between two hosts whose cards stand elsewhere.
move() { # FRAMEWORK
	local f=$1 from=$root id there
	kind "$f"
	start "$f" "$model"
	domain "$f" 0 "$(id "$f" 0)" >"$work/0.xml"
	id=$(id "$f" 0)
	call prepare begin 0
	"$sim" "$other" "$model@$where"
	cp "$from/etc/vgpu-lease.conf" "$other/etc/"
	root=$other
	hook vm0 migrate begin - <"$work/0.xml" >"$work/0.new" 2>"$work/said"
	[ -s "$work/0.new" ] || cp "$work/0.xml" "$work/0.new"
	is "$(states)" "1 reserved" "$f: the target of a migration reserves a vGPU"
	there=$(named <"$work/0.new")
	if is_pci "$f"; then
		fails "$f: at an address of its own" test "$there" = "$id"
		is "$(grep -c "address domain=.*bus='0x${there:5:2}'" "$work/0.new")" 1 "$f: which the hostdev has as well"
	else
		is "$there" "$id" "$f: under the UUID that it had"
	fi
	holds "$f: it is made there" hook vm0 prepare begin - <"$work/0.new"
	is "$(states) $(made "$f")" "1 active $([ "$f" = vf ] && echo 0 || echo 1)" "$f: and leased"
	root=$from
	call release end 0
	holds "$f: the source releases its own" eventually no_lease
	is "$(made "$f")" 0 "$f: and has none"
	root=$other
	is "$(states)" "1 active" "$f: the target keeps the one it made"
	hook vm0 release end - <"$work/0.new"
	holds "$f: until the domain ends there" eventually no_lease
	"$sim" --stop "$other"
	rm -rf "$other"
	root=$from
}

for f in card vfs variant vf; do
	life "$f"
	many "$f"
	move "$f"
done

### Every kind of card that is not a T4: GPU instances, sizes side by side, a shared aperture, one pool for three sizes, network
# cards; and the kinds of devices that are none of ours
new_host a100:1+rtxpro6000:1+gvt-g:1+mbochs+mlx5:1
configure nvidia-47{4,5}@0000:61:00.0 nvidia-15{19,34}@0001:c8:00.0 i915-GVTg_V5_{4,1}@0000:00:02.0 mbochs-{large,small}@mbochs \
	'mlx5_core-local@15b3:*' policy 'pgpu_types = several' 'driver_cleanup = 0' 'reclaim = never' 'release_wait = 10'

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
leaves "all are released" 0 end_all 16

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
then_is "all are released" 0 leases end_vf 20 0001:c8:00.6 no nvidia-1519

until_refused 16 i915-GVTg_V5_4
is "$got" 5 "five of a type of Intel's fit into its aperture"
holds "the sixth is refused: full" says M_FULL_NO_MAX 0000:00:02.0 5 <<<"$said"
reports "and so is the largest type" begin 32 i915-GVTg_V5_1 -- M_FULL_NO_MAX 0000:00:02.0 5
end_all 16
holds "which has capacity when they are gone" begin 32 i915-GVTg_V5_1
end 32

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

until_refused 16 mlx5_core-local
is "$got" 16 "sixteen mdevs of a network card"
holds "and a refusal" says M_FULL_NO_MAX 0000:06:00.0 16 <<<"$said"
leaves "all are released" 0 end_all 16

for model in vfio-ccw vfio-ap; do
	holds "a device of model $model is left alone" prepare <(sed "s/'vfio-pci' display='off'/'$model'/" "$vm")
done
is "$(devices)$(leases)" 0 "nothing is made or leased for it"
tap_done
