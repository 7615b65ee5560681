"""
The readings of all links of this node, by a process for each GPU and round, and the same for
Prometheus: as text, and by HTTP.
"""

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any, NamedTuple

from isthmus.errors import UsageError
from isthmus.measure.run.reading import kept_files, read_run_file
from isthmus.measure.run.record import Integer, Name, Number, Record, SmallNumber

# A round ends after so long, whatever its processes do, and begins with each period: together they
# are a minute.
PERIOD_S, ROUND_S = 50.0, 10.0


class Reading(Record):
    """A GPU and its link, as a round found it. `null`: not known."""

    uuid: Name
    pci_address: Name
    name: Name
    emulated: bool
    read_at: Number | None = None
    reason: Name = "unread"
    """Why the link isn't known, as a word for a label: CUDA's name of an error. "" if it is."""
    detail: str = ""
    generation: SmallNumber | None = None
    generation_max: SmallNumber | None = None
    width: SmallNumber | None = None
    width_max: SmallNumber | None = None
    downtrained: bool | None = None
    bytes_per_second: Number | None = None
    link_seconds: Number | None = None
    replays: Integer | None = None

    def found(self, **facts: object) -> "Reading":
        """Give the GPU with new facts: of what was read before, only the time stays."""
        same = self.model_dump(include={"uuid", "pci_address", "name", "emulated", "read_at"})
        return Reading.model_validate(same | facts)

    @property
    def in_words(self) -> str:
        """What a log says of it."""
        if self.reason or self.downtrained is None:
            return f"isn't known: {self.detail or self.reason or 'not modelled, or hidden'}"
        now = f"Gen{self.generation} x{self.width} under load"
        most = f", at most Gen{self.generation_max} x{self.width_max}"
        return f"is downtrained: {now}{most}" if self.downtrained else f"is healthy: {now}"


class LinkWatch:
    """The GPUs of this node: a reading of each, and by UUID and test the rates of kept runs."""

    def __init__(
        self, gpus: Sequence[Reading], start: Callable[[str], "subprocess.Popen[str]"]
    ) -> None:
        """Watch some GPUs: `start` starts the process that reads one, by its UUID."""
        # Both are replaced as a whole: other threads read them.
        self.readings, self.rates = gpus, _last_rates([])
        self._start, self._files = start, list[Path]()
        self._children: dict[str, subprocess.Popen[str]] = {}

    def round(self) -> list[str]:
        """Read every link, and the kept runs; give a line of words for each GPU."""
        end = time.monotonic() + ROUND_S
        for gpu in self.readings:
            before = self._children.get(gpu.uuid)
            # One that waits for a broken GPU can't be killed: there is never a second one.
            if before is None or before.poll() is not None:
                self._children[gpu.uuid] = self._start(gpu.uuid)
        self.readings = [self._answer(gpu, end) for gpu in self.readings]
        if (files := kept_files()[-16:]) != self._files:
            self._files, self.rates = files, _last_rates(files)
        return [f"link {one.pci_address} {one.in_words}" for one in self.readings]

    def close(self) -> None:
        """End the processes that still run."""
        for child in self._children.values():
            child.kill()

    def _answer(self, gpu: Reading, end: float) -> Reading:
        child = self._children[gpu.uuid]
        try:
            # Even if another one has used up the time: this one may have ended long ago.
            said, _ = child.communicate(timeout=max(0.5, end - time.monotonic()))
            return gpu.found(**{"reason": "", **json.loads(said)})
        except subprocess.TimeoutExpired:
            child.kill()
            return gpu.found(reason="timed_out", detail=f"no answer within {ROUND_S:g} s")
        except (ValueError, TypeError):
            return gpu.found(reason="crashed", detail=f"exit code {child.poll()} of its process")


def _last_rates(files: Sequence[Path]) -> dict[tuple[str, str], float]:
    """Give the rate of the largest copy, by UUID and test, of runs of which the last counts."""
    found: dict[tuple[str, str], float] = {}
    for file in files:
        with suppress(UsageError):
            run = read_run_file(file)
            for one in sorted(run.results, key=lambda one: one.bytes):
                if one.metric == "bandwidth" and one.median:
                    found[run.machine.device.uuid, one.test] = one.median
    return found


_OF_A_READING = {
    "read_at": ("read_timestamp_seconds", "Time of the last reading"),
    "generation": ("generation", "PCIe generation under load"),
    "generation_max": ("generation_max", "PCIe generation at most"),
    "width": ("width_lanes", "Lanes in use under load"),
    "width_max": ("width_max_lanes", "Lanes at most"),
    "downtrained": ("downtrained", "1 if the link is below a maximum under load"),
    "bytes_per_second": ("probe_bytes_per_second", "Rate of a copy of 1 MiB"),
    "link_seconds": ("probe_seconds", "Time of the last round's copies"),
    "replays": ("replays", "Packets sent again since the GPU's reset"),
}
_OF_A_RUN = {"host_to_device_memcpy_ce": "h2d", "device_to_host_memcpy_ce": "d2h"}


class Collector(NamedTuple):
    """What prometheus_client collects."""

    watch: LinkWatch

    def collect(self) -> Iterator[Any]:
        """Give all metrics of the last round."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        readings = [one for one in self.watch.readings if one.reason != "unread"]
        labels = ["gpu", "pci", "name", "emulated", "reason"]
        up = GaugeMetricFamily("isthmus_link_up", "1: the link was read; 0: why not", None, labels)
        for one in readings:
            same = [one.uuid, one.pci_address, one.name, str(one.emulated).lower()]
            up.add_metric([*same, one.reason], int(not one.reason))
        yield up
        for part, (name, text) in _OF_A_READING.items():
            family = CounterMetricFamily if part == "replays" else GaugeMetricFamily
            metric = family(f"isthmus_link_{name}", text, None, ["gpu"])
            for one in readings:
                if (value := getattr(one, part)) is not None:
                    metric.add_metric([one.uuid], value)
            yield metric
        name, text = "isthmus_link_run_bytes_per_second", "Rate of large copies in the last run"
        metric = GaugeMetricFamily(name, text, None, ["gpu", "direction"])
        known = {one.uuid for one in readings}
        for (gpu, test), rate in self.watch.rates.items():
            if test in _OF_A_RUN and gpu in known:
                metric.add_metric([gpu, _OF_A_RUN[test]], rate)
        yield metric


class Endpoint(ThreadingTCPServer):
    """Answers GET /metrics, and uses nothing of a request but its path."""

    allow_reuse_address = daemon_threads = True

    def __init__(self, host: str, port: int, text: Callable[[], bytes]) -> None:
        """Open the port, or raise UsageError; `serve_forever` answers with the text."""
        self.text = text
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Answer)
        except (OSError, OverflowError) as cause:
            why = f"can't listen at {host}:{port}: {cause}"
            raise UsageError(why, hint="choose another address with --listen") from None

    def handle_error(self, *_: object) -> None:
        """Say nothing: nobody fills the log by asking."""


class _Answer(BaseHTTPRequestHandler):
    server: Endpoint
    timeout = 10.0

    def do_GET(self) -> None:
        if self.path != "/metrics":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.server.text())

    def log_message(self, *_: object) -> None: ...
