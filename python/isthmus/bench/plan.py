"""Lays out what will be measured, and refuses what can't fit, before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.bench.tests import (
    PLAIN,
    BenchTest,
    CopyTest,
    Metric,
    Variation,
    WindowTest,
)
from isthmus.bench.windows import LARGEST_BYTES, sizes_of, variations
from isthmus.errors import UsageError
from isthmus.sizes import approximate_size, format_size, powers_of_two

SMALL_COPY_BYTES = 4
SWEEP_FIRST_BYTES = 4
SWEEP_LAST_BYTES = 1 << 30
_MIB = 1 << 20


@dataclass(frozen=True)
class Point:
    """One test at one size, in one variation."""

    test: BenchTest
    size_bytes: int
    variation: Variation = PLAIN

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What it reports, in order."""
        return self.test.metrics_in(self.variation)

    @property
    def label(self) -> str:
        """Name it for people: "window_write 4 KiB, cold"."""
        words = [f"{self.test.name} {format_size(self.size_bytes)}", self.variation.words]
        return ", ".join(filter(None, words))


@dataclass(frozen=True, kw_only=True)
class CopyLimits:
    """
    How large a buffer may be.

    Attributes:
        device_bytes: The largest on the device.
        host_bytes: The largest on the host, beside the one on the device if that is emulated.
        num_cores: So many threads may run at once.
    """

    device_bytes: int
    host_bytes: int
    num_cores: int = 1

    @property
    def largest_bytes(self) -> int:
        """The largest copy that fits on both sides."""
        return min(self.device_bytes, self.host_bytes)

    @property
    def tightest(self) -> str:
        """Which memory runs out first."""
        return "device" if self.device_bytes < self.host_bytes else "host"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What will be measured, in order, and what to tell the user about it."""

    points: tuple[Point, ...]
    notes: tuple[str, ...] = ()


def copy_limits(
    *, free_device_bytes: int, free_host_bytes: int | None, emulated: bool, num_cores: int = 1
) -> CopyLimits:
    """
    Work out how large a buffer may be, leaving room for what else needs memory.

    Args:
        free_device_bytes: Free memory of the device.
        free_host_bytes: Memory the host could still give this process; None if unknown.
        emulated: The device's memory is taken from the host's.
        num_cores: So many threads may run at once.
    """
    device_bytes = free_device_bytes - free_device_bytes // 64
    if free_host_bytes is None:
        return CopyLimits(device_bytes=device_bytes, host_bytes=device_bytes, num_cores=num_cores)
    # An eighth stays free: filling memory to the brim gets processes killed, not errors.
    usable_bytes = free_host_bytes - free_host_bytes // 8
    return CopyLimits(
        device_bytes=device_bytes,
        host_bytes=usable_bytes // 2 if emulated else usable_bytes,
        num_cores=num_cores,
    )


def plan_points(
    tests: Sequence[BenchTest], sizes: Sequence[int] | None, limits: CopyLimits
) -> Plan:
    """
    Pair tests with sizes.

    Args:
        tests: What to run, in order.
        sizes: Sizes of the bandwidth and the window tests in bytes, ascending; None sweeps the
            powers of two, from 4 B to 1 GiB for CUDA's copies and from 1 B to 16 MiB for windows,
            as far as they fit. Small copies are always of 4 B.
        limits: How large a buffer may be.

    Raises:
        UsageError: A size that was asked for doesn't fit or is larger than any test's, or not even
            the smallest fits.
    """
    sweep = powers_of_two(SWEEP_FIRST_BYTES, SWEEP_LAST_BYTES)
    _check_fit(sweep[:1] if sizes is None else sizes, limits)
    fitting = [size for size in sweep if size <= limits.largest_bytes] if sizes is None else sizes
    points = tuple(
        point
        for test in tests
        for point in (
            _window_points(test, sizes, limits)
            if isinstance(test, WindowTest)
            else _copy_points(test, fitting)
        )
    )
    if sizes is None:
        return Plan(points=points, notes=_clipped_notes(tests, fitting[-1], limits))
    if not points:
        raise UsageError(
            f"size {format_size(sizes[0])} is larger than windows are measured with",
            hint=f"the largest is {format_size(LARGEST_BYTES).replace(' ', '')}",
        )
    return Plan(points=points, notes=_left_out_notes(tests, sizes))


def weight(point: Point) -> float:
    """
    Weigh how much of the budget a point gets, relative to a copy of no bytes.

    A large copy needs time for its samples, a small one for many of them; 1 GiB weighs as much
    as 65 of the smallest. Each metric of a small copy is sampled apart. Windows take little: a copy
    through one is over in microseconds.
    """
    if isinstance(point.test, WindowTest):
        return 0.5
    if _is_small_copy(point.test):
        return 2.0 * sum(metric != Metric.EVENT_FLOOR for metric in point.metrics)
    return 1.0 + point.size_bytes / (16 * _MIB)


def _is_small_copy(test: BenchTest) -> bool:
    return isinstance(test, CopyTest) and test.method is not None


def _copy_points(test: BenchTest, sizes: Sequence[int]) -> list[Point]:
    chosen = [SMALL_COPY_BYTES] if _is_small_copy(test) else sizes
    return [Point(test, size) for size in chosen]


def _window_points(
    test: WindowTest, wanted: Sequence[int] | None, limits: CopyLimits
) -> list[Point]:
    return [
        Point(test, size, variation)
        for variation, default in variations(test, limits.num_cores)
        for size in sizes_of(test, default, wanted)
        if size <= limits.largest_bytes
    ]


def _check_fit(sizes: Sequence[int], limits: CopyLimits) -> None:
    too_large = [size for size in sizes if size > limits.largest_bytes]
    if not too_large:
        return
    largest_bytes = limits.largest_bytes
    valid = largest_bytes // _MIB * _MIB or largest_bytes
    raise UsageError(
        f"size {format_size(too_large[0])} is larger than the free {limits.tightest} memory "
        f"({approximate_size(largest_bytes)} can be used)",
        hint=f"the largest size that fits is {format_size(valid).replace(' ', '')}",
    )


def _clipped_notes(
    tests: Sequence[BenchTest], last_bytes: int, limits: CopyLimits
) -> tuple[str, ...]:
    sweeps = any(isinstance(test, CopyTest) and test.method is None for test in tests)
    if not sweeps or last_bytes == SWEEP_LAST_BYTES:
        return ()
    ends = f"the sweep ends at {format_size(last_bytes)} instead of {format_size(SWEEP_LAST_BYTES)}"
    usable = f"only {approximate_size(limits.largest_bytes)} can be used"
    return (f"{ends}: of the {limits.tightest} memory {usable}",)


def _left_out_notes(tests: Sequence[BenchTest], sizes: Sequence[int]) -> tuple[str, ...]:
    if sizes[-1] <= LARGEST_BYTES or not any(isinstance(test, WindowTest) for test in tests):
        return ()
    return (f"windows are measured up to {format_size(LARGEST_BYTES)}, not at larger sizes",)
