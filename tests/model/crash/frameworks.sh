#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The hook killed before each of its system calls, in the other frameworks.
. "$(dirname "$0")/../../lib/tap.sh"
exec "$builddir/tests/model/crash/crash" vfs variant vf
