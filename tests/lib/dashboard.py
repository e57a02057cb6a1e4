#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# dashboard.py SCHEMA FILE: what is wrong with a Grafana dashboard, a line each: what does not fit the schema, what Grafana's
# dashboard-linter asks for, and what a picture of our metrics needs. Prints nothing: nothing is wrong.
import json
import re
import sys

import jsonschema

# By the end of a metric's name.
UNITS = (("_seconds", "s"), ("_bytes", "bytes"), ("", "short"))
wrong = []


def complain(where, what):
    wrong.append(f"{where}: {what}")


def unique_keys(pairs):
    for key in {key for key, _ in pairs if [k for k, _ in pairs].count(key) > 1}:
        complain("dashboard", f"the key {key} is there twice")
    return dict(pairs)


def unique(where, values):
    for value in sorted({str(value) for value in values if values.count(value) > 1}):
        complain(where, f"{value} is there twice")


def look_at_variables(variables, text):
    unique("variables", [variable["name"] for variable in variables])
    for variable in variables:
        if not re.search(r"\$\{?" + variable["name"] + r"\b", text):
            complain(f"variable {variable['name']}", "no panel uses it")
        if variable["type"] == "query" and variable["query"]["query"] != variable["definition"]:
            complain(f"variable {variable['name']}", "its definition differs from its query")
    names = {variable["name"] for variable in variables} | {"__rate_interval", "__all"}
    for name in sorted(set(re.findall(r"\$\{?(\w+)", text)) - names):
        complain("variables", f"there is no {name}")


def look_at_place(where, place, taken):
    x, y, w, h = (place[key] for key in "xywh")
    if x + w > 24:
        complain(where, "wider than the grid")
    cells = {(column, row) for column in range(x, x + w) for row in range(y, y + h)}
    for other, others in taken.items():
        if cells & others:
            complain(where, f"lies upon {other}")
    taken[where] = cells


def has_no_gap(taken):
    """Grafana moves a panel up to the one above it."""
    cells = set().union(*taken.values())
    for where, own in taken.items():
        top = min(row for _, row in own)
        if top and not {(column, top - 1) for column, row in own if row == top} & cells:
            complain(where, "has nothing above it")


def look_at_target(where, panel, target):
    expr, legend = target["expr"], target["legendFormat"]
    metrics = re.findall(r"\bvgpu_lease_\w+", expr)
    if not metrics or len(metrics) != expr.count('instance=~"$instance"'):
        complain(where, "a metric without its hosts")
    if panel["type"] == "timeseries" and "{{instance}}" not in legend:
        complain(where, "a legend without the host")
    grouped = re.search(r"\bby \(([^)]*)\)", expr)
    for label in grouped.group(1).split(", ") if grouped and panel["type"] == "timeseries" else ():
        if label != "le" and "{{" + label + "}}" not in legend:
            complain(where, f"a legend without {label}")
    for counter in re.findall(r"(\w*)\(vgpu_lease_\w+_(?:total|bucket|count|sum)\{[^}]*\}(\S*)", expr):
        if counter[0] not in ("rate", "increase") or not counter[1].startswith("[$__rate_interval]"):
            complain(where, "a counter without its rate in $__rate_interval")
    if re.search(r"_(?:total|bucket|count|sum)\{", expr) and not re.search(r"\b(?:rate|increase)\(", expr):
        complain(where, "a counter without its rate")
    if "vgpu_lease_available" in metrics and not re.search(r"\btype\b|max by \(instance, pgpu\)", expr):
        complain(where, "adds what types of a pGPU share")
    name = re.sub(r"_(total|bucket|count|sum)$", "", metrics[0]) if metrics else ""
    unit = "s" if "time()" in expr else next(unit for end, unit in UNITS if name.endswith(end))
    if panel["fieldConfig"]["defaults"].get("unit") != unit:
        complain(where, f"the unit is not {unit}")


def look_at(dashboard):
    panels, places = dashboard["panels"], {}
    look_at_variables(dashboard["templating"]["list"], json.dumps([panels, dashboard["templating"]]))
    unique("panel ids", [panel["id"] for panel in panels])
    unique("panel titles", [panel["title"] for panel in panels])
    for panel in panels:
        where = f"panel {panel['title']}"
        look_at_place(where, panel["gridPos"], places)
        unique(where, [target["refId"] for target in panel["targets"]])
        for target in panel["targets"]:
            look_at_target(where, panel, target)
    has_no_gap(places)


with open(sys.argv[1], encoding="utf-8") as schema, open(sys.argv[2], encoding="utf-8") as file:
    validator = jsonschema.Draft202012Validator(json.load(schema))
    board = json.load(file, object_pairs_hook=unique_keys)
for error in validator.iter_errors(board):
    complain(error.json_path, error.message[:200])
if not wrong:
    look_at(board)
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(bool(wrong))
