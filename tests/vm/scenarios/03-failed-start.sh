# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a start that fails after the device was made leaves nothing
ARGUMENT=-no-such-option define bad "$U1"
errs "a domain with an option that QEMU does not know does not start" virsh start --paused bad
check "the reason is QEMU's" shows no-such-option
check "nothing is left of a start that QEMU refused" within 15 nothing_left

another_hook <<-END
	#!/bin/sh
	[ "\$2" != "\$(cat $WORK/when)" ]
END
define good "$U1"
for operation in prepare start started; do
	echo "$operation" >"$WORK/when"
	errs "another hook that fails at $operation ends the start" virsh start --paused good
	check "nothing is left when another hook failed at $operation" within 15 nothing_left
done
