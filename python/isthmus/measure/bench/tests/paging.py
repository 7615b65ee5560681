"""
The tests of suite `paging`: the ten programs of Zhang 2019, by each way in which data gets there.

A program's memory is what it allocates; a way is an axis of the results, and so is the size of a
paged array's unit. Only on request: the suite takes a minute.
"""

from dataclasses import dataclass
from enum import StrEnum

from isthmus.measure.bench.demand import MAX_MANAGED_BYTES, Demand, Footprint, StoppingRule
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import BenchTest, Suite, Variation
from isthmus.measure.run.programs import PROGRAMS, UNIT, WAY, Input, Program

USUAL_UNIT_BYTES = 1024
# Of Figure 5, as far as a paged array has them.
UNITS_BYTES = (256, 1024, 4096, 16384, 65536, 1 << 21)


class PagingWay(StrEnum):
    """How a program's data gets to the GPU."""

    IDEAL = "ideal"
    COPIES = "copies"
    PROGRAMMER = "programmer"
    UNITS = "units"
    READ_THROUGH = "read_through"
    PROMISED = "promised"
    PREFETCHED = "prefetched"
    PREFETCHED_FIRST = "prefetched_first"
    MANAGED = "managed"
    MANAGED_HINTS = "managed_hints"
    MANAGED_BATCHES = "managed_batches"
    ZERO_COPY = "zero_copy"


PAGED = frozenset(
    {
        PagingWay.UNITS,
        PagingWay.READ_THROUGH,
        PagingWay.PROMISED,
        PagingWay.PREFETCHED,
        PagingWay.PREFETCHED_FIRST,
    }
)
_MANAGED = frozenset({PagingWay.MANAGED, PagingWay.MANAGED_HINTS, PagingWay.MANAGED_BATCHES})


@dataclass(frozen=True, kw_only=True)
class PagingTest(BenchTest):
    """A program, run by each way."""

    program: Program
    loop: str = ""  # its program's run

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """List the ways, and the units of paged arrays; managed memory only if it is small."""
        size = self.input_on(emulated=demand.emulated).memory_bytes
        ways = [_variation(way) for way in PagingWay if way not in PAGED]
        if size > MAX_MANAGED_BYTES:
            ways = [one for one in ways if way_of(one) not in _MANAGED]
        ways += [_variation(way, USUAL_UNIT_BYTES) for way in PagingWay if way in PAGED]
        others = [unit for unit in UNITS_BYTES if unit != USUAL_UNIT_BYTES]
        if not demand.quick:
            ways += [_variation(PagingWay.UNITS, unit) for unit in others]
        return [(size, way) for way in ways]

    def input_on(self, *, emulated: bool) -> Input:
        """Give the input on a device."""
        return self.program.small if emulated else self.program.large

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count the memory that the host's run keeps, that of the way, and the device's."""
        del variation
        return Footprint(host_bytes=5 * size_bytes, device_bytes=size_bytes + size_bytes // 4)

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Weigh all ways alike; with the first, the host makes and runs the input, for seconds."""
        del size_bytes
        return 30.0 if way_of(variation) is PagingWay.IDEAL else 1.0

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Take a few samples: before each, all memory is made as it was."""
        del size_bytes, variation
        return StoppingRule(
            min_samples=2 if emulated else 5,
            max_samples=2 if emulated else 9,
            max_seconds=min(share_s, 0.4),
            relative_iqr=0.01,
        )

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Name the memory in which the program's data is before, and that which kernels access."""
        del metric
        if not variation.axes:  # several ways have several kinds
            return None, None
        way = way_of(variation)
        if way in _MANAGED:
            return "managed", "managed"
        in_place = way in {PagingWay.ZERO_COPY, PagingWay.READ_THROUGH}
        return "pinned", "pinned" if in_place else "device"


def _variation(way: PagingWay, unit_bytes: int | None = None) -> Variation:
    unit = () if unit_bytes is None else ((UNIT, unit_bytes),)
    return Variation(axes=((WAY, way.value), *unit))


def way_of(variation: Variation) -> PagingWay:
    """Give a point's way."""
    return PagingWay(str(dict(variation.axes)[WAY]))


def unit_of(variation: Variation) -> int:
    """Give the unit of a point's paged array, in bytes."""
    return int(dict(variation.axes).get(UNIT, USUAL_UNIT_BYTES))


PAGING_TESTS: tuple[PagingTest, ...] = tuple(
    PagingTest(
        name=program.test,
        about=f"{program.about}, by each way of getting its data (only on request)",
        suite=Suite.PAGING,
        metrics=(Metric.RUN,),
        direction=None,
        program=program,
    )
    for program in PROGRAMS
)
