#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The units: what systemd thinks of them, and what it is told by the daemon.
. "$(dirname "$0")/../../lib/leased.sh"
unit=$builddir/etc/systemd/vgpu-leased.service
needs systemd-analyze

holds "the daemon's exposure is no more than 3.0" systemd-analyze security --offline=yes --threshold=30 --no-pager "$unit"

# As they would be installed, so that what they start is there.
mkdir "$work/units"
for file in "$builddir/etc/systemd"/*.service "$srcdir/etc/systemd/vgpu-sriov@.service"; do
	sed -E "s,^ExecStart=[^ ]+,ExecStart=$leased,; s,^(ExecReload=)[^ ]+/vgpu-leased,\\1$leased," "$file" >"$work/units/$(basename "$file")"
done
for file in "$work/units/"{vgpu-leased,vgpu-lease-wait,vgpu-sriov@card}.service; do
	nothing "systemd finds nothing wrong with $(basename "$file")" \
		"$(systemd-analyze verify --man=no --recursive-errors=no "$file" 2>&1)"
done
is "$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$builddir/etc/systemd"/*.service | sort -u | xargs -n 1 basename)" vgpu-leased \
	"both start the daemon's program"
tap_done
