#!/usr/bin/env bash
# What a refusal for lack of room gives as its causes, and as the fix: equal causes in one clause, and a fix that fits both the
# cause and the line that libvirt shows.
# shellcheck source=tests/lib/hook.sh
. "${srcdir:?}/tests/lib/hook.sh"
host t4:8+a100:1+l40s/4:1+flex/4:1
typed() { # TYPE: the domain with metadata that names it
	sed "s|</uuid>|</uuid><metadata><vgpu:lease xmlns:vgpu='urn:vgpu-lease:domain:1'><vgpu:device uuid='$u1' type='$1'/></vgpu:lease></metadata>|" "$vm" >"$work/typed.xml"
}
refused() { # TYPE: the refusal is in $said
	typed "$1"
	said=$(prepare "$work/typed.xml" 2>&1)
}
says() { # SENTENCE TEXT...: each stands in the refusal
	local sentence=$1 text
	shift
	for text in "$@"; do
		tap_verdict "$([[ $said == *"$text"* ]]; echo $?)" "$sentence" "got:  $said"$'\n'"want: $text"
	done
}
configure <<-'EOF'
	[devices]
	enabled_mdev_types = nvidia-222, nvidia-474, nvidia-1147
	[mdev_nvidia-222]
	device_match = 10de:1eb8
	[mdev_nvidia-474]
	device_addresses = 0000:61:00.0
	[mdev_nvidia-1147]
	device_match = 10de:26b9
	[vf_flex]
	device_match = 8086:56c0
	mdev_class = CUSTOM_FLEX
	[policy]
	driver_cleanup = 0
	release_wait = 5
	reclaim = never
EOF
cards=$(cd "$root/sys/class/mdev_bus" && printf '%s\n' 0000:8*)
is "$(wc -l <<<"$cards")" 8 "a host with eight cards of a kind"

### A driver that fails
for card in $cards; do control inject "create $card EIO 1000"; done
refused nvidia-222
holds "eight cards with one error take one clause, the advice included" \
	grep -q "${cards//$'\n'/, }: Input/output error: the driver refused: usually the card is full .*; see dmesg; " <<<"$said"
is "$(grep -o 'Input/output error' <<<"$said" | wc -l)" 1 "and are told of once"
tap_verdict "$([ ${#said} -lt 1000 ]; echo $?)" "in a line that libvirt shows whole" "${#said}"
holds "with the end that says where there is more" grep -q "see 'vgpu-lease plan'$" <<<"$said"
fails "nothing is to be freed" grep -q "free a vGPU" <<<"$said"
control inject clear
for card in $cards; do control inject "create $card EBUSY 1000"; done
refused nvidia-222
is "$(grep -o 'resource busy' <<<"$said" | wc -l)" 1 "likewise of another error"
control inject clear

### Another framework, another card
refused nvidia-1147
says "a type that is made as VFs is refused with the hostdev that it takes" "makes VFs" "; use a <hostdev> of type pci"
fails "nothing is to be freed there" grep -q "free a vGPU" <<<"$said"
refused CUSTOM_FLEX
says "so is a class that VFs have alone" "'CUSTOM_FLEX' is made as VFs here, and its <hostdev> is of type mdev: use one of type pci"
fails "without a list of other types" grep -q "known:" <<<"$said"
refused 'NVIDIA L40S-48Q'
says "and a name that VFs have alone" "'NVIDIA L40S-48Q' is made as VFs here"
refused nvidia-223
says "a type that no card serves wants one" "serves nvidia-222" "; name a pGPU for nvidia-223 in device_addresses, or"
refused CUSTOM_NONE
tap_verdict "$([ ${#said} -lt 700 ]; echo $?)" "the types that are known fill no line" "$said"

### MIG
refused nvidia-474
says "where MIG mode is off it comes first" "'nvidia-smi -i 0000:61:00.0 -mig 1'" ", then 'nvidia-smi mig -i 0000:61:00.0 -cgi 1g.5gb -C'"
fails "nothing is to be freed for it" grep -q "free a vGPU" <<<"$said"
holds "the plan of the command says so of the card" \
	grep -q "^not on 0000:61:00.0 for $u1: .*'nvidia-smi -i 0000:61:00.0 -mig 1'" <(lease plan "$work/typed.xml" 2>/dev/null)

### A card that is not ready
control register "0000:61:00.0 off"
refused nvidia-474
says "a driver that is not done is no lack of room" "0000:61:00.0: no vGPU types registered yet" "; run 'vgpu-lease check', or"
control register "0000:61:00.0 on"

### What blocks a card, in the inventory
make_device 0000:84:00.0 nvidia-223 "${u1%??}aa"
row() { lease inventory | grep "^$1 "; }
holds "a card that carries another type says what blocks it" grep -q "16 *0 *0 *holds nvidia-223 (2048 MiB)" <(row 0000:84:00.0)
holds "so does its JSON" grep -q '"reason": "holds nvidia-223 (2048 MiB)' <(lease inventory --json)
echo 1 >"$root/sys/bus/mdev/devices/${u1%??}aa/remove"
fails "a free card says nothing" grep -q "holds" <(row 0000:84:00.0)
tap_done
