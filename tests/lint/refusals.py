# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a refused start can say, as the sources have it, and what doc/troubleshooting.md does not explain of it.

refusals.py: prints a line for each sentence in a string of the start's path that the guide has not, word for word but
for its gaps; and each line of the list of exceptions that excepts nothing. refusals.py tested: the same of the messages
that tests look for.
"""
import pathlib
import re
import sys

GUIDE = "doc/troubleshooting.md"
EXCEPTIONS = "tests/lint/not-refusals"
TABLE = "tests/lib/messages"
SECTIONS = ("# Refusals of a start", "# Why a pGPU has no capacity")
# What the hook runs between libvirt's call and its answer. The configuration's mistakes are in vgpu-lease.conf(5): their
# messages name file, line and what is expected there.
PATH = ["hooks/*.c", "src/act/lifecycle*.c", "src/act/apply*.c", "src/act/release*.c", "src/act/kernel_write.c", "src/act/fate_facts.c",
        "src/decide/*.c", "src/look/*.c", "src/domain/*.c", "src/state/*.c", "src/model/*.c", "src/base/xml.c",
        "src/sys/timed_child.c"]

# Comments and characters are passed over; neighbouring strings, also with a PRId64 between, are one.
STRING = r'"(?:\\.|[^"\\\n])*"'
TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])+'|^#[^\n]*|" + STRING + r"(?:\s*(?:PRI\w+\s*)?" + STRING + ")*",
                   re.S | re.M)
# tests/lint/documents.py looks for it.
ANCHOR = re.compile(r" \(troubleshooting: [a-z0-9-]+\)")
GAP = re.compile(r"%(?:[-0-9.*]*(?:hh|h|ll|l|z|j)?[a-zA-Z])?")


def one_line(text):
    return re.sub(r"\s+", " ", text)


def sentences(file):
    """The strings of more than one word in a file."""
    for token in TOKEN.findall(pathlib.Path(file).read_text()):
        if token[0] == '"':
            text = "%".join("".join(re.findall('"((?:\\\\.|[^"\\\\])*)"', part)) for part in re.split(r"%\"\s*PRI\w+", token))
            text = one_line(text.replace("\\n", " ").replace('\\"', '"'))
            if " " in text.strip():
                yield ANCHOR.sub("", text)


def unexplained(text, guide):
    pieces = (piece.strip(" ;:,()'") for piece in GAP.split(text))
    return [piece for piece in pieces if len(piece) > 3 and piece not in guide]


def tested():
    """Key and text of each refusal in the table of messages."""
    of_refusals = False
    for line in pathlib.Path(TABLE).read_text().splitlines():
        if line.startswith("# "):
            of_refusals = line.startswith(SECTIONS)
        elif of_refusals and "\t" in line:
            yield line.split("\t")


guide = one_line(pathlib.Path(GUIDE).read_text())
if sys.argv[1:] == ["tested"]:
    messages = list(tested())
    for key, text in messages:
        for missing in unexplained(ANCHOR.sub("", text), guide):
            print(f"{key}: {GUIDE} has not: {missing}")
    sys.exit(None if messages else "no message was looked for")
lines = pathlib.Path(EXCEPTIONS).read_text().splitlines()
excepted = {line: 0 for line in lines if line and not line.startswith("#")}
files = sorted(str(file) for pattern in PATH for file in pathlib.Path().glob(pattern))
looked_for = 0
for file in files:
    for text in sentences(file):
        looked_for += 1
        missing = unexplained(text, guide)
        by = [line for line in excepted if line == file or (line[0] == '"' and text.startswith(line[1:]))]
        for line in by:
            excepted[line] += bool(missing)
        if missing and not by:
            print(f"{file}: {GUIDE} has not: {missing[0]}")
for line, times in excepted.items():
    if not times:
        print(f"{EXCEPTIONS}: excepts nothing: {line}")
# An expression that finds no strings would find nothing wrong.
if looked_for < 300:
    print(f"only {looked_for} sentences were found in {len(files)} files")
