# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests of the simulated host, which they start themselves in $root: "$sim" "$root" MODEL. Sourced first.
# shellcheck source=tests/lib/host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
# shellcheck disable=SC2034 # Read by the tests.
tmp=$work control=$root/.kernel/control sys=$root/sys
# shellcheck source=tests/lib/mdevs.sh
. "${BASH_SOURCE[0]%/*}/mdevs.sh"
now() { date +%s%3N; } # milliseconds since the epoch
