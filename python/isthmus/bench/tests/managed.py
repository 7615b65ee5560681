"""The tests of managed memory, which nobody copies: it moves, or is reached where it is."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from isthmus.bench.demand import MAX_MANAGED_BYTES, Demand, Footprint
from isthmus.bench.metrics import Metric
from isthmus.bench.tests.bench_test import PLAIN, BenchTest, Direction, Suite, Variation
from isthmus.run.naming import Kind, directed_name

_MIB = 1 << 20
_SIZES = (_MIB, 16 * _MIB, 128 * _MIB, 512 * _MIB)
_QUICK = (16 * _MIB,)
_PAGE_BYTES = 4096
_FAULT_STRIDE_BYTES = 2 * _MIB


class ManagedWay(StrEnum):
    """What brings managed memory to the side that wants it."""

    DEMAND = "demand"
    PREFETCHED = "prefetched"
    ADVISED = "advised"


@dataclass(frozen=True, kw_only=True)
class ManagedTest(BenchTest):
    """
    Managed memory in one direction.

    Measured only where it is asked for: migrations hold up everything else on the device.

    Attributes:
        direction: Which way the bytes go.
        way: What brings them.
    """

    direction: Direction
    way: ManagedWay

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Take a few sizes, half a GiB at most."""
        if not demand.managed:
            return []
        wanted = demand.sizes or (_QUICK if demand.quick else _SIZES)
        max_bytes = min(MAX_MANAGED_BYTES, demand.limits.largest_bytes)
        return [(size, PLAIN) for size in wanted if size <= max_bytes]

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Weigh the side that has them writing the bytes anew before each sample."""
        return 4 * super().weight(size_bytes, variation)

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end."""
        del metric
        return "managed"


@dataclass(frozen=True, kw_only=True)
class PageFaultTest(BenchTest):
    """
    One page after the other, fetched by the side that touches it; where it was asked for.

    Attributes:
        num_pages: Of a round, each 2 MiB from the next.
    """

    num_pages: int = 32

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Have one point: a page is a page."""
        return [(_PAGE_BYTES, PLAIN)] if demand.managed else []

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Have the pages, and what lies between them."""
        del size_bytes, variation
        all_bytes = self.num_pages * _FAULT_STRIDE_BYTES
        return Footprint(host_bytes=all_bytes, device_bytes=all_bytes)

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """Time each side by its own clock."""
        return "device" if metric == Metric.DEVICE_FAULT else "host"

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Say who gets the page."""
        del variation
        return "managed", "device" if metric == Metric.DEVICE_FAULT else "host"


_ABOUT = {
    (ManagedWay.DEMAND, Direction.HOST_TO_DEVICE): "pages move when a kernel reads them",
    (ManagedWay.DEMAND, Direction.DEVICE_TO_HOST): "pages move when the CPU loads from them",
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
    )


MANAGED_TESTS: tuple[ManagedTest, ...] = tuple(
    _managed(way, direction) for way in ManagedWay for direction in Direction
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
