"""`isthmus fleet export`."""

import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from isthmus.cli.stderr import say
from isthmus.errors import NoDevice, UsageError, WriteError
from isthmus.files.whole import remove_file, write_whole

_LISTEN = "127.0.0.1:9988"


def export(
    *,
    listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help=f"Serve /metrics there.  [default: {_LISTEN}]"),
    ] = None,
    textfile: Annotated[
        Path | None,
        typer.Option(metavar="FILE.prom", help="Write it for node_exporter instead of serving."),
    ] = None,
) -> None:
    """
    Export the health of each GPU's PCIe link to Prometheus.

    Every 50 s, generation and width are read right after copies of 1 MiB: idle links train down. A
    slow or narrow link is seen within 60 s, for at most 0.1 % of its time. Each time, a process has
    a CUDA context on the GPU for a moment; otherwise nothing is on it. SIGTERM ends the exporter.
    Needs isthmus[monitor].

    Exit codes: 0 ended, 1 error, 2 usage, or the port is in use, 4 no device.
    """
    from isthmus.fleet.link_watch import PERIOD_S, Collector, Endpoint, LinkWatch, Reading
    from isthmus.ground.extras import packages_for

    with packages_for("metrics", "pip install 'isthmus[monitor]'"):
        from prometheus_client import generate_latest
    host, _, port = (listen or _LISTEN).rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"'{listen}' is no address", hint=f"--listen {_LISTEN}")
    if textfile and (listen or textfile.suffix != ".prom"):
        raise UsageError("--textfile FILE.prom is instead of --listen", hint="--textfile link.prom")
    watch = LinkWatch([Reading(**one) for one in _listed()], _started)
    text = partial(generate_latest, Collector(watch))
    with ExitStack() as stack:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        stack.callback(watch.close)
        if textfile:
            stack.callback(remove_file, textfile)
        else:
            server = stack.enter_context(Endpoint(host.strip("[]"), int(port), text))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
        said: list[str] = []
        while True:
            begun, lines = time.monotonic(), watch.round()
            if textfile:
                try:
                    write_whole(textfile, text())
                except WriteError as error:
                    lines.append(str(error))
            for line in lines:
                if line not in said:
                    say(line)
            said = lines
            time.sleep(max(0.0, begun + PERIOD_S - time.monotonic()))


def _started(*uuid: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-P", "-m", "isthmus.cli.fleet.link_probe", *uuid]
    nothing, out = subprocess.DEVNULL, subprocess.PIPE
    return subprocess.Popen(command, stdin=nothing, stdout=out, stderr=nothing, text=True)  # noqa: S603 - this program


def _listed() -> list[dict[str, Any]]:
    found: Any = json.loads(_started().communicate()[0] or '{"detail": "the driver crashed"}')
    if isinstance(found, dict):
        raise NoDevice(found["detail"], hint="`isthmus doctor` says what is missing")
    return list(found)
