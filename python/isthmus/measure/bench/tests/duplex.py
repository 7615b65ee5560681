"""
The tests of both directions at once.

`..._bidirectional_memcpy_ce` is nvbandwidth's: one direction's bandwidth while the other is busy.
`duplex_memcpy_ce` is the total of both directions: the two questions have separate numbers.
"""

from dataclasses import dataclass
from typing import Literal

from isthmus.measure.bench.demand import Demand, Footprint
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import PLAIN, Direction, Suite, Variation
from isthmus.measure.bench.tests.gated import GatedTest
from isthmus.measure.run.naming import Kind, directed_name

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
