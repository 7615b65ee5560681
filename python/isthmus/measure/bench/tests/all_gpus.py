"""Copies between the host and all GPUs at once."""

from dataclasses import dataclass, replace

from isthmus.measure.bench.demand import Demand, Footprint
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import Direction, Suite, Variation
from isthmus.measure.bench.tests.many_gpus import (
    ABOUT,
    ENGINES,
    NOT_ALONE,
    NUM_GPUS,
    Engine,
    ManyGpusTest,
    waived_points,
)
from isthmus.measure.bench.tests.numa import GPU, sizes_of


@dataclass(frozen=True, kw_only=True)
class AllGpusTest(ManyGpusTest):
    """Copies between the host and all GPUs at once: each alone, each under load, all together."""

    direction: Direction
    loop: str = "all_gpus"

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """List each GPU, and then all."""
        limits = demand.limits
        sizes = sizes_of(demand)
        if limits.num_gpus < NOT_ALONE:
            return waived_points(sizes[0])
        per_gpu = 2 if self.both_ways else 1
        # All have their buffers at once, so that all can run at once.
        largest_bytes = limits.host_bytes // (limits.num_gpus * per_gpu)
        if demand.sizes is None:
            sizes = [min(size, largest_bytes) for size in sizes]
        together = Variation(axes=((NUM_GPUS, limits.num_gpus),))
        each = [Variation(axes=((GPU, str(gpu)),)) for gpu in range(limits.num_gpus)]
        return [(size, v) for size in sizes if 0 < size <= largest_bytes for v in (*each, together)]

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Give one GPU's share; points() has checked the total."""
        alone = super().footprint(size_bytes, variation)
        if not self.both_ways:
            return alone
        return replace(alone, host_bytes=2 * size_bytes, device_bytes=2 * size_bytes)

    def metrics_in(self, variation: Variation) -> tuple[Metric, ...]:
        """Under load and alone for one GPU; together for all."""
        if GPU in dict(variation.axes):
            return (Metric.BANDWIDTH, Metric.ALONE)
        return (Metric.AGGREGATE,)

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end."""
        del metric
        return "pinned"


def _all_gpus(direction: Direction, engine: Engine, *, both_ways: bool = False) -> AllGpusTest:
    ways = "host_to_all" if direction == Direction.HOST_TO_DEVICE else "all_to_host"
    both = ", and in the other direction at once" if both_ways else ""
    return AllGpusTest(
        name=f"{ways}{'_bidirectional' if both_ways else ''}_memcpy_{ENGINES[engine]}",
        about=f"{direction.label} bandwidth of each GPU while all copy{both}, {ABOUT[engine]}",
        suite=Suite.MULTI,
        metrics=(Metric.BANDWIDTH, Metric.ALONE, Metric.AGGREGATE),
        direction=direction,
        engine=engine,
        both_ways=both_ways,
    )


_UP, _DOWN = Direction.HOST_TO_DEVICE, Direction.DEVICE_TO_HOST
ALL_GPUS_TESTS: tuple[AllGpusTest, ...] = (
    *(_all_gpus(direction, "copy_engine") for direction in (_UP, _DOWN)),
    *(_all_gpus(direction, "copy_engine", both_ways=True) for direction in (_UP, _DOWN)),
    *(_all_gpus(direction, "multiprocessors") for direction in (_UP, _DOWN)),
)
