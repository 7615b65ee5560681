"""The live progress bar, for terminals."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from isthmus.bench.plan import Point
from isthmus.cli.stderr import Listener
from isthmus.run.result import Result, Status


class Bar:
    """Shows the running point, and prints failures at once."""

    def __init__(self, display: Progress) -> None:
        """Add a bar to a display."""
        self._display = display
        self._task = display.add_task("starting", total=None)

    def point_started(self, index: int, total: int, point: Point) -> None:
        """Name the point."""
        self._display.update(
            self._task,
            total=total,
            completed=index,
            description=point.label,
        )

    def point_finished(self, point: Point, results: Sequence[Result]) -> None:
        """Move on; an error stays on the screen above the bar."""
        self._display.advance(self._task)
        errors = [result for result in results if result.status == Status.ERROR]
        if errors and errors[0].error is not None:
            self._display.console.print(
                f"error: {point.label}: {errors[0].error.message}", markup=False, highlight=False
            )


@contextmanager
def progress_bar() -> Iterator[Bar]:
    """Show a bar on stderr while the block runs, then remove it."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(file=cast("TextIO", Listener(sys.stderr)))
    with Progress(*columns, console=console, transient=True) as display:
        yield Bar(display)
