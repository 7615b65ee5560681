"""
The tests that `isthmus bench` can run: one row each.

Names follow the field: `<source>_to_<target>_<operation>`, as in nvbandwidth.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Direction(StrEnum):
    """Which way the bytes go."""

    HOST_TO_DEVICE = "h2d"
    DEVICE_TO_HOST = "d2h"


class HostMemory(StrEnum):
    """How the host's side of a copy was allocated."""

    PINNED = "pinned"
    PAGEABLE = "pageable"


class Metric(StrEnum):
    """What a result says. Latency is several quantities with several names."""

    BANDWIDTH = "bandwidth"
    API_RETURN = "api_return"
    COMPLETION = "completion"
    EVENT_DELTA = "event_delta"
    EVENT_FLOOR = "event_floor"
    RECIPROCAL_THROUGHPUT = "reciprocal_throughput"
    VISIBLE = "visible"


METRIC_MEANING = {
    Metric.BANDWIDTH: "bytes over time: pinned by the GPU clock, back to back behind a gate; "
    "pageable by the CPU clock, one call and wait at a time",
    Metric.API_RETURN: "CPU clock, from the call to its return; the copy may still run",
    Metric.COMPLETION: "CPU clock, from the call until the copy is known to be done",
    Metric.EVENT_DELTA: "GPU clock, between an event before and one after the copy",
    Metric.EVENT_FLOOR: "GPU clock, between two events with nothing between them",
    Metric.RECIPROCAL_THROUGHPUT: "CPU clock, many copies back to back, divided by their number",
    Metric.VISIBLE: "CPU clock, until the other side reads the new bytes and that is known here",
}


# By the GPU clock. Two events with nothing, or next to nothing, between them may read the same.
EVENT_METRICS = frozenset({Metric.EVENT_DELTA, Metric.EVENT_FLOOR})


class Method(StrEnum):
    """How a small copy is made."""

    BLOCKING = "blocking"
    ASYNC = "async"


@dataclass(frozen=True, kw_only=True)
class BenchTest:
    """
    One test.

    Attributes:
        name: What `-t` takes.
        about: One line for `--list`.
        direction: Which way the bytes go.
        host_memory: How the host's buffer is allocated.
        metrics: What it reports, in order. A small copy reports every latency, some of them waived
            where they mean nothing: those are the native module's to know.
        blocked: A bandwidth's copies wait behind a gate until all are enqueued, so that submitting
            costs nothing. Pageable copies can't: the driver synchronises inside, and would wait
            for ever.
        method: How a small copy is made; None for bandwidth.
    """

    name: str
    about: str
    direction: Direction
    host_memory: HostMemory
    metrics: tuple[Metric, ...]
    blocked: bool = False
    method: Method | None = None

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """Whose clock times a metric."""
        if metric == Metric.BANDWIDTH:
            return "device" if self.blocked else "host"
        return "device" if metric in EVENT_METRICS else "host"

    def behind_gate(self, metric: Metric) -> bool:
        """Whether a metric's copies are all enqueued before the first begins."""
        if metric == Metric.BANDWIDTH:
            return self.blocked
        return (
            metric in EVENT_METRICS
            and self.method == Method.ASYNC
            and self.host_memory == HostMemory.PINNED
        )

    @property
    def source(self) -> str:
        """The kind of memory that is read."""
        return self.host_memory.value if self.direction == Direction.HOST_TO_DEVICE else "device"

    @property
    def target(self) -> str:
        """The kind of memory that is written."""
        return "device" if self.direction == Direction.HOST_TO_DEVICE else self.host_memory.value


_WORDS = {
    Direction.HOST_TO_DEVICE: ("host_to_device", "H2D"),
    Direction.DEVICE_TO_HOST: ("device_to_host", "D2H"),
}
_LATENCIES = tuple(metric for metric in Metric if metric != Metric.BANDWIDTH)


def _bandwidth(direction: Direction, host_memory: HostMemory) -> BenchTest:
    name, label = _WORDS[direction]
    pinned = host_memory == HostMemory.PINNED
    how = "pinned memory, copy engine" if pinned else "pageable memory, staged by the driver"
    return BenchTest(
        name=f"{name}_memcpy_{'ce' if pinned else 'pageable'}",
        about=f"{label} bandwidth, {how}",
        direction=direction,
        host_memory=host_memory,
        metrics=(Metric.BANDWIDTH,),
        blocked=pinned,
    )


def _small_copy(direction: Direction, method: Method) -> BenchTest:
    name, label = _WORDS[direction]
    blocking = method == Method.BLOCKING
    how = (
        "blocking copy, pageable memory"
        if blocking
        else "async copy and stream sync, pinned memory"
    )
    return BenchTest(
        name=f"{name}_small_copy_{method}",
        about=f"{label} latency of 4 B, {how}",
        direction=direction,
        host_memory=HostMemory.PAGEABLE if blocking else HostMemory.PINNED,
        metrics=_LATENCIES,
        method=method,
    )


TESTS: tuple[BenchTest, ...] = (
    *(_bandwidth(direction, memory) for memory in HostMemory for direction in Direction),
    *(_small_copy(direction, method) for direction in Direction for method in Method),
)
BY_NAME = {test.name: test for test in TESTS}
