# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# what is attached, detached, suspended and resumed by command, while the device handler looks on
folder=$(dirname "${BASH_SOURCE[0]}")
systemctl start vgpu-leased
within 60 connected
# shellcheck source=tests/vm/scenarios/14-attach.sh
. "$folder/14-attach.sh"
fresh
systemctl start vgpu-leased
within 60 connected
# shellcheck source=tests/vm/scenarios/15-suspend.sh
. "$folder/15-suspend.sh"
check "the handler is still there" systemctl is-active -q vgpu-leased
