"""
The tests of windows, CPU mappings of GPU memory: one row each.

Each copy through a window is timed next to cudaMemcpy of the same bytes, in the same point.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from isthmus.ground.sizes import powers_of_two
from isthmus.measure.bench.demand import Demand, StoppingRule
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import (
    PLAIN,
    BenchTest,
    Direction,
    Residence,
    Suite,
    Variation,
)

_KIB, _MIB = 1 << 10, 1 << 20
LARGEST_BYTES = 16 * _MIB
# Below, a second thread makes copies slower, which needn't be measured 10 times.
_MIN_SHARED_BYTES = _KIB
_FLAG_BYTES = 4
_SMALL_BYTES = 64 * _KIB
_SWEEP = tuple(powers_of_two(1, LARGEST_BYTES))
_FEWER = _SWEEP[::2]
# On an emulated device, reads of more take seconds, and are on a straight line.
_MAX_EMULATED_BYTES = 1 << 20
_FEW = 6
_HOST_ENDS = {
    Metric.MEMCPY_PINNED: "pinned",
    Metric.LAUNCHED: "pinned",
    Metric.ASKED: "pinned",
}


class WindowKind(StrEnum):
    """What is measured."""

    WRITE = "write"
    READ = "read"
    PUSH = "push"
    BANDWIDTH = "bandwidth"
    LIFECYCLE = "lifecycle"
    PING_PONG = "ping_pong"


@dataclass(frozen=True, kw_only=True)
class WindowTest(BenchTest):
    """One way to use windows, or an alternative to them."""

    kind: WindowKind

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Give the size of a round trip's data."""
        return {"data_bytes": size_bytes if variation.data else 0}

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """Pair circumstances with the sizes at which they are measured."""
        return [
            (size, variation)
            for variation, default in variations(self, demand.limits.num_cores, quick=demand.quick)
            for size in sizes_of(self, self._default(default, demand), demand.sizes)
        ]

    def _default(self, sizes: tuple[int, ...], demand: Demand) -> tuple[int, ...]:
        """Leave out sizes that show nothing new on an emulated device: every second, and large."""
        if not demand.emulated or self.kind == WindowKind.LIFECYCLE:
            return sizes
        fitting = tuple(size for size in sizes if size <= _MAX_EMULATED_BYTES)
        return fitting if len(fitting) <= _FEW else fitting[::-2][::-1]

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Use a small weight: a copy through a window takes microseconds."""
        del size_bytes, variation
        return 0.5

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Time each round trip separately; for copies, a sample averages up to a hundred."""
        single = self.kind in {WindowKind.PING_PONG, WindowKind.PUSH}
        # Past 64 KiB one takes up to 16 ms.
        max_wanted = 200 if single else 50
        min_samples = max_wanted if size_bytes <= _SMALL_BYTES else 10
        # One lifecycle is a sample of each of its steps; other metrics are sampled separately.
        at_once = self.kind == WindowKind.LIFECYCLE
        return StoppingRule(
            min_samples=3 if emulated else min_samples,
            max_samples=2000,
            max_seconds=share_s if at_once else share_s / len(self.metrics_in(variation)),
            relative_iqr=0.005,
        )

    def metrics_in(self, variation: Variation) -> tuple[Metric, ...]:
        """List the metrics that have a meaning in these circumstances."""
        if self.kind not in {WindowKind.WRITE, WindowKind.READ}:
            return self.metrics
        if variation.num_threads > 1:
            return self.metrics[:1]
        return tuple(m for m in self.metrics if m != Metric.POSTED or variation == PLAIN)

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end."""
        return _HOST_ENDS.get(metric, "pageable")


def variations(
    test: WindowTest, num_cores: int, *, quick: bool
) -> list[tuple[Variation, tuple[int, ...]]]:
    """
    List the circumstances in which a test runs, each with its default sizes in bytes, ascending; of
    a quick run only the plain ones, at few sizes.
    """
    found = _variations(test, num_cores)
    return [(variation, sizes[::4]) for variation, sizes in found[:1]] if quick else found


def _variations(test: WindowTest, num_cores: int) -> list[tuple[Variation, tuple[int, ...]]]:
    several = powers_of_two(2, num_cores)
    if test.kind in {WindowKind.WRITE, WindowKind.READ}:
        by_all = [Variation(num_threads=threads) for threads in several[-1:]]
        return [
            (PLAIN, _SWEEP),
            (Variation(cpu_cache="cold"), _FEWER),
            *((variation, _at_least(_MIN_SHARED_BYTES)) for variation in by_all),
        ]
    if test.kind == WindowKind.BANDWIDTH:
        return [
            (Variation(num_threads=threads, cpu_node=node), (64 * _KIB, _MIB, LARGEST_BYTES))
            for node in ("near", "far")
            for threads in (1, *several)
        ]
    if test.kind == WindowKind.LIFECYCLE:
        return [(PLAIN, (64 * _KIB, 2 * _MIB, 64 * _MIB))]
    if test.kind == WindowKind.PING_PONG:
        return _round_trips()
    return [(PLAIN, _SWEEP)]


def sizes_of(test: WindowTest, default: tuple[int, ...], wanted: Sequence[int] | None) -> list[int]:
    """
    Choose sizes: those requested (bytes, ascending), as far as the test can use them; lifecycles
    and round trips have their own.
    """
    if wanted is None or test.kind in {WindowKind.LIFECYCLE, WindowKind.PING_PONG}:
        return list(default)
    least = _MIN_SHARED_BYTES if default[0] == _MIN_SHARED_BYTES else 1
    return [size for size in wanted if least <= size <= LARGEST_BYTES]


def _at_least(min_bytes: int) -> tuple[int, ...]:
    return tuple(size for size in _SWEEP if size >= min_bytes)


def _round_trips() -> list[tuple[Variation, tuple[int, ...]]]:
    placements = list(product(Residence, Residence))
    flags_alone: list[tuple[Variation, tuple[int, ...]]] = [
        (Variation(question=question, answer=answer), (_FLAG_BYTES,))
        for question, answer in placements
    ]
    with_data = [
        (Variation(question=question, answer=answer, data=data), (64, 4 * _KIB))
        for data in Residence
        for question, answer in placements
    ]
    return flags_alone + with_data


_MEMCPY = (Metric.MEMCPY_PINNED, Metric.MEMCPY_PAGEABLE)
_CROSSOVERS = (Metric.CROSSOVER_PINNED, Metric.CROSSOVER_PAGEABLE)

WINDOW_TESTS: tuple[WindowTest, ...] = (
    WindowTest(
        name="window_write",
        about="H2D latency of CPU stores through a window, beside cudaMemcpy",
        suite=Suite.WINDOWS,
        kind=WindowKind.WRITE,
        loop="window_write",
        direction=Direction.HOST_TO_DEVICE,
        metrics=(Metric.FENCED, Metric.POSTED, *_MEMCPY),
        derived=_CROSSOVERS,
    ),
    WindowTest(
        name="window_read",
        about="D2H latency of CPU loads through a window, beside cudaMemcpy",
        suite=Suite.WINDOWS,
        kind=WindowKind.READ,
        loop="window_read",
        direction=Direction.DEVICE_TO_HOST,
        metrics=(Metric.COMPLETE, *_MEMCPY),
        derived=(*_CROSSOVERS, Metric.CROSSOVER_PUSH),
    ),
    WindowTest(
        name="window_push",
        about="D2H latency of a kernel that stores into pinned memory, launched or asked by window",
        suite=Suite.WINDOWS,
        kind=WindowKind.PUSH,
        loop="window_push",
        direction=Direction.DEVICE_TO_HOST,
        metrics=(Metric.LAUNCHED, Metric.ASKED),
    ),
    WindowTest(
        name="window_bandwidth_write",
        about="H2D bandwidth through a window, by 1 to N threads, near and far NUMA node",
        suite=Suite.WINDOWS,
        kind=WindowKind.BANDWIDTH,
        loop="window_bandwidth",
        direction=Direction.HOST_TO_DEVICE,
        metrics=(Metric.BANDWIDTH,),
    ),
    WindowTest(
        name="window_bandwidth_read",
        about="D2H bandwidth through a window, by 1 to N threads, near and far NUMA node",
        suite=Suite.WINDOWS,
        kind=WindowKind.BANDWIDTH,
        loop="window_bandwidth",
        direction=Direction.DEVICE_TO_HOST,
        metrics=(Metric.BANDWIDTH,),
    ),
    WindowTest(
        name="window_lifecycle",
        about="times of opening, first use and closing of a window, and of its backend's steps",
        suite=Suite.WINDOWS,
        kind=WindowKind.LIFECYCLE,
        loop="window_lifecycle",
        direction=None,
        metrics=(
            Metric.OPEN_NEW,
            Metric.PIN,
            Metric.MAP,
            Metric.FIRST_STORE,
            Metric.FIRST_LOAD,
            Metric.OPEN_CACHED,
            Metric.CLOSE,
            Metric.UNMAP,
            Metric.UNPIN,
            Metric.MEMCPY_4_BYTES,
        ),
    ),
    WindowTest(
        name="window_ping_pong",
        about="round trip from the CPU to a running kernel, flags and data in either memory",
        suite=Suite.WINDOWS,
        kind=WindowKind.PING_PONG,
        loop="window_ping_pong",
        direction=None,
        metrics=(Metric.ROUND_TRIP,),
    ),
)
