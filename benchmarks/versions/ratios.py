"""What turns say: how much slower a version is than the one before, and how sure that is."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

_NUM_RESAMPLED = 2000
_INTERVAL = (2.5, 97.5)
# Up to this size a copy is mostly calls, and 2 % of it are a few nanoseconds: those are shown, too.
_MAX_SMALL_BYTES = 1024
_NAME_WIDTH = 34
_MIN_ROUNDS = 2


@dataclass(frozen=True)
class Point:
    """
    Something that was timed.

    Attributes:
        part: Of the measurement.
        name: In the part.
        size_bytes: What one call moves; 0 if that isn't what it does.
    """

    part: str
    name: str
    size_bytes: int


@dataclass(frozen=True)
class Turn:
    """
    Nanoseconds of one call by each version, of the same moments.

    Attributes:
        group: What turns share that don't tell of each other: a process, a block of runs.
        before: The version before.
        again: The same version a second time, as a control.
        now: The version that is examined.
        minima: The least of each, in this order.
    """

    group: int
    before: float
    again: float
    now: float
    minima: tuple[float, float, float]


class Failed(Exception):
    """A process of a version ended otherwise than it should."""


def last_line(errors: str) -> str:
    """Give what a process said last: of a traceback, the error."""
    return errors.strip().rpartition("\n")[2]


class Turns:
    """
    All turns of all points.

    Attributes:
        of: The turns of each point.
        failures: Why rounds are missing, or parts of them.
    """

    def __init__(self) -> None:
        """Have none."""
        self.of: defaultdict[Point, list[Turn]] = defaultdict(list)
        self.failures: list[str] = []

    @contextmanager
    def one_round(self) -> Iterator[None]:
        """Go on with the next round after a failure: the others stand."""
        try:
            yield
        except Failed as failure:
            self.failures.append(str(failure))
            print(f"failed: {failure}", flush=True)

    def results(self) -> list[dict[str, Any]]:
        """Evaluate each point."""
        return [_result(point, turns) for point, turns in self.of.items()]


def rounds(max_seconds: float) -> Iterator[int]:
    """Count rounds from 0 until no other may begin; there are two at least."""
    start, number = time.monotonic(), 0
    while number < _MIN_ROUNDS or time.monotonic() - start < max_seconds:
        yield number
        number += 1
    print(f"{number} rounds in {time.monotonic() - start:.0f} s", flush=True)


def slower(results: Iterable[dict[str, Any]], limit: float) -> list[dict[str, Any]]:
    """Give those whose whole interval is above the limit, such as 0.02."""
    return [result for result in results if result["low"] > 1 + limit]


def table(results: Iterable[dict[str, Any]]) -> str:
    """Write a line of at most 80 columns a point, and one for its name where that is long."""
    title = f"{'':{_NAME_WIDTH}}{'before':>10}{'now/before, 95 %':>20}{'A/A':>7}{'ns':>8}"
    return "\n".join([title, *(_line(result) for result in results)])


def _line(result: dict[str, Any]) -> str:
    name = f"{result['point']:{_NAME_WIDTH}}"
    if len(name) > _NAME_WIDTH:
        name += "\n" + " " * _NAME_WIDTH
    interval = f"{result['low']:.3f}-{result['high']:.3f}"
    nanoseconds = f"{result['ns']:>+8.1f}" if "ns" in result else ""
    return (
        f"{name}{_time(result['before_ns']):>10}{result['ratio']:>8.3f} {interval}"
        f"{result['control']:>7.3f}{nanoseconds}"
    )


def _time(nanoseconds: float) -> str:
    for unit, scale in (("ns", 1.0), ("us", 1e3)):
        if nanoseconds < 1000 * scale:
            return f"{nanoseconds / scale:.1f} {unit}"
    return f"{nanoseconds / 1e6:.2f} ms"


def _result(point: Point, turns: list[Turn]) -> dict[str, Any]:
    before, again, now = (_by_group(turns, name) for name in ("before", "again", "now"))
    ratio, low, high = _median_and_interval(now / before)
    control, control_low, control_high = _median_and_interval(again / before)
    minima = np.array([turn.minima for turn in turns])
    result: dict[str, Any] = {
        "part": point.part,
        "point": point.name,
        "bytes": point.size_bytes,
        "groups": len(before),
        "turns": before.size,
        "before_ns": _rounded(np.median(before), 1),
        "now_ns": _rounded(np.median(now), 1),
        "ratio": _rounded(ratio),
        "low": _rounded(low),
        "high": _rounded(high),
        "control": _rounded(control),
        "control_low": _rounded(control_low),
        "control_high": _rounded(control_high),
        "minima": _rounded(np.median(minima[:, 2] / minima[:, 0])),
        "minima_control": _rounded(np.median(minima[:, 1] / minima[:, 0])),
    }
    if 0 < point.size_bytes <= _MAX_SMALL_BYTES:
        difference, less, more = _median_and_interval(now - before)
        result |= {
            "ns": _rounded(difference, 1),
            "ns_low": _rounded(less, 1),
            "ns_high": _rounded(more, 1),
        }
    return result


def _by_group(turns: list[Turn], version: str) -> NDArray[np.float64]:
    """Give a row for each group, of as many turns as the group with the fewest has."""
    rows: defaultdict[int, list[float]] = defaultdict(list)
    for turn in turns:
        rows[turn.group].append(getattr(turn, version))
    length = min(len(row) for row in rows.values())
    return np.array([row[:length] for row in rows.values()])


def _median_and_interval(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Resample whole groups: turns of one process have more in common than those of two."""
    random = np.random.default_rng(1)
    picks = random.integers(0, len(values), (_NUM_RESAMPLED, len(values)))
    medians = np.median(values[picks].reshape(_NUM_RESAMPLED, -1), axis=1)
    low, high = np.percentile(medians, _INTERVAL)
    return float(np.median(values)), float(low), float(high)


def _rounded(value: SupportsFloat, digits: int = 4) -> float:
    return round(float(value), digits)
