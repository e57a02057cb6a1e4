#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""prometheus.py DIR DASHBOARD METRICS: which expressions of a Grafana dashboard have no value.

Runs Prometheus in DIR, which scrapes the file METRICS, and asks it for each expression, as Grafana does. Prints a line
for each that has no value, or none that is a number. The ports are the kernel's choice, on loopback.
"""
import functools
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

# How long it may take until all have a value.
ANSWER_S = float(os.environ.get("ANSWER_S", 25))


class Metrics(http.server.SimpleHTTPRequestHandler):
    extensions_map = {"": "text/plain; version=0.0.4"}

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *client):
        """A scrape that Prometheus gave up is none: it waits for a second, and is killed in the end."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*client)


def ask(port, expr):
    query = urllib.parse.urlencode({"query": expr})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}", timeout=5) as answer:
        return json.load(answer)["data"]["result"]


def port_of(log, process):
    """Which port Prometheus listens at, as its log says."""
    while process.poll() is None:
        found = re.search(r"Listening on.*127\.0\.0\.1:([1-9]\d*)", log.read_text())
        if found:
            return int(found.group(1))
        time.sleep(0.1)
    raise SystemExit("Prometheus does not run: " + log.read_text()[-500:])


def complaint(port, expr):
    values = [sample["value"][1] for sample in ask(port, expr)]
    if not values:
        return f"no value: {expr}"
    return f"not a number: {expr}" if all(value == "NaN" for value in values) else None


def look(port, expressions):
    """What is wrong with them once there are enough samples; those of a rate need two."""
    end = time.monotonic() + ANSWER_S
    while True:
        try:
            wrong = [line for line in (complaint(port, expr) for expr in expressions) if line]
        except OSError as error:
            wrong = [f"Prometheus does not answer: {error}"]
        if not wrong or time.monotonic() > end:
            return wrong
        time.sleep(0.5)


def main(directory, dashboard, metrics):
    metrics = pathlib.Path(metrics)
    server = Server(("127.0.0.1", 0), functools.partial(Metrics, directory=metrics.parent))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = pathlib.Path(directory)
    config, log = here / "prometheus.yml", here / "log"
    config.write_text(json.dumps({
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [{"job_name": "node", "metrics_path": f"/{metrics.name}", "static_configs": [
            {"targets": [f"127.0.0.1:{server.server_port}"], "labels": {"instance": "host1"}}]}]}))
    panels = json.loads(pathlib.Path(dashboard).read_text())["panels"]
    expressions = [target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".+")
                   for panel in panels for target in panel.get("targets", [])]
    if not expressions:
        raise SystemExit("the dashboard has no expression")
    with log.open("w") as to, subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={here}/data",
             "--web.listen-address=127.0.0.1:0"], stdout=to, stderr=to) as process:
        try:
            for line in look(port_of(log, process), expressions):
                print(line)
        finally:
            process.kill()


main(*sys.argv[1:])
