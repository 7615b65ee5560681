"""
The live progress of a command, for terminals: two lines that keep their places.

The first has a bar, how far the command is, and the time left; the second, what is being done.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from isthmus.cli.stderr import Listener
from isthmus.cli.terminal import columns_of
from isthmus.ground.spelling import one_line

_COUNTER_WIDTH = 11
_LEFT_WIDTH = 13
_SECONDS_PER_MINUTE = 60


class ProgressBar:
    """Shows how far a command is."""

    def __init__(self, display: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        """Add a bar to a display."""
        self._display = display
        self._clock = clock
        self._task = display.add_task("", total=None, counter="", end_s=None)

    def show(self, part: float, counter: str, what: str, left_s: float | None = None) -> None:
        """
        Move the bar to a part from 0 to 1; `counter` is the same in at most 11 characters, and
        `left_s` counts down from now on.
        """
        end_s = None if left_s is None else self._clock() + left_s
        self._display.update(
            self._task, total=1.0, completed=part, counter=counter, description=what, end_s=end_s
        )

    def tell(self, text: str) -> None:
        """Print a line that stays on the screen above the bar."""
        self._display.console.print(Text(one_line(text)), soft_wrap=True)


@contextmanager
def progress_bar() -> Iterator[ProgressBar]:
    """Show a bar on stderr while the block runs, then remove it."""
    stream = cast("TextIO", Listener(sys.stderr))
    console = Console(file=stream, width=columns_of(sys.stderr))
    with bar_display(console) as display:
        yield ProgressBar(display)


def bar_display(console: Console, clock: Callable[[], float] = time.monotonic) -> Progress:
    """Prepare the display of a bar, which has the same clock."""
    counter = Column(min_width=_COUNTER_WIDTH, justify="right", no_wrap=True)
    columns = (
        BarColumn(bar_width=None),
        TextColumn("{task.fields[counter]}", markup=False, table_column=counter),
        _TimeLeft(clock),
    )
    return _TwoLines(*columns, console=console, transient=True)


class _TwoLines(Progress):
    """The bar's line, and under it the description, which changes in length."""

    def get_renderables(self) -> Iterable[RenderableType]:
        """Draw both lines."""
        for task in self.tasks:
            table = self.make_tasks_table([task])
            table.expand = True
            yield table
            yield Text(one_line(task.description), no_wrap=True, overflow="crop", style="dim")


class _TimeLeft(ProgressColumn):
    """The time until a task's end, which its field end_s has."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Count down by a clock."""
        width = Column(min_width=_LEFT_WIDTH, justify="right", no_wrap=True)
        super().__init__(table_column=width)
        self._clock = clock

    def render(self, task: Task) -> Text:
        """Write "0:21 left"."""
        end_s = task.fields.get("end_s")
        return Text("" if end_s is None else f"{duration(end_s - self._clock())} left")


def duration(seconds: float) -> str:
    """Write a time as minutes and seconds, such as "1:05"; never less than "0:00"."""
    minutes, rest = divmod(round(max(0.0, seconds)), _SECONDS_PER_MINUTE)
    return f"{minutes}:{rest:02d}"
