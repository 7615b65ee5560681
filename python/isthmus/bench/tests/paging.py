"""
The tests of suite `paging`: the ten programs of Zhang 2019, by each way in which data gets there.

A program's memory is what it allocates; a way is an axis of the results, and so is the size of a
paged array's unit. Only on request: the suite takes a minute.
"""

from dataclasses import dataclass
from enum import StrEnum

from isthmus.bench.demand import MAX_MANAGED_BYTES, Demand, Footprint
from isthmus.bench.metrics import Metric
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests.bench_test import BenchTest, Suite, Variation

WAY, UNIT = "way", "unit"
USUAL_UNIT_BYTES = 1024
# Of Figure 5, as far as a paged array has them.
UNITS_BYTES = (256, 1024, 4096, 16384, 65536)


class PagingWay(StrEnum):
    """How a program's data gets to the GPU."""

    IDEAL = "ideal"
    COPIES = "copies"
    PROGRAMMER = "programmer"
    WHOLE_PAGE = "whole_page"
    SINGLE_RANGE = "single_range"
    RANGES = "ranges"
    UNITS = "units"
    READ_THROUGH = "read_through"
    MANAGED = "managed"
    MANAGED_HINTS = "managed_hints"
    ZERO_COPY = "zero_copy"


POLICIES = frozenset(
    {
        PagingWay.WHOLE_PAGE,
        PagingWay.SINGLE_RANGE,
        PagingWay.RANGES,
        PagingWay.UNITS,
        PagingWay.READ_THROUGH,
    }
)
_MANAGED = frozenset({PagingWay.MANAGED, PagingWay.MANAGED_HINTS})
Sizes = tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class PagingTest(BenchTest):
    """
    A program, run by each way.

    Attributes:
        workload: Its name, as `isthmus sim list` has it.
        sizes: Of its input, so that computing and copying take about as long where they can.
        memory_bytes: What it then allocates.
        small_sizes: Of its input on an emulated device, which runs one thread after the other.
        small_bytes: What it then allocates.
    """

    workload: str
    sizes: Sizes
    memory_bytes: int
    small_sizes: Sizes
    small_bytes: int

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """List the ways, and the units of paged arrays; managed memory only if it is small."""
        size = self.small_bytes if demand.emulated else self.memory_bytes
        ways = [_variation(way) for way in PagingWay if way not in POLICIES]
        if size > MAX_MANAGED_BYTES:
            ways = [one for one in ways if way_of(one) not in _MANAGED]
        ways += [_variation(way, USUAL_UNIT_BYTES) for way in PagingWay if way in POLICIES]
        others = [unit for unit in UNITS_BYTES if unit != USUAL_UNIT_BYTES]
        if not demand.quick:
            both = (PagingWay.UNITS, PagingWay.RANGES)
            ways += [_variation(way, unit) for way in both for unit in others]
        return [(size, way) for way in ways]

    def sizes_on(self, *, emulated: bool) -> Sizes:
        """Give the sizes of the input on a device."""
        return self.small_sizes if emulated else self.sizes

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Count the memory that the host's run keeps, that of the way, and the device's."""
        del variation
        return Footprint(host_bytes=5 * size_bytes, device_bytes=size_bytes + size_bytes // 4)

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Weigh all points alike: each takes some tens of milliseconds a sample."""
        del size_bytes, variation
        return 1.0

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


def _test(
    name: str,
    about: str,
    workload: str,
    large: tuple[int, Sizes],
    small: tuple[int, Sizes],
) -> PagingTest:
    return PagingTest(
        name=f"paging_{name}",
        about=f"{about}, by 11 ways of getting its data (only on request)",
        suite=Suite.PAGING,
        metrics=(Metric.RUN,),
        direction=None,
        workload=workload,
        sizes=large[1],
        memory_bytes=large[0],
        small_sizes=small[1],
        small_bytes=small[0],
    )


# docs/bench.md says why these sizes. cp, lib and ray copy nothing to the GPU; nn, sto and lib compute
# so much for each byte that no size balances them.
PAGING_TESTS: tuple[PagingTest, ...] = (
    _test(
        "bfs",
        "breadth-first search",
        "bfs",
        (96_469_248, (("nodes", 1 << 21), ("edges", 8))),
        (61_696, (("nodes", 2048), ("edges", 4))),
    ),
    _test(
        "mum",
        "DNA in a suffix tree",
        "mum-1400k",
        (160_201_472, (("letters", 1_400_000), ("reads", 1_000_000))),
        (4_563_712, (("letters", 1000), ("reads", 500))),
    ),
    _test("nn", "a convolutional network", "nn", (3_109_376, (("digits", 200),)), (550_144, (("digits", 1),))),
    _test(
        "cp",
        "a Coulomb potential",
        "cp",
        (16_777_216, (("size", 2048), ("atoms", 200))),
        (16_384, (("size", 64), ("atoms", 5))),
    ),
    _test("lps", "a step of Laplace's equation", "lps", (262_144_000, (("size", 320),)), (64_000, (("size", 20),))),
    _test("lib", "Monte Carlo of rates", "lib", (524_288, (("paths", 65536),)), (512, (("paths", 64),))),
    _test(
        "wp",
        "the water of a weather model",
        "wp",
        (149_422_080, (("columns", 512), ("rows", 256))),
        (72_960, (("columns", 8), ("rows", 8))),
    ),
    _test("aes", "AES-128", "aes", (134_217_984, (("bytes", 64 << 20),)), (33_024, (("bytes", 16384),))),
    _test(
        "ray",
        "a ray-traced picture",
        "ray",
        (4_194_304, (("size", 1024), ("spheres", 32))),
        (4_194_304, (("size", 32), ("spheres", 4))),
    ),
    _test("sto", "SHA-1 of a window", "sto", (67_109_120, (("windows", 1 << 23),)), (8_448, (("windows", 1024),))),
)
