# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# a driver of VFs on a real kernel does all that the simulator does: tests/lib/nvidia_vf.sh
load_nvidia
# shellcheck disable=SC2034 # the list's
sys=/sys dev=/dev cards=("$PF1" "$PF2")
# shellcheck source=tests/lib/nvidia_vf.sh
. "${here:?}/nvidia_vf.sh"
