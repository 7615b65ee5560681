"""
The tests of CUDA's own copies, one row each, and of both directions at once.

Names are like nvbandwidth's: `<source>_to_<target>_<operation>`.

`..._bidirectional_memcpy_ce` is nvbandwidth's: one direction's bandwidth while the other is busy.
`duplex_memcpy_ce` is the total of both directions: the two questions have separate numbers.
"""

from dataclasses import dataclass
from typing import Literal

from isthmus.ground.sizes import powers_of_two
from isthmus.measure.bench.demand import (
    BufferKinds,
    Contents,
    Demand,
    DeviceMemory,
    Footprint,
    HostMemory,
)
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import PLAIN, BenchTest, Direction, Suite, Variation
from isthmus.measure.run.naming import Kind, directed_name


@dataclass(frozen=True, kw_only=True)
class GatedTest(BenchTest):
    """Copies of pinned memory that all begin behind a gate, timed by the GPU's clock."""

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """Whose clock times a metric."""
        del metric
        return "device"

    def behind_gate(self, metric: Metric) -> bool:
        """Whether a metric's copies are all enqueued before the first begins."""
        del metric
        return True

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end."""
        del metric
        return "pinned"

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count a pair of buffers."""
        del variation
        return Footprint(host_bytes=size_bytes, device_bytes=size_bytes)


SWEEP = tuple(powers_of_two(4, 1 << 30))
_MAX_QUICK_BYTES = 64 << 20
_HUGE_PAGE_BYTES = 2 << 20
_MIN_HUGE_PAGES = 2  # as the native module has them: one doesn't show whether it is huge


@dataclass(frozen=True, kw_only=True)
class CopyTest(BenchTest):
    """
    One way to copy with CUDA.

    Attributes:
        blocked: A bandwidth's copies wait behind a gate until all are enqueued, so that the time
            of submitting doesn't count. Pageable copies can't wait: the driver synchronises
            internally, and would wait for ever.
        by_kernel: A kernel copies instead of a copy engine, and accesses mapped host memory.
        sizes: The sizes of its sweep, in bytes, ascending.
        quick_sizes: The same in a quick run; None for two of pinned memory's sizes.
        circumstances: The circumstances in which each size is measured. Axes may name "contents",
            "host_offset" and "device_offset".
    """

    direction: Direction
    host_memory: HostMemory
    blocked: bool = False
    device_memory: DeviceMemory = DeviceMemory.DEVICE
    by_kernel: bool = False
    loop: str = "copies"
    sizes: tuple[int, ...] = SWEEP
    quick_sizes: tuple[int, ...] | None = None
    circumstances: tuple[Variation, ...] = (PLAIN,)

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Sweep over sizes, in each of the circumstances."""
        sizes = self._sizes(demand)
        return [(size, variation) for variation in self.circumstances for size in sizes]

    def _sizes(self, demand: Demand) -> list[int]:
        if not demand.quick or demand.sizes is not None or self.sizes == SWEEP:
            return demand.sweep(self.sizes)
        if self.quick_sizes is not None:
            wanted = [min(size, demand.quick_bytes) for size in self.quick_sizes]
            return [size for size in wanted if size <= demand.limits.largest_bytes]
        return [size for size in demand.sweep(SWEEP) if size <= _MAX_QUICK_BYTES][-2:]

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Name what moves the bytes."""
        del size_bytes, variation
        return {"by": "multiprocessors" if self.by_kernel else "copy_engine"}

    def buffers(self, variation: Variation) -> BufferKinds:
        """Give the kinds of memory on both sides, and their layout."""
        axes = dict(variation.axes)
        return BufferKinds(
            host_memory=self.host_memory,
            device_memory=self.device_memory,
            contents=Contents(str(axes.get("contents", Contents.RANDOM))),
            host_offset_bytes=_bytes_of(axes.get("host_offset")),
            device_offset_bytes=_bytes_of(axes.get("device_offset")),
        )

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count offsets and whole huge pages in addition to the copied bytes."""
        kinds = self.buffers(variation)
        host_bytes = size_bytes + kinds.host_offset_bytes
        if kinds.host_memory == HostMemory.HUGE_PINNED:
            num_pages = max(_MIN_HUGE_PAGES, -(-host_bytes // _HUGE_PAGE_BYTES))
            host_bytes = num_pages * _HUGE_PAGE_BYTES
        return Footprint(host_bytes=host_bytes, device_bytes=size_bytes + kinds.device_offset_bytes)

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """Whose clock times a metric."""
        del metric
        return "device" if self.blocked else "host"

    def behind_gate(self, metric: Metric) -> bool:
        """Whether a metric's copies are all enqueued before the first begins."""
        del metric
        return self.blocked

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Give the kinds of memory that are read and written."""
        ends = super().ends(metric, variation)
        source, target = (self.device_memory.value if end == "device" else end for end in ends)
        return source, target

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end, as the copier sees it."""
        del metric
        return "mapped" if self.by_kernel else self.host_memory.value


def _bytes_of(offset: str | int | None) -> int:
    """Read the number of "64 B"; 0 without."""
    return int(str(offset).partition(" ")[0]) if offset is not None else 0


def _bandwidth(direction: Direction, host_memory: HostMemory) -> CopyTest:
    pinned = host_memory == HostMemory.PINNED
    how = "pinned memory, copy engine" if pinned else "pageable memory, staged by the driver"
    return CopyTest(
        name=directed_name(direction, Kind.MEMCPY, "ce" if pinned else "pageable"),
        about=f"{direction.label} bandwidth, {how}",
        direction=direction,
        host_memory=host_memory,
        suite=Suite.BANDWIDTH,
        metrics=(Metric.BANDWIDTH,),
        blocked=pinned,
    )


COPY_TESTS: tuple[CopyTest, ...] = (
    *(
        _bandwidth(direction, memory)
        for memory in (HostMemory.PINNED, HostMemory.PAGEABLE)
        for direction in Direction
    ),
)

_MIB = 1 << 20
_SIZES = (_MIB, 16 * _MIB, 256 * _MIB)
_ONE_SIZE = (64 * _MIB,)
_DUPLEX = (Metric.DUPLEX_TOTAL, Metric.DUPLEX_H2D, Metric.DUPLEX_D2H)


@dataclass(frozen=True, kw_only=True)
class DuplexTest(GatedTest):
    """
    Copies in both directions between two pairs of buffers.

    Attributes:
        direction: The direction that is timed while the other is busy; None times both together.
    """

    by_kernel: bool = False
    loop: str = "copies_under_load"

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Name what moves the bytes."""
        del size_bytes, variation
        return {"by": "multiprocessors" if self.by_kernel else "copy_engine"}

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Choose a few sizes; for kernels, one above which bandwidth no longer grows."""
        usual = _ONE_SIZE if self.by_kernel else _SIZES
        wanted = demand.sizes or ((demand.quick_bytes,) if demand.quick else usual)
        return [(size, PLAIN) for size in wanted]

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count two pairs of buffers: directions that share one would disturb each other."""
        del variation
        return Footprint(host_bytes=2 * size_bytes, device_bytes=2 * size_bytes)

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Include the copies in the other direction, of which there are twice as many."""
        return 2 * super().weight(size_bytes, variation)

    def unit(self, metric: Metric) -> Literal["B/s", "s", "B", "1"]:
        """Give a metric's unit."""
        del metric
        return "B/s"

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Give the kinds of memory that are read and written; none for both directions."""
        if metric == Metric.DUPLEX_H2D:
            return ("pinned", "device")
        if metric == Metric.DUPLEX_D2H:
            return ("device", "pinned")
        return super().ends(metric, variation)


def _loaded(direction: Direction, *, by_kernel: bool) -> DuplexTest:
    label, other = direction.label, direction.opposite.label
    engine = "a kernel" if by_kernel else "copy engine"
    return DuplexTest(
        name=directed_name(direction, Kind.BIDIRECTIONAL, "sm" if by_kernel else "ce"),
        about=f"{label} bandwidth while {other} is busy, pinned memory, {engine}",
        suite=Suite.BANDWIDTH,
        metrics=(Metric.BANDWIDTH,),
        direction=direction,
        by_kernel=by_kernel,
    )


DUPLEX_TESTS: tuple[DuplexTest, ...] = (
    *(_loaded(direction, by_kernel=False) for direction in Direction),
    *(_loaded(direction, by_kernel=True) for direction in Direction),
    DuplexTest(
        name="duplex_memcpy_ce",
        about="both directions at once: together and each, over the common window, pinned memory",
        suite=Suite.BANDWIDTH,
        metrics=_DUPLEX,
        loop="duplex",
        direction=None,
    ),
)
