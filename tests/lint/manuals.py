# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is wrong in the manual pages, as mandoc and groff render them: manuals.py prints a line for each.

A page begins with an example: between its heading DESCRIPTION and its first display (.Bd -literal, .Dl) are at most
24 lines of 80 columns. What is typed can be copied: each line of a display is rendered as it is written, and no hyphen,
minus or quote is another character than a keyboard's, whatever a distribution has its groff do. No word is hyphenated,
and neither nvidia-222 nor an option is broken at the end of a line. No line is wider than 80 columns.
"""
import pathlib
import re
import subprocess
import tempfile

SCREEN = 24
# Lines are filled to two columns less than the terminal has, one of 80 and a narrow one. mandoc and groff 1.22 indent
# by 5, groff 1.23 by 7: what is in mandoc's 78 columns is in everybody's 80.
WIDTH = 78
TERMINALS = (WIDTH, 60)
# What is not broken behind a hyphen of its own either, as a word such as hot-plug may be.
NAME = re.compile(r"\W*(-|\S*\d|(nova|nvidia|qemu|vgpu)-)")


def displays(source):
    """The lines of all displays in their order, as a reader is to see them."""
    lines, literal = [], False
    for line in source.splitlines():
        if line.startswith(".Bd"):
            literal = "-literal" in line
        elif line.startswith(".Ed"):
            literal = False
        elif line.startswith(".Dl ") or (literal and line and not line.startswith(".")):
            text = line.removeprefix(".Dl ")
            for escape, char in (("\\(aq", "'"), ("\\(dq", '"'), ("\\&", ""), ("\\e", "\\")):
                text = text.replace(escape, char)
            lines.append(text)
    return lines


def run(*command):
    """What a renderer prints, without overstrikes, and what it complains of."""
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    return re.sub(".\b", "", done.stdout).splitlines(), done.stderr.splitlines()


def complaints(page, site):
    typed = displays(page.read_text())
    if not typed:
        yield "has no example"
        return
    for width in TERMINALS:
        mandoc, _ = run("mandoc", "-T", "utf8", "-O", f"width={width}", page)
        groff, said = run("groff", "-ww", "-M", site, "-m", "mdoc", "-T", "utf8", "-P-c", f"-rLL={width}n", page)
        yield from (f"groff: {line}" for line in said if width == WIDTH)
        for lines, widest in ((mandoc, WIDTH), (groff, WIDTH + 2)):
            text = "\n".join(lines)
            unquoted = re.sub("\u2018[^\u2018\u2019]*\u2019", "", text).splitlines()
            broken = map("".join, re.findall(r"(\S*\w-)\n *(\S+)", text))
            yield from (f"a hyphen that cannot be typed: {line.strip()}" for line in lines
                        if re.search("[\u2010\u2212]", line))
            yield from (f"a curly apostrophe: {line.strip()}" for line in unquoted if "\u2019" in line)
            yield from (f"broken at the end of a line: {word}" for word in broken if NAME.match(word))
            if width == WIDTH:
                yield from (f"not rendered as written: {line}" for line in typed if line not in text)
                yield from (f"wider than {widest} columns: {line.strip()}" for line in lines if len(line) > widest)
        if width == WIDTH and "DESCRIPTION" in mandoc:
            start = mandoc.index("DESCRIPTION")
            prose = next((n for n, line in enumerate(mandoc[start + 1:]) if line.strip() == typed[0].strip()),
                         len(mandoc))
            if prose > SCREEN:
                yield f"{prose} lines before the first example"


with tempfile.TemporaryDirectory() as site:
    # What groff 1.23 prints where a distribution has not undone it: typographic hyphens and quotes.
    (pathlib.Path(site) / "mdoc.local").write_text(".char - \\[hy]\n.char ' \\[cq]\n.char ` \\[oq]\n")
    for page in sorted(pathlib.Path("man").glob("*.[1-8]")):
        for complaint in dict.fromkeys(complaints(page, site)):
            print(f"{page}: {complaint}")
