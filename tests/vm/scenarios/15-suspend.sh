# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a guest with vGPUs is suspended to disk and resumed, though it cannot be saved with them
slot_of() { virsh dumpxml sleeper | sed -n "/uuid='$1'/,/<\/hostdev>/s/.*<address type='pci'.*slot='\([^']*\)'.*/\1/p"; }
record() { virsh metadata sleeper --uri urn:vgpu-lease:suspended:1 2>/dev/null; }

errs "a domain that is not there cannot be suspended" vgpu-lease suspend sleeper
define sleeper "$U1" "$U2"
errs "nor one that does not run" vgpu-lease suspend sleeper
errs "nor resumed one that was not suspended" vgpu-lease resume sleeper
check "as it has no saved image" tells M_NOT_SAVED sleeper

virsh -q start sleeper
errs "with its vGPUs the guest cannot be saved" virsh managedsave sleeper
slots=$(slot_of "$U1")$(slot_of "$U2")
succeeds "vgpu-lease suspends it" vgpu-lease suspend sleeper
check "and says how many it released" tells M_SUSPENDED sleeper 2
check "it is saved" same "$(virsh list --all --with-managed-save --name | xargs)" sleeper
check "its vGPUs are others' to use" nothing_left

succeeds "it is resumed" vgpu-lease resume sleeper
check "and says what it has" tells M_RESUMED sleeper 2
check "it runs" is_state sleeper running
check "with both of them" same "$(device_in sleeper | xargs)" "$U1 $U2"
check "at their old places" same "$(slot_of "$U1")$(slot_of "$U2")" "$slots"
check "they are leased to it" held_by "$U1" sleeper
check "both" held_by "$U2" sleeper
check "the record of the suspend is gone" same "$(record)" ''
errs "it cannot be resumed twice" vgpu-lease resume sleeper

another_hook <<-'END'
	#!/bin/sh
	case $2 in prepare | stopped) sleep 2 ;; esac
END
# On a terminal, of what it says there.
seen() { SHELL=/bin/bash TERM=xterm script -qec "stty cols 100; vgpu-lease $1 sleeper" /dev/null; }
succeeds "it can be suspended again" seen suspend
check "a terminal shows the progress of a slow suspend" tells M_PROGRESS_SUSPEND sleeper
succeeds "and is resumed again" seen resume
check "that of a slow resume, too" tells M_PROGRESS_RESUME sleeper
no_other_hook
succeeds "and suspended once more" vgpu-lease suspend sleeper
make_device bbbbbbbb-0000-4000-8000-000000000001 mtty-1
for n in {2..23}; do make_device "$(printf 'bbbbbbbb-0000-4000-8000-%012d' "$n")" mtty-1; done
sed -i '$a [policy]\nreclaim = never\nrelease_timeout = 3' "$CONF"
errs "without capacity it is not resumed" vgpu-lease resume sleeper
check "for that reason" shows mtty full
check "it stays saved" same "$(virsh list --all --with-managed-save --name | xargs)" sleeper
check "and holds nothing" no_lease
for n in {1..23}; do echo 1 >"/sys/bus/mdev/devices/$(printf 'bbbbbbbb-0000-4000-8000-%012d' "$n")/remove"; done

succeeds "started by hand it runs" virsh start sleeper
check "without its vGPUs" same "$(device_in sleeper)" ''
check "which are on record" [ "$(record | grep -o 'lt;hostdev' | wc -l)" = 2 ]
errs "it is not suspended before it has them again" vgpu-lease suspend sleeper
check "and says how" shows "vgpu-lease resume sleeper"
succeeds "a resume gives it what it does not have" vgpu-lease resume sleeper
check "both of them" same "$(device_in sleeper | xargs)" "$U1 $U2"
run virsh destroy sleeper
check "its end releases them" within 15 nothing_left
run virsh start sleeper
check "and its next start has them" same "$STATUS$(device_in sleeper | xargs)" "0$U1 $U2"
virsh -q destroy sleeper
within 15 nothing_left
