"""The tests of managed memory, which is not copied: it moves, or is accessed in place."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from isthmus.measure.bench.demand import MAX_MANAGED_BYTES, Demand, Footprint
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import PLAIN, BenchTest, Direction, Suite, Variation
from isthmus.measure.run.naming import Kind, directed_name

_MIB = 1 << 20
_SIZES = (_MIB, 16 * _MIB, 128 * _MIB, 512 * _MIB)
_QUICK = (16 * _MIB,)
# Of the room for half of them, drivers need some MiB themselves.
_THRASHING_SIZES = (128 * _MIB, 512 * _MIB)
_THRASHING_QUICK = (128 * _MIB,)
_MIN_THRASHING_BYTES = 16 * _MIB
_PAGE_BYTES = 4096
_FAULT_STRIDE_BYTES = 2 * _MIB


class ManagedWay(StrEnum):
    """What moves managed memory to the side that needs it."""

    DEMAND = "demand"
    DEMAND_RANDOM = "demand_random"
    THRASHING = "thrashing"
    THRASHING_RANDOM = "thrashing_random"
    PREFETCHED = "prefetched"
    ADVISED = "advised"


_THRASHING = {ManagedWay.THRASHING, ManagedWay.THRASHING_RANDOM}
"""Those for which there is room for half of the memory."""


@dataclass(frozen=True, kw_only=True)
class ManagedTest(BenchTest):
    """
    Managed memory in one direction. Measured only on request: migrations delay everything else on
    the device.
    """

    direction: Direction
    way: ManagedWay
    loop: str = "managed"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Choose a few sizes, half a GiB at most."""
        if not demand.managed:
            return []
        thrashes = self.way in _THRASHING
        sizes, quick = (_THRASHING_SIZES, _THRASHING_QUICK) if thrashes else (_SIZES, _QUICK)
        wanted = demand.sizes or (quick if demand.quick else sizes)
        min_bytes = _MIN_THRASHING_BYTES if thrashes else 1
        max_bytes = min(MAX_MANAGED_BYTES, demand.limits.largest_bytes)
        return [(size, PLAIN) for size in wanted if min_bytes <= size <= max_bytes]

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Include the writing of new bytes on the other side before each sample."""
        return 4 * super().weight(size_bytes, variation)

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end."""
        del metric
        return "managed"


@dataclass(frozen=True, kw_only=True)
class PageFaultTest(BenchTest):
    """
    One page after the other, fetched by the side that touches it; only on request.

    Attributes:
        num_pages: The pages of a round, 2 MiB apart.
    """

    num_pages: int = 32
    loop: str = "page_faults"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Have one point: there is only one page size."""
        return [(_PAGE_BYTES, PLAIN)] if demand.managed else []

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count the pages, and the memory between them."""
        del size_bytes, variation
        all_bytes = self.num_pages * _FAULT_STRIDE_BYTES
        return Footprint(host_bytes=all_bytes, device_bytes=all_bytes)

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """Time each side by its own clock."""
        return "device" if metric == Metric.DEVICE_FAULT else "host"

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Name the side that gets the page."""
        del variation
        return "managed", "device" if metric == Metric.DEVICE_FAULT else "host"


_ABOUT = {
    (ManagedWay.DEMAND, Direction.HOST_TO_DEVICE): "pages move when a kernel reads them",
    (ManagedWay.DEMAND, Direction.DEVICE_TO_HOST): "pages move when the CPU loads from them",
    (ManagedWay.DEMAND_RANDOM, Direction.HOST_TO_DEVICE): (
        "pages move when a kernel reads them in a random order"
    ),
    (ManagedWay.THRASHING, Direction.HOST_TO_DEVICE): (
        "a kernel reads them again, with room for half of them; fills the device's memory"
    ),
    (ManagedWay.THRASHING_RANDOM, Direction.HOST_TO_DEVICE): (
        "a kernel reads them again in a random order, with room for half of them; fills the "
        "device's memory"
    ),
    (ManagedWay.PREFETCHED, Direction.HOST_TO_DEVICE): "prefetched to the device",
    (ManagedWay.PREFETCHED, Direction.DEVICE_TO_HOST): "prefetched to the host",
    (ManagedWay.ADVISED, Direction.HOST_TO_DEVICE): "advised to stay on the host, read by a kernel",
    (ManagedWay.ADVISED, Direction.DEVICE_TO_HOST): (
        "advised to stay on the host, written by a kernel"
    ),
}


def _managed(way: ManagedWay, direction: Direction) -> ManagedTest:
    return ManagedTest(
        name=directed_name(direction, Kind.MANAGED, way),
        about=f"{direction.label} bandwidth, managed memory, {_ABOUT[way, direction]} (--managed)",
        suite=Suite.BANDWIDTH,
        metrics=(Metric.BANDWIDTH,),
        direction=direction,
        way=way,
        only_by_name=way in _THRASHING,
    )


MANAGED_TESTS: tuple[ManagedTest, ...] = tuple(
    _managed(way, direction) for way, direction in _ABOUT
)
PAGE_FAULT_TESTS: tuple[PageFaultTest, ...] = (
    PageFaultTest(
        name="managed_page_fault",
        about="latency of a fault, managed memory, by the device and by the host (--managed)",
        suite=Suite.LATENCY,
        metrics=(Metric.DEVICE_FAULT, Metric.HOST_FAULT),
        direction=None,
    ),
)
