#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The driver of the only pGPU of a type is not loaded: what is remembered of the type's vGPUs says which one it was.
. "$(dirname "$0")/../../lib/hook.sh"
configure mtty-2
host mtty+mdpy
prepare && release
end_host
rm -rf "${root:?}/run/vgpu-lease"
host mdpy
reports "a start names the pGPU that is missing, and what to do" prepare -- M_NO_CAPACITY "$(message M_ONLY_TYPE mtty-2)" -- M_NO_PARENT
fails "and no other" grep -q mdpy <<<"$said"
holds "so does check" says M_NO_PARENT_HERE < <(lease check)
lease inventory >"$work/said"
holds "and inventory" grep -q '^mtty ' "$work/said"
rm -rf "${root:?}/var/lib/vgpu-lease/affinity"
lease check >"$work/said"
fails "where nothing is remembered, nothing is guessed" says M_NO_PARENT_HERE <"$work/said"
end_host
host mtty+mdpy
another 1 | prepare /dev/stdin && another 1 | release /dev/stdin
lease check >"$work/said"
fails "where it is loaded, nothing is missing" says M_NO_PARENT_HERE <"$work/said"
tap_done
