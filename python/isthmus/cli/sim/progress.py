"""The progress of a sweep, and of programs that are predicted, on stderr."""

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from isthmus.cli.stderr import say
from isthmus.cli.terminal import is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isthmus.cli.progress_bar import ProgressBar
    from isthmus.sim.driver.programs import ProgramPoint
    from isthmus.sim.points import SweepPoint
    from isthmus.sim.store import Row
    from isthmus.sim.sweep import Observer

_PS_PER_US = 1e6
# Of a sweep with more points, not each has a line.
_FEW_POINTS = 24
_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def sweep_progress() -> "Iterator[Observer]":
    """Follow a sweep: with a live bar on a terminal, with a few lines elsewhere."""
    if not is_terminal(sys.stderr):
        yield _Lines()
        return
    from isthmus.cli.progress_bar import progress_bar

    with progress_bar() as bar:
        yield _Bar(bar)


@contextmanager
def programs_progress(total: int) -> "Iterator[Callable[[int, ProgramPoint], None]]":
    """Follow predictions of programs: with a live bar on a terminal, a line a program elsewhere."""
    if total == 0 or not is_terminal(sys.stderr):
        told: set[str] = set()

        def say_program(num_finished: int, point: "ProgramPoint") -> None:
            if point.program.name not in told:
                say(f"[{num_finished}/{total}] simulating {point.program.name}")
                told.add(point.program.name)

        yield say_program
        return
    from isthmus.cli.progress_bar import progress_bar

    with progress_bar() as bar:

        def show(num_finished: int, point: "ProgramPoint") -> None:
            counter = f"{num_finished}/{total}"
            bar.show(num_finished / total, counter, f"{point.program.name}: {point.way}")

        yield show


class _Lines:
    """Prints a line for each of a few points; of many, for failures and every ten seconds."""

    def __init__(self) -> None:
        self._told_s = time.monotonic()

    def point_finished(
        self, num_finished: int, total: int, point: "SweepPoint", row: "Row"
    ) -> None:
        now = time.monotonic()
        due = now - self._told_s >= _SECONDS_BETWEEN_LINES
        if total > _FEW_POINTS and num_finished < total and row["error"] is None and not due:
            return
        self._told_s = now
        say(f"[{num_finished:{len(str(total))}}/{total}] {point.label}: {_outcome(row)}")


class _Bar:
    """Shows how many points are finished, and prints failures at once."""

    def __init__(self, bar: "ProgressBar") -> None:
        self._bar = bar
        self._started_s = time.monotonic()
        self._num_before: int | None = None
        bar.show(0.0, "", "simulating")

    def point_finished(
        self, num_finished: int, total: int, point: "SweepPoint", row: "Row"
    ) -> None:
        if self._num_before is None:
            # Those of an earlier run cost no time.
            self._num_before = num_finished - 1
        elapsed_s = time.monotonic() - self._started_s
        left_s = elapsed_s * (total - num_finished) / (num_finished - self._num_before)
        self._bar.show(num_finished / total, f"{num_finished}/{total}", point.label, left_s)
        if row["error"] is not None:
            self._bar.tell(f"error: {point.label}: {row['error']}")


def _outcome(row: "Row") -> str:
    if row["error"] is not None:
        return f"error: {row['error']}"
    return f"{float(row['total_ps'] or 0) / _PS_PER_US:.1f} us (modelled)"
