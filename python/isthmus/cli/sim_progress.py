"""The progress of a sweep, on stderr."""

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from isthmus.cli.stderr import Listener, is_terminal, say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from rich.progress import Progress

    from isthmus.sim.points import SweepPoint
    from isthmus.sim.store import Row
    from isthmus.sim.sweep import Observer

_PS_PER_US = 1e6


@contextmanager
def sweep_progress() -> "Iterator[Observer]":
    """Follow a sweep: with a live bar on a terminal, with a line for each point elsewhere."""
    if not is_terminal(sys.stderr):
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(file=cast("TextIO", Listener(sys.stderr)))
    with Progress(*columns, console=console, transient=True) as display:
        yield _Bar(display)


class _Lines:
    """Prints one line for each point."""

    def point_finished(
        self, num_finished: int, total: int, point: "SweepPoint", row: "Row"
    ) -> None:
        say(f"[{num_finished:{len(str(total))}}/{total}] {point.label}: {_outcome(row)}")


class _Bar:
    """Shows how many points are finished, and prints failures at once."""

    def __init__(self, display: "Progress") -> None:
        self._display = display
        self._task = display.add_task("simulating", total=None)

    def point_finished(
        self, num_finished: int, total: int, point: "SweepPoint", row: "Row"
    ) -> None:
        self._display.update(
            self._task, total=total, completed=num_finished, description=point.workload
        )
        if row["error"] is not None:
            text = f"error: {point.label}: {row['error']}"
            self._display.console.print(text, markup=False, highlight=False)


def _outcome(row: "Row") -> str:
    if row["error"] is not None:
        return f"error: {row['error']}"
    return f"{float(row['total_ps'] or 0) / _PS_PER_US:.1f} us (modelled)"
