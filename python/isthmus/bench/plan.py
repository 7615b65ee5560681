"""Lays out what will be measured, and refuses what can't fit, before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.bench.tests import BenchTest, Metric
from isthmus.errors import UsageError
from isthmus.sizes import approximate_size, format_size, powers_of_two

SMALL_COPY_BYTES = 4
SWEEP_FIRST_BYTES = 4
SWEEP_LAST_BYTES = 1 << 30
_MIB = 1 << 20


@dataclass(frozen=True)
class Point:
    """One test at one size."""

    test: BenchTest
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class CopyLimits:
    """
    How large a buffer may be.

    Attributes:
        device_bytes: The largest on the device.
        host_bytes: The largest on the host, beside the one on the device if that is emulated.
    """

    device_bytes: int
    host_bytes: int

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
    *, free_device_bytes: int, free_host_bytes: int | None, emulated: bool
) -> CopyLimits:
    """
    Work out how large a buffer may be, leaving room for what else needs memory.

    Args:
        free_device_bytes: Free memory of the device.
        free_host_bytes: Memory the host could still give this process; None if unknown.
        emulated: The device's memory is taken from the host's.
    """
    device_bytes = free_device_bytes - free_device_bytes // 64
    if free_host_bytes is None:
        return CopyLimits(device_bytes=device_bytes, host_bytes=device_bytes)
    # An eighth stays free: filling memory to the brim gets processes killed, not errors.
    usable_bytes = free_host_bytes - free_host_bytes // 8
    return CopyLimits(
        device_bytes=device_bytes, host_bytes=usable_bytes // 2 if emulated else usable_bytes
    )


def plan_points(
    tests: Sequence[BenchTest], sizes: Sequence[int] | None, limits: CopyLimits
) -> Plan:
    """
    Pair tests with sizes.

    Args:
        tests: What to run, in order.
        sizes: Sizes of the bandwidth tests in bytes, ascending; None sweeps the powers of two
            from 4 B to 1 GiB, as far as they fit. Small copies are always of 4 B.
        limits: How large a buffer may be.

    Raises:
        UsageError: A size that was asked for doesn't fit, or not even the smallest does.
    """
    if sizes is not None:
        _check_fit(sizes, limits)
        return Plan(points=_points(tests, sizes))
    sweep = powers_of_two(SWEEP_FIRST_BYTES, SWEEP_LAST_BYTES)
    fitting = [size for size in sweep if size <= limits.largest_bytes]
    _check_fit(sweep[:1], limits)
    bandwidth = any(test.method is None for test in tests)
    clipped = bandwidth and len(fitting) < len(sweep)
    notes = (_clipped_note(fitting[-1], limits),) if clipped else ()
    return Plan(points=_points(tests, fitting), notes=notes)


def weight(point: Point) -> float:
    """
    Weigh how much of the budget a point gets, relative to a copy of no bytes.

    A large copy needs time for its samples, a small one for many of them; 1 GiB weighs as much
    as 65 of the smallest. Each metric of a small copy is sampled apart.
    """
    if point.test.method is not None:
        return 2.0 * sum(metric != Metric.EVENT_FLOOR for metric in point.test.metrics)
    return 1.0 + point.size_bytes / (16 * _MIB)


def _points(tests: Sequence[BenchTest], sizes: Sequence[int]) -> tuple[Point, ...]:
    return tuple(
        Point(test, size)
        for test in tests
        for size in (sizes if test.method is None else [SMALL_COPY_BYTES])
    )


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


def _clipped_note(last_bytes: int, limits: CopyLimits) -> str:
    return (
        f"the sweep ends at {format_size(last_bytes)} instead of {format_size(SWEEP_LAST_BYTES)}: "
        f"of the {limits.tightest} memory only {approximate_size(limits.largest_bytes)} can be used"
    )
