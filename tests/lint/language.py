# SPDX-License-Identifier: LGPL-2.1-or-later
"""Words that the documents and the programs no longer use: tests/lint/old-words has each, with what is written instead.

language.py: prints a line for each that is in a string of the programs, in the configuration's example, a manual page, a
document or the newest section of NEWS.
"""
import pathlib
import re

LIST = "tests/lint/old-words"
STRINGS = ["src/**/*.[ch]", "hooks/*.[ch]"]
TEXTS = ["etc/vgpu-lease.conf", "etc/catalog/*.catalog", "etc/systemd/*", "xml-templates/*.xml", "schemas/*.json", "debian/control",
         "rpm/*.spec", "man/*.[1-8]", "doc/*.md", "README.md", "SECURITY.md", "CONTRIBUTING.md"]

STRING = r'"(?:\\.|[^"\\\n])*"'
# Comments and characters are passed over.
TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])+'|^#[^\n]*|" + STRING, re.S | re.M)


def strings(text):
    """The text with all but its strings blanked: neighbouring strings are one, and what ends a line is a blank."""
    kept = list(re.sub(r"[^\n]", " ", text))
    for token in TOKEN.finditer(text):
        if token[0][0] == '"':
            kept[token.start() + 1:token.end() - 1] = token[0][1:-1]
    return "".join(kept).replace("\\n", "  ")


def files(patterns):
    return sorted(str(file) for pattern in patterns for file in pathlib.Path().glob(pattern))


def texts():
    for file in files(STRINGS):
        yield file, strings(pathlib.Path(file).read_text())
    for file in files(TEXTS):
        # The words of a comment can be on two lines.
        yield file, re.sub(r"^#", " ", pathlib.Path(file).read_text(), flags=re.M)
    news = pathlib.Path("NEWS").read_text()
    yield "NEWS", re.split(r"(?<=\n)(?=vgpu-lease \d)", news)[0]


old = []
for line in pathlib.Path(LIST).read_text().splitlines():
    if line and not line.startswith("#"):
        word, tab, instead = line.partition("\t")
        if not tab:
            print(f"{LIST}: no word and what is written instead: {line}")
        old.append((re.compile(r"\b(?:" + word.replace(" ", r"\s+") + r")\b"), instead))
looked_at = 0
for file, text in texts():
    looked_at += len(re.findall(r"[A-Za-z]+\s+[a-z]+", text))
    for word, instead in old:
        for found in word.finditer(text):
            shown = re.sub(r"\s+", " ", found[0])
            print(f"{file}:{text.count(chr(10), 0, found.start()) + 1}: '{shown}': {instead}")
# An expression that finds no text would find nothing wrong.
if looked_at < 15000:
    print(f"only {looked_at} words were looked at")
