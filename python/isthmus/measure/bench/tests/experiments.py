"""
Three experiments with copies of 4 B, and the same with larger ones.

Is it worth copying a kernel's result asynchronously? Is a download slower than an upload? A run has
100 or 1000 iterations; a sample is a run.
"""

from dataclasses import dataclass
from typing import Literal

from isthmus.measure.bench.demand import Demand, Footprint, StoppingRule
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import BenchTest, Direction, Suite, Variation

DEFAULT_RUNS = 5
_EMULATED_RUNS = 2
# Modelled copies differ little, and a thousand of them take half a second.
_EMULATED_ITERATIONS = 100
_WORD_BYTES = 4
_SIZES = (_WORD_BYTES, 4 << 10, 64 << 10, 1 << 20, 16 << 20)
# A run of larger copies is shorter: it moves at most this, but has at least ten iterations.
_MAX_BYTES_A_RUN = 64 << 20
_MIN_ITERATIONS = 10
# Each asynchronous iteration writes its value to a separate place.
_PLACE_BYTES = 256
_RATIOS = frozenset({Metric.ASYNC_OVER_BLOCKING, Metric.DOWNLOAD_OVER_UPLOAD})
_ENDS: dict[Metric, tuple[str | None, str | None]] = {
    Metric.BLOCKING: ("device", "pageable"),
    Metric.ASYNC: ("device", "pinned"),
    Metric.UPLOAD: ("pinned", "device"),
    Metric.DOWNLOAD: ("device", "pinned"),
}


@dataclass(frozen=True, kw_only=True)
class SmallTransferTest(BenchTest):
    """One experiment."""

    by: Literal["device", "host"]
    num_iterations: int

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """List sizes, each with the iterations of a run."""
        short = demand.emulated and demand.sizes is None
        most = _EMULATED_ITERATIONS if short else self.num_iterations
        return [
            (size, Variation(axes=(("iterations", min(most, self.iterations(size))),)))
            for size in _sizes(demand)
        ]

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Name the clock."""
        del size_bytes, variation
        return {"clock": self.by}

    def iterations(self, size_bytes: int) -> int:
        """Give the iterations of one run."""
        fitting = max(_MIN_ITERATIONS, _MAX_BYTES_A_RUN // size_bytes)
        return min(self.num_iterations, fitting)

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Give the memory of one point: pinned, pageable and a reference on the host."""
        del variation
        places_bytes = self.iterations(size_bytes) * _PLACE_BYTES
        return Footprint(host_bytes=4 * size_bytes + places_bytes, device_bytes=size_bytes)

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """Use a small weight: a run takes milliseconds."""
        del size_bytes, variation
        return 1.0

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Make a few runs; never fewer because they agree."""
        del size_bytes, variation
        return StoppingRule(
            min_samples=_EMULATED_RUNS if emulated else DEFAULT_RUNS,
            max_samples=DEFAULT_RUNS,
            max_seconds=share_s,
            relative_iqr=0.0,
        )

    def unit(self, metric: Metric) -> Literal["B/s", "s", "B", "1"]:
        """Give a metric's unit: seconds for one iteration, or a ratio."""
        return "1" if metric in _RATIOS else "s"

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """Whose clock times it."""
        del metric
        return self.by

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Give the kinds of memory that are read and written; none if there are several."""
        del variation
        return _ENDS.get(metric, (None, None))


def _sizes(demand: Demand) -> list[int]:
    largest = _SIZES[-1]
    if demand.sizes is not None:
        fit = [size for size in demand.sizes if size % _WORD_BYTES == 0 and size <= largest]
        return fit or [_WORD_BYTES]
    return [_WORD_BYTES] if demand.quick else list(_SIZES)


_BOTH_WAYS_HOME = (Metric.BLOCKING, Metric.ASYNC, Metric.ASYNC_OVER_BLOCKING)

EXPERIMENT_TESTS: tuple[SmallTransferTest, ...] = (
    SmallTransferTest(
        name="kernel_then_copy_cpu_clock",
        about="kernel, then a blocking download, against an async one: 100 times, CPU clock",
        suite=Suite.LATENCY,
        direction=Direction.DEVICE_TO_HOST,
        metrics=_BOTH_WAYS_HOME,
        loop="kernel_then_copy",
        by="host",
        num_iterations=100,
    ),
    SmallTransferTest(
        name="kernel_then_copy_gpu_clock",
        about="kernel, then a blocking download, against an async one: 100 times, GPU events",
        suite=Suite.LATENCY,
        direction=Direction.DEVICE_TO_HOST,
        metrics=_BOTH_WAYS_HOME,
        loop="kernel_then_copy",
        by="device",
        num_iterations=100,
    ),
    SmallTransferTest(
        name="copy_kernel_copy",
        about="upload, short kernel and wait, download: only the copies, 1000 times, GPU events",
        suite=Suite.LATENCY,
        direction=None,
        metrics=(
            Metric.UPLOAD,
            Metric.DOWNLOAD,
            Metric.BOTH_WAYS,
            Metric.DOWNLOAD_OVER_UPLOAD,
        ),
        loop="copy_kernel_copy",
        by="device",
        num_iterations=1000,
    ),
)
