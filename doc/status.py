#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""status.py BUILD >doc/status.svg: the picture of README.md, what vgpu-lease of a build directory shows on a terminal.

As root: the host, with two Tesla T4 and two guests, is a simulated one. A time namespace gives the leases their age.
"""
import fcntl
import html
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

COLUMNS, FONT, LINE = 80, 14, 20
STEP = FONT * 0.6  # of a monospaced font
FRAME, TEXT = "#1e1e1e", "#d4d4d4"
# Select Graphic Rendition, as in src/cli/term.h.
STYLES = {"1": 'font-weight="bold"', "2": 'opacity="0.6"', "31": 'fill="#f14c4c"', "32": 'fill="#23d18b"',
          "33": 'fill="#e5e510"'}
HOUR = 3600
GUESTS = (  # name, UUID of the domain and of its vGPU, and when it starts
    ("vm1", "c2a1f4d0-5b1c-4c0e-9a5d-0e8d2f6b7a11", "4b20d080-1b54-4048-85b3-a6a62d165c01", 0),
    ("vm2", "1f6e5a3c-9d27-4b8e-8c40-7a2b9e0d4f12", "d6c2eb63-cd72-4ca5-9a57-6a1d8bbb6f3c", 20 * HOUR),
)
CONF = """[devices]
enabled_mdev_types = nvidia-222
"""
DOMAIN = """<domain type='kvm'><name>{}</name><uuid>{}</uuid><devices>
<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='{}'/></source></hostdev>
</devices></domain>
"""


def later(seconds, *command):
    """The command, run so much later."""
    return ["unshare", "--time", "--fork", f"--monotonic={seconds:.0f}", f"--boottime={seconds:.0f}", *command]


def on_terminal(command, cwd):
    """What it prints on a terminal."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    with subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=its) as shown:
        os.close(its)
        text = b""
        try:
            while piece := os.read(ours, 65536):
                text += piece
        except OSError:  # EIO: the terminal is closed
            pass
    os.close(ours)
    if shown.returncode:
        sys.exit(f"status.py: {command[-1]}: exit status {shown.returncode}")
    return text.decode().replace("\r\n", "\n")


def shown(build, directory):
    """The host's status, its two guests running."""
    host = pathlib.Path(directory, "host1")
    status, etc = host / "run/libvirt/qemu", host / "etc"
    status.mkdir(parents=True)
    etc.mkdir()
    (etc / "vgpu-lease.conf").write_text(CONF)
    subprocess.run([build / "vgpu-lease-sim", host, "t4:2"], check=True)
    try:
        for name, domain, vgpu, start in GUESTS:
            xml = DOMAIN.format(name, domain, vgpu)
            hook = [build / "hooks/qemu", "--root", host, "--", name, "prepare", "begin", "-"]
            subprocess.run(later(start, *hook), input=xml, text=True, check=True)
            (status / f"{name}.xml").write_text(f"<domstatus state='running'>\n{xml}</domstatus>\n")
        return on_terminal(later(22.5 * HOUR, build / "vgpu-lease", "--root", "host1"), directory)
    finally:
        subprocess.run([build / "vgpu-lease-sim", "--stop", host], check=False)


def runs(line):
    """The pieces of a line that have one style and no gap: column, style, text."""
    column, style = 0, []
    for code, text in re.findall(r"\033\[([\d;]*)m|([^\033]+)", line):
        if not text:
            style = [] if code in ("", "0") else [*style, *code.split(";")]
            continue
        for piece in re.finditer(r"\S+(?: \S+)*", text):
            yield column + piece.start(), " ".join(STYLES[s] for s in style), piece[0]
        column += len(text)


def svg(lines):
    """Each piece is at its column, whatever font the reader has."""
    width, height = round(COLUMNS * STEP + 2 * FONT), LINE * len(lines) + 20
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    yield f'<rect width="100%" height="100%" rx="6" fill="{FRAME}"/>'
    yield f'<g fill="{TEXT}" font-family="monospace" font-size="{FONT}">'
    for row, line in enumerate(lines):
        for column, style, text in runs(line):
            yield (f'<text x="{FONT + column * STEP:.1f}" y="{LINE * row + 25}" textLength="{len(text) * STEP:.1f}"'
                   f'{style and " "}{style}>{html.escape(text, quote=False)}</text>')
    yield "</g>"
    yield "</svg>"


if len(sys.argv) != 2:
    sys.exit("usage: status.py BUILD >doc/status.svg")
with tempfile.TemporaryDirectory(prefix="vgpu-lease-") as work:
    picture = shown(pathlib.Path(sys.argv[1]).resolve(), work)
print("\n".join(svg(["# vgpu-lease", *picture.rstrip("\n").split("\n")])))
