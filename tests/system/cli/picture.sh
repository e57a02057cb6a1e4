#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The picture of README.md is what vgpu-lease shows.
. "$(dirname "$0")/../../lib/host.sh"

# without_model: a host without udev's database of hardware does not know the model.
without_model() { grep -v '>TU104GL \[Tesla T4\]<'; }

picture=$("$srcdir/doc/status.py" "$builddir")
is "$(without_model <<<"$picture")" "$(without_model <"$srcdir/doc/status.svg")" \
	"it is current; else, as root: doc/status.py $builddir >doc/status.svg"
holds "it has colours" grep -q ' fill="#[0-9a-f]*">active<' <<<"$picture"
holds "it is XML" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$srcdir/doc/status.svg"
tap_done
