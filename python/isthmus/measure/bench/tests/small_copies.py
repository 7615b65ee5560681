"""
The tests of small copies: every way to make one, with every metric; and of a kernel's load from
host memory.

Sizes are 1 B to 64 KiB: for larger copies, the bandwidth says more.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from isthmus.measure.bench.demand import Demand, Footprint, HostMemory, StoppingRule
from isthmus.measure.bench.metrics import EVENT_METRICS, Metric
from isthmus.measure.bench.tests.bench_test import PLAIN, BenchTest, Direction, Suite, Variation
from isthmus.measure.run.naming import Kind, directed_name

SMALL_COPY_BYTES = 4
LARGEST_BYTES = 64 << 10
_SIZES = (1, 4, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, LARGEST_BYTES)
_COLD_SIZES = (SMALL_COPY_BYTES, 4 << 10, LARGEST_BYTES)
_COLD = Variation(cpu_cache="cold")
# The native module keeps its device buffer in a piece of memory of its own.
_BUFFER_BYTES = 2 << 20


class Method(StrEnum):
    """How a small copy is made."""

    BLOCKING = "blocking"
    ASYNC = "async"
    BATCH = "batch"
    GRAPH = "graph"
    KERNEL = "kernel"
    WINDOW = "window"


_IN_STREAM = frozenset({Method.ASYNC, Method.BATCH, Method.GRAPH, Method.KERNEL})
# A batch and a graph use the same engine as async copies: cold bytes would show nothing new.
_WORTH_COLD = frozenset({Method.BLOCKING, Method.ASYNC, Method.KERNEL, Method.WINDOW})


@dataclass(frozen=True, kw_only=True)
class SmallCopyTest(BenchTest):
    """
    One way to make a small copy. It reports every metric; the native module waives those that have
    no meaning for it.
    """

    direction: Direction
    method: Method
    loop: str = "small_copies"

    @property
    def host_memory(self) -> HostMemory:
        """How the host's buffer is allocated: as in programs that copy in this way."""
        return HostMemory.PAGEABLE if self.method == Method.BLOCKING else HostMemory.PINNED

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Give the host's kind of memory."""
        del size_bytes, variation
        return {"host_memory": self.host_memory}

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Sweep over small sizes; of those requested, use the small ones, or 4 B."""
        if demand.sizes is not None:
            wanted = [size for size in demand.sizes if size <= LARGEST_BYTES]
            return [(size, PLAIN) for size in wanted or [SMALL_COPY_BYTES]]
        if demand.quick:
            return [(SMALL_COPY_BYTES, PLAIN)]
        cold = _COLD_SIZES if self.method in _WORTH_COLD else ()
        return [(size, PLAIN) for size in _SIZES] + [(size, _COLD) for size in cold]

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Give the memory of one point: buffers are shared by all sizes."""
        del size_bytes, variation
        return Footprint(host_bytes=_BUFFER_BYTES, device_bytes=_BUFFER_BYTES)

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Use a small weight: thousands of small copies take a tenth of a second."""
        del size_bytes, variation
        return 0.5

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Take many samples: a 99th percentile needs a hundred or more."""
        del size_bytes, variation
        return StoppingRule(
            min_samples=5 if emulated else 100,
            max_samples=2000,
            max_seconds=share_s / len(self.metrics),
            relative_iqr=0.005,
        )

    def behind_gate(self, metric: Metric) -> bool:
        """Whether a metric's copies are all enqueued before the first begins."""
        return metric in EVENT_METRICS and self.method in _IN_STREAM

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end, as the copier sees it."""
        del metric
        return "mapped" if self.method == Method.KERNEL else self.host_memory.value


_LATENCIES = (
    Metric.API_RETURN,
    Metric.COMPLETION,
    Metric.EVENT_DELTA,
    Metric.EVENT_FLOOR,
    Metric.RECIPROCAL_THROUGHPUT,
    Metric.VISIBLE,
)
# The end of a test's name, and its description.
_WAYS = {
    Method.BLOCKING: ("blocking", "blocking copy, pageable memory"),
    Method.ASYNC: ("async", "async copy and stream sync, pinned memory"),
    Method.BATCH: ("batch", "cuMemcpyBatchAsync of one entry, pinned memory"),
    Method.GRAPH: ("graph", "launch of a graph with one memcpy node, pinned memory"),
    Method.KERNEL: ("sm", "a kernel that reads or writes pinned memory"),
    Method.WINDOW: ("window", "the CPU's own stores or loads through a window"),
}


def _small_copy(direction: Direction, method: Method) -> SmallCopyTest:
    way, how = _WAYS[method]
    return SmallCopyTest(
        name=directed_name(direction, Kind.SMALL_COPY, way),
        about=f"{direction.label} latency of 1 B to 64 KiB, {how}",
        direction=direction,
        suite=Suite.LATENCY,
        metrics=_LATENCIES,
        method=method,
    )


SMALL_COPY_TESTS: tuple[SmallCopyTest, ...] = tuple(
    _small_copy(direction, method) for direction in Direction for method in Method
)

_MIB = 1 << 20
# The size of nvbandwidth's test of this name.
_CHAIN_BYTES = 2 * _MIB
# More than a GPU's first translation buffers cover.
_LONG_CHAIN_BYTES = 16 * _MIB
_RANDOM = Variation(axes=(("order", "random"),))


@dataclass(frozen=True, kw_only=True)
class PointerChaseTest(BenchTest):
    """A chain of pointers in host memory that a kernel follows, in order or in random order."""

    loop: str = "pointer_chase"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Follow the lines in order as nvbandwidth does, then in random order."""
        points = [(_CHAIN_BYTES, PLAIN), (_CHAIN_BYTES, _RANDOM)]
        return points if demand.quick else [*points, (_LONG_CHAIN_BYTES, _RANDOM)]

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Say in which order lines are visited."""
        del size_bytes
        return {"order": dict(variation.axes).get("order", "strided")}

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count the chain on the host, and almost nothing on the device."""
        del variation
        return Footprint(host_bytes=size_bytes)

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """Time a round by events: it takes milliseconds."""
        del metric
        return "device"

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory that the chain is in."""
        del metric
        return "mapped"


POINTER_CHASE_TESTS: tuple[PointerChaseTest, ...] = (
    PointerChaseTest(
        name="host_device_latency_sm",
        about="latency of a load of host memory by a kernel that follows pointers",
        suite=Suite.LATENCY,
        metrics=(Metric.ACCESS_LATENCY,),
        direction=Direction.HOST_TO_DEVICE,
    ),
)
