#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes ./configure from configure.ac; needed in a git checkout only.
set -e
cd "$(dirname "$0")"
mkdir -p m4 build-aux
exec autoreconf --force --install --warnings=all
