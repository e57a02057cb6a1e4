#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# json_fits.py SCHEMAS KEPT: does what vgpu_lease() of host.sh has kept fit the schema of its command?
import json
import pathlib
import sys

import jsonschema

schemas, kept = map(pathlib.Path, sys.argv[1:])
validators = {}
for path in schemas.glob("*.json"):
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validators[path.stem] = jsonschema.Draft202012Validator(schema)


def complaints(status, arguments, text):
    command = next((word for word in arguments if word in validators), "status")
    if not text and status == "2":
        return  # a command line that cannot be read
    try:
        document = json.loads(text)
    except ValueError as error:
        yield f"not JSON: {error}"
        return
    for error in validators[command].iter_errors(document):
        yield f"{error.json_path}: {error.message[:200]}"


wrong = set()
for call in sorted(kept.glob("*.call")):
    status, *arguments = call.read_text().splitlines()
    for complaint in complaints(status, arguments, call.with_suffix("").read_text()):
        wrong.add(f"vgpu-lease {' '.join(arguments)}: {complaint}")
print("\n".join(sorted(wrong)))
sys.exit(bool(wrong))
