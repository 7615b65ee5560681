"""The test of suite `alloc` that shows when pinning pays off: the lifetime of host memory."""

from dataclasses import dataclass

from isthmus.ground.sizes import powers_of_two
from isthmus.measure.bench.demand import Demand
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.stopping import StoppingRule
from isthmus.measure.bench.tests.alloc import min_samples, sizes_of
from isthmus.measure.bench.tests.bench_test import BenchTest, Suite, Variation
from isthmus.measure.run.break_even import MEMORY

LIFE_MEMORIES = ("pageable", "pinned", "registered", "huge_pinned")
_KIB, _MIB = 1 << 10, 1 << 20
_SWEEP = powers_of_two(64 * _KIB, 256 * _MIB)[::2]
# A region of one huge page can't be checked for huge pages.
_MIN_HUGE_BYTES = 4 * _MIB


@dataclass(frozen=True, kw_only=True)
class LifeTest(BenchTest):
    """Host memory that is allocated, copied up and down, and freed."""

    loop: str = "memory_life"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Pair sizes with the kinds of memory that are compared."""
        return [
            (size, Variation(axes=((MEMORY, memory),)))
            for memory in LIFE_MEMORIES
            for size in sizes_of(demand, _SWEEP)
            if demand.sizes or size >= _MIN_HUGE_BYTES * (memory == "huge_pinned")
        ]

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Weigh a lifetime as a few copies: most of its time can't be chosen."""
        del variation
        return 0.5 + size_bytes / (64 * _MIB)

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Take few lifetimes of slow memory: a lifetime is a sample of each of its steps."""
        del variation
        least = min_samples(size_bytes, emulated=emulated)
        return StoppingRule(
            min_samples=min(least, 10), max_samples=200, max_seconds=share_s, relative_iqr=0.01
        )

    def moves_all(self, metric: Metric) -> bool:
        """Tell the copies from the other steps."""
        return metric in {Metric.LIFE_UPLOAD, Metric.LIFE_DOWNLOAD}

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Give the memory that a step reads and writes."""
        memory = str(dict(variation.axes).get(MEMORY, "pageable"))
        if metric == Metric.LIFE_DOWNLOAD:
            return "device", memory
        if metric in {Metric.ALLOCATE, Metric.FREE}:
            return None, memory
        return memory, "device"


LIFE_TESTS: tuple[LifeTest, ...] = (
    LifeTest(
        name="host_memory_life",
        about="host memory allocated, copied up and down, freed: when pinning pays off",
        suite=Suite.ALLOC,
        metrics=(
            Metric.ALLOCATE,
            Metric.LIFE_UPLOAD,
            Metric.LIFE_DOWNLOAD,
            Metric.FREE,
            Metric.LIFE_ONE_WAY,
            Metric.LIFE_BOTH_WAYS,
        ),
        derived=(
            Metric.BREAK_EVEN_ONE_WAY,
            Metric.BREAK_EVEN_BOTH_WAYS,
        ),
        direction=None,
    ),
)
