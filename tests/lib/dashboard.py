#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# dashboard.py FILE: what is wrong with a Grafana dashboard, a line each: what Grafana's kinds/dashboard demands of one (schema
# version 36), what its dashboard-linter asks for, and what a picture of our metrics needs. Prints nothing: nothing is wrong.
import json
import re
import sys

DASHBOARD = {"title", "uid", "tags", "schemaVersion", "version", "editable", "time", "refresh", "timezone",
             "annotations", "templating", "panels"}
PANEL = {"id", "type", "title", "description", "datasource", "gridPos", "fieldConfig", "options", "targets"}
TARGET = {"expr", "legendFormat", "refId", "datasource"}
TABLE_TARGET = TARGET | {"format", "instant"}
VARIABLE = {
    "datasource": {"name", "type", "label", "query"},
    "query": {"name", "type", "label", "query", "datasource", "definition", "refresh", "includeAll", "allValue", "multi",
              "current"},
}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# By the end of a metric's name.
UNITS = (("_seconds", "s"), ("_bytes", "bytes"), ("", "short"))
wrong = []


def complain(where, what):
    wrong.append(f"{where}: {what}")


def unique_keys(pairs):
    for key in {key for key, _ in pairs if [k for k, _ in pairs].count(key) > 1}:
        complain("dashboard", f"the key {key} is there twice")
    return dict(pairs)


def has_keys(where, thing, needed, more=frozenset()):
    for key in sorted(needed - thing.keys()):
        complain(where, f"no {key}")
    for key in sorted(thing.keys() - needed - more):
        complain(where, f"unknown key {key}")


def unique(where, values):
    for value in sorted({str(value) for value in values if values.count(value) > 1}):
        complain(where, f"{value} is there twice")


def is_int(value, least, most):
    return type(value) is int and least <= value <= most


def look_at_head(dashboard):
    has_keys("dashboard", dashboard, DASHBOARD)
    if not re.fullmatch(r"[A-Za-z0-9_-]{8,40}", dashboard.get("uid", "")):
        complain("dashboard", "uid is not 8 to 40 letters, digits, _ or -")
    if not re.fullmatch(r"[1-9]\d*[smhd]", str(dashboard.get("refresh"))):
        complain("dashboard", "refresh is not an interval")
    if dashboard.get("timezone") not in ("browser", "utc"):
        complain("dashboard", "timezone is neither browser nor utc")
    if not is_int(dashboard.get("schemaVersion"), 36, 36) or not is_int(dashboard.get("version"), 1, 2**32 - 1):
        complain("dashboard", "schemaVersion is not 36, or version not a positive number")
    if dashboard.get("time", {}).keys() != {"from", "to"} or dashboard.get("annotations") != {"list": []}:
        complain("dashboard", "time is not from and to, or there are annotations")


def look_at_variables(variables, text):
    unique("variables", [variable.get("name") for variable in variables])
    if not variables or variables[0].get("name") != "datasource" or variables[0].get("query") != "prometheus":
        complain("variables", "the first is not the data source")
    for variable in variables:
        where = f"variable {variable.get('name')}"
        has_keys(where, variable, VARIABLE.get(variable.get("type"), set()))
        if not re.search(r"\$\{?" + str(variable.get("name")) + r"\b", text):
            complain(where, "no panel uses it")
        if variable.get("type") != "query":
            continue
        if variable.get("datasource") != SOURCE or variable.get("query", {}).get("query") != variable.get("definition"):
            complain(where, "not from the data source, or its definition differs from its query")
        if variable.get("refresh") != 2 or variable.get("allValue") != ".+" or variable.get("current", {}).get("value") != "$__all":
            complain(where, "not read anew with the time, or not all at first")
    names = {variable.get("name") for variable in variables} | {"__rate_interval", "__all"}
    for name in sorted(set(re.findall(r"\$\{?(\w+)", text)) - names):
        complain("variables", f"there is no {name}")


def look_at_place(where, place, taken):
    x, y, w, h = (place.get(key) for key in "xywh")
    if place.keys() != set("xywh") or not (is_int(x, 0, 23) and is_int(y, 0, 999) and is_int(w, 1, 24) and is_int(h, 1, 99)):
        complain(where, "gridPos is not x, y, w, h")
        return
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
    table = panel.get("type") == "table"
    has_keys(where, target, TABLE_TARGET if table else TARGET)
    expr, legend = target.get("expr", ""), target.get("legendFormat", "")
    metrics = re.findall(r"\bvgpu_lease_\w+", expr)
    if target.get("datasource") != SOURCE or not re.fullmatch("[A-Z]", target.get("refId", "")):
        complain(where, "not from the data source, or refId is not a letter")
    if not metrics or len(metrics) != expr.count('instance=~"$instance"'):
        complain(where, "a metric without its hosts")
    if table and (target.get("format"), target.get("instant")) != ("table", True):
        complain(where, "a table of what is not")
    if panel.get("type") == "timeseries" and "{{instance}}" not in legend:
        complain(where, "a legend without the host")
    grouped = re.search(r"\bby \(([^)]*)\)", expr)
    for label in grouped.group(1).split(", ") if grouped and panel.get("type") == "timeseries" else ():
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
    if panel.get("fieldConfig", {}).get("defaults", {}).get("unit") != unit:
        complain(where, f"the unit is not {unit}")


def look_at_panel(panel, taken):
    where = f"panel {panel.get('title')}"
    has_keys(where, panel, PANEL, {"transformations"} if panel.get("type") == "table" else set())
    if panel.get("type") not in ("stat", "timeseries", "table"):
        complain(where, "of an unknown type")
    if not is_int(panel.get("id"), 1, 2**31) or not str(panel.get("title", "")).strip():
        complain(where, "its id is not a positive number, or it has no title")
    if not str(panel.get("description", "")).endswith("."):
        complain(where, "its description is not a sentence")
    if panel.get("datasource") != SOURCE:
        complain(where, "not from the data source")
    config = panel.get("fieldConfig", {})
    if config.keys() != {"defaults", "overrides"} or not isinstance(panel.get("options"), dict):
        complain(where, "fieldConfig is not defaults and overrides, or options is not an object")
    look_at_place(where, panel.get("gridPos", {}), taken)
    if not panel.get("targets"):
        complain(where, "no target")
    unique(where, [target.get("refId") for target in panel.get("targets", [])])
    for target in panel.get("targets", []):
        look_at_target(where, panel, target)
    for transformation in panel.get("transformations", []):
        if transformation.keys() != {"id", "options"} or transformation["id"] not in ("organize",):
            complain(where, "an unknown transformation")


with open(sys.argv[1], encoding="utf-8") as file:
    board = json.load(file, object_pairs_hook=unique_keys)
look_at_head(board)
panels, places = board.get("panels", []), {}
look_at_variables(board.get("templating", {}).get("list", []), json.dumps([panels, board.get("templating")]))
unique("panel ids", [panel.get("id") for panel in panels])
unique("panel titles", [panel.get("title") for panel in panels])
for shown in panels:
    look_at_panel(shown, places)
has_no_gap(places)
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(bool(wrong))
