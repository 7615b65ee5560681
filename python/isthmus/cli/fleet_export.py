"""`isthmus fleet export`."""

import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from isthmus.cli.state import DebugOption
from isthmus.cli.stderr import say
from isthmus.errors import NoDevice, UsageError, WriteError
from isthmus.files.whole import remove_file, whole_file

if TYPE_CHECKING:
    from isthmus.fleet.link_watch import Reading

_LISTEN = "127.0.0.1:9988"


def export(
    *,
    listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help=f"Serve /metrics there.  [default: {_LISTEN}]"),
    ] = None,
    textfile: Annotated[
        Path | None,
        typer.Option(metavar="FILE.prom", help="Write them for node_exporter instead."),
    ] = None,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=20, max=3600, help="From round to round.")
    ] = 50.0,
    debug: DebugOption = False,
) -> None:
    """
    Export the health of each GPU's PCIe link to Prometheus.

    Each round reads generation and width right after copies of 1 MiB: idle links train down. With
    50 s from round to round, a slow or narrow link is seen within 60 s, for at most 0.1 % of its
    time. A process for each GPU has a context for a moment; between rounds nothing is on the GPU.
    SIGTERM ends it. Needs isthmus[monitor].

    Exit codes: 0 ended, 1 error, 2 usage, or the port is in use, 4 no device.
    """
    del debug  # its callback has stored it
    from isthmus.extras import packages_for
    from isthmus.fleet.link_metrics import Collector, Endpoint
    from isthmus.fleet.link_watch import LinkWatch

    with packages_for("metrics", "pip install 'isthmus[monitor]'"):
        from prometheus_client import generate_latest
    host, _, port = (listen or _LISTEN).rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"'{listen}' is no address", hint=f"--listen {_LISTEN}")
    if textfile and (listen or textfile.suffix != ".prom"):
        raise UsageError("--textfile FILE.prom is instead of --listen", hint="--textfile link.prom")
    watch = LinkWatch(_gpus(), lambda uuid: _started(uuid, interval), time.monotonic)
    with suppress(_Ended), ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, _end))
        stack.callback(watch.close)
        if textfile:
            stack.callback(remove_file, textfile)
        else:
            text = partial(generate_latest, Collector(watch))
            server = stack.enter_context(Endpoint(host.strip("[]"), int(port), text))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
        said: list[str] = []
        while True:
            begun, lines = time.monotonic(), watch.round()
            if textfile:
                lines += _written(textfile, generate_latest(Collector(watch)))
            for line in lines:
                if line not in said:
                    say(line)
            said = lines
            time.sleep(max(0.0, begun + interval - time.monotonic()))


class _Ended(Exception):
    pass


def _end(number: int, _frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)
    raise _Ended


def _written(textfile: Path, text: bytes) -> list[str]:
    """Write the file; give what failed."""
    try:
        with whole_file(textfile, durable=False) as file:
            file.write(text)
    except WriteError as error:
        return [str(error)]
    return []


def _started(*arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603 - this program
        [sys.executable, "-P", "-m", "isthmus.cli.link_probe", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _gpus() -> "list[Reading]":
    from isthmus.fleet.link_watch import Reading

    found = json.loads(_started().communicate()[0] or "{}")
    if isinstance(found, dict) or not found:
        why = found.get("detail") if found else "the driver has none, or doesn't start"
        raise NoDevice(str(why), hint="`isthmus doctor` says what is missing")
    return [
        Reading(uuid=uuid, pci_address=address, name=name, emulated=emulated)
        for uuid, address, name, emulated in found
    ]
