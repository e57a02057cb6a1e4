#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""journald.py SOCKET [TEXT]: what systemd-journald is, for the time of a test; with TEXT it sends that there.

Takes datagrams of the journal's native protocol and writes each to standard output in the journal's export format, which
differs from it in the fields that the server adds: systemd-journal-remote makes a journal of it.
"""
import socket
import struct
import sys
import time

log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
if sys.argv[2:]:
    log.sendto(sys.argv[2].encode(), sys.argv[1])
    sys.exit()
log.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
log.bind(sys.argv[1])
while True:
    data, control, _, _ = log.recvmsg(65536, socket.CMSG_SPACE(struct.calcsize("3I")))
    uid = next(struct.unpack("3I", sent)[1] for _, kind, sent in control if kind == socket.SCM_CREDENTIALS)
    if data:
        # Debian 13's systemd-journal-remote takes no entry without a boot.
        added = f"__REALTIME_TIMESTAMP={time.time_ns() // 1000}\n_BOOT_ID=0123456789abcdef0123456789abcdef\n_UID={uid}\n"
        sys.stdout.buffer.write(added.encode() + data + b"\n")
        sys.stdout.buffer.flush()
