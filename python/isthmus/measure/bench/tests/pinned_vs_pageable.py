"""
The tests of suite `pinned_vs_pageable`: large copies, with host memory allocated anew each time.

The speed of pageable memory depends on the pages that the system provides; only several allocations
show that.
"""

from dataclasses import dataclass

from isthmus.measure.bench.demand import Demand
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.stopping import StoppingRule
from isthmus.measure.bench.tests.bench_test import BenchTest, Direction, Suite, Variation
from isthmus.measure.run.break_even import MEMORY
from isthmus.measure.run.naming import Kind, directed_name

MEMORIES = ("pageable", "pinned")
_MIB = 1 << 20
# The experiment's own sizes are 160 to 3040 MiB in steps of 160; four sizes are enough.
_EMULATED_BYTES = 32 * _MIB
_SWEEP = (160 * _MIB, 640 * _MIB, 1600 * _MIB, 3040 * _MIB)


@dataclass(frozen=True, kw_only=True)
class LargeCopyTest(BenchTest):
    """Large copies in one direction, from or to both kinds of host memory."""

    direction: Direction
    loop: str = "memory_life"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Pair sizes with both kinds of memory, one after the other."""
        sweep = (_EMULATED_BYTES,) if demand.emulated else _SWEEP
        fitting = [size for size in sweep if size <= demand.limits.largest_bytes]
        quick = fitting[:1] if demand.quick else fitting
        sizes = quick if demand.sizes is None else demand.sizes
        return [
            (size, Variation(axes=((MEMORY, memory),))) for size in sizes for memory in MEMORIES
        ]

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Weigh them as a few copies: most of their time goes to allocating anew."""
        del variation
        return 1.0 + size_bytes / (64 * _MIB)

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Allocate anew at least three times: each time is a sample of the spread."""
        del size_bytes, variation
        return StoppingRule(
            min_samples=1 if emulated else 3,
            max_samples=20,
            max_seconds=share_s,
            relative_iqr=0.0,
        )

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Give the kinds of memory that are read and written."""
        del metric
        host = str(dict(variation.axes).get(MEMORY, "pageable"))
        return (host, "device") if self.direction == Direction.HOST_TO_DEVICE else ("device", host)


PINNED_VS_PAGEABLE_TESTS: tuple[LargeCopyTest, ...] = tuple(
    LargeCopyTest(
        name=directed_name(direction, Kind.PINNED_VS_PAGEABLE),
        about=f"{direction.label} bandwidth of large buffers, pinned beside pageable, "
        "allocated anew",
        suite=Suite.PINNED_VS_PAGEABLE,
        metrics=(Metric.BANDWIDTH,),
        derived=(Metric.PINNED_GAIN,),
        direction=direction,
    )
    for direction in Direction
)
