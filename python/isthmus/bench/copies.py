"""
The tests of CUDA's own copies: one row each.

Names follow the field: `<source>_to_<target>_<operation>`, as in nvbandwidth.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from isthmus.bench.bench_test import PLAIN, BenchTest, Direction, Suite, Variation
from isthmus.bench.demand import Demand
from isthmus.bench.metrics import EVENT_METRICS, Metric
from isthmus.bench.stopping import StoppingRule
from isthmus.sizes import powers_of_two

SMALL_COPY_BYTES = 4
SWEEP = tuple(powers_of_two(4, 1 << 30))


class HostMemory(StrEnum):
    """How the host's side of a copy was allocated."""

    PINNED = "pinned"
    PAGEABLE = "pageable"


class Method(StrEnum):
    """How a small copy is made."""

    BLOCKING = "blocking"
    ASYNC = "async"


@dataclass(frozen=True, kw_only=True)
class CopyTest(BenchTest):
    """
    One way to copy with CUDA.

    A small copy reports every latency, some of them waived where they mean nothing: those are the
    native module's to know.

    Attributes:
        direction: Which way the bytes go.
        host_memory: How the host's buffer is allocated.
        blocked: A bandwidth's copies wait behind a gate until all are enqueued, so that submitting
            costs nothing. Pageable copies can't: the driver synchronises inside, and would wait
            for ever.
        method: How a small copy is made; None for bandwidth.
    """

    direction: Direction
    host_memory: HostMemory
    blocked: bool = False
    method: Method | None = None

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Sweep a bandwidth over sizes; a small copy has one of its own."""
        sizes = [SMALL_COPY_BYTES] if self.method else demand.sweep(SWEEP)
        return [(size, PLAIN) for size in sizes]

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Weigh each metric of a small copy apart, as it is sampled."""
        if self.method is None:
            return super().weight(size_bytes, variation)
        return 2.0 * sum(metric != Metric.EVENT_FLOOR for metric in self.metrics)

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Sample a small copy often: a 99th percentile needs a few hundred samples."""
        if self.method is None:
            return super().stopping(size_bytes, variation, share_s, emulated=emulated)
        return StoppingRule(
            min_samples=20 if emulated else 200,
            max_samples=2000,
            max_seconds=share_s / len(self.metrics),
            relative_iqr=0.005,
        )

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """Whose clock times a metric."""
        if metric == Metric.BANDWIDTH:
            return "device" if self.blocked else "host"
        return super().clock(metric)

    def behind_gate(self, metric: Metric) -> bool:
        """Whether a metric's copies are all enqueued before the first begins."""
        if metric == Metric.BANDWIDTH:
            return self.blocked
        return (
            metric in EVENT_METRICS
            and self.method == Method.ASYNC
            and self.host_memory == HostMemory.PINNED
        )

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end."""
        del metric
        return self.host_memory.value


_WORDS = {
    Direction.HOST_TO_DEVICE: ("host_to_device", "H2D"),
    Direction.DEVICE_TO_HOST: ("device_to_host", "D2H"),
}
_LATENCIES = (
    Metric.API_RETURN,
    Metric.COMPLETION,
    Metric.EVENT_DELTA,
    Metric.EVENT_FLOOR,
    Metric.RECIPROCAL_THROUGHPUT,
    Metric.VISIBLE,
)


def _bandwidth(direction: Direction, host_memory: HostMemory) -> CopyTest:
    name, label = _WORDS[direction]
    pinned = host_memory == HostMemory.PINNED
    how = "pinned memory, copy engine" if pinned else "pageable memory, staged by the driver"
    return CopyTest(
        name=f"{name}_memcpy_{'ce' if pinned else 'pageable'}",
        about=f"{label} bandwidth, {how}",
        direction=direction,
        host_memory=host_memory,
        suite=Suite.BANDWIDTH,
        metrics=(Metric.BANDWIDTH,),
        blocked=pinned,
    )


def _small_copy(direction: Direction, method: Method) -> CopyTest:
    name, label = _WORDS[direction]
    blocking = method == Method.BLOCKING
    how = (
        "blocking copy, pageable memory"
        if blocking
        else "async copy and stream sync, pinned memory"
    )
    return CopyTest(
        name=f"{name}_small_copy_{method}",
        about=f"{label} latency of 4 B, {how}",
        direction=direction,
        host_memory=HostMemory.PAGEABLE if blocking else HostMemory.PINNED,
        suite=Suite.LATENCY,
        metrics=_LATENCIES,
        method=method,
    )


COPY_TESTS: tuple[CopyTest, ...] = (
    *(_bandwidth(direction, memory) for memory in HostMemory for direction in Direction),
    *(_small_copy(direction, method) for direction in Direction for method in Method),
)
