#!/bin/sh
# Makes ./configure from configure.ac; needed in a git checkout only.
set -e
cd "$(dirname "$0")"
mkdir -p m4 build-aux
exec autoreconf --force --install --warnings=all
