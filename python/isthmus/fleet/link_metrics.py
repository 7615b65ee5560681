"""The readings of a node for Prometheus: as text, and by HTTP. What isn't known has no metric."""

import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, NamedTuple

from isthmus.errors import UsageError
from isthmus.fleet.link_watch import LinkWatch

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
