# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is wrong in the documents: a link or an anchor that leads nowhere, a heading that stands twice, a line that is too long.

documents.py: prints a line for each. An anchor of doc/troubleshooting.md may also be named by a manual page,
as troubleshooting.md#ANCHOR, or by a message of the programs, which ends in (troubleshooting: ANCHOR).
"""
import pathlib
import re

PAGES = [pathlib.Path("README.md"), pathlib.Path("SECURITY.md"), *sorted(pathlib.Path("doc").glob("*.md"))]
NAMED = re.compile(r"troubleshooting(?:\.md#|: )([a-z0-9_-]+)")


def outside_code(text):
    return re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.S | re.M)


def anchors(page):
    """The headings' anchors, as the usual renderers make them."""
    found = []
    for heading in re.findall(r"^#+ (.*)$", outside_code(page.read_text()), re.M):
        found.append(re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-"))
    return found


for page in PAGES:
    known = anchors(page)
    for anchor in sorted(set(a for a in known if known.count(a) > 1)):
        print(f"{page}: two headings have the anchor #{anchor}")
    for link in re.findall(r"\]\(([^)\s]+)\)", outside_code(page.read_text())):
        if link.startswith("http"):
            continue
        file, _, anchor = link.partition("#")
        to = page.parent / file if file else page
        if not to.exists():
            print(f"{page}: {link}: no such file")
        elif anchor and anchor not in anchors(to):
            print(f"{page}: {link}: no such heading")
    widest = {"README.md": 100, "SECURITY.md": 140}.get(page.name, 120)
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        # A row of a table cannot be broken.
        if len(line) > widest and (page.name in ("README.md", "troubleshooting.md") or not line.startswith("|")):
            print(f"{page}:{number}: longer than {widest} columns")
    if page.name == "README.md" and len(lines) > 120:
        print(f"{page}: more than 120 lines")
guide = anchors(pathlib.Path("doc/troubleshooting.md"))
for file in [file for directory in ("src", "hooks", "man", "etc") for file in sorted(pathlib.Path(directory).rglob("*")) if file.is_file()]:
    for anchor in NAMED.findall(file.read_text()):
        if anchor not in guide:
            print(f"{file}: doc/troubleshooting.md has no heading #{anchor}")
# What virsh list waits for at most is what vgpu-lease-hook(8) says of a start.
most = re.search(r"^\.It Cm prepare begin Ta .* Ta (\d+)$", pathlib.Path("man/vgpu-lease-hook.8").read_text(), re.M)
if not most or f"`lock_timeout + create_timeout + 4`: {most[1]} s" not in pathlib.Path("doc/troubleshooting.md").read_text():
    print("doc/troubleshooting.md: virsh list does not wait as long as the table of vgpu-lease-hook(8) says")
