"""
Draws figures in processes beside the program that makes a report.

vl-convert keeps Python's lock while it draws, so threads alone would draw one figure after another.
Each process reads specifications from its standard input and writes SVG, a line of JSON each. It
starts, which takes half a second, while the program still collects what is drawn.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# More processes take more memory, some 100 MB each, and a report has about a hundred figures.
_MOST = 4
_COMMAND = (sys.executable, "-P", "-m", __name__)


@dataclass(frozen=True)
class Drawers:
    """
    Draw figures: this process, or others beside it. A process that is killed, or that can't be
    started, loses nothing: its figures are drawn here.
    """

    processes: Sequence["subprocess.Popen[str]"] = ()

    @classmethod
    @contextlib.contextmanager
    def started(cls) -> "Iterator[Self]":
        """Start a process for each core, if there are several; they end with the context."""
        processes: list[subprocess.Popen[str]] = []
        number = min(len(os.sched_getaffinity(0)), _MOST)
        with contextlib.suppress(OSError):
            processes.extend(_started() for _ in range(number if number > 1 else 0))
        drawers = cls(processes)
        try:
            yield drawers
        except BaseException:
            drawers._kill()
            raise
        finally:
            for process in processes:
                with contextlib.suppress(OSError):
                    process.communicate()

    def _kill(self) -> None:
        for process in self.processes:
            process.kill()

    def draw(self, specifications: Sequence[str]) -> list[str]:
        """
        Draw figures of Vega-Lite, as JSON without line breaks, as SVG, in their order; raises
        ValueError for what Vega-Lite refuses.
        """
        drawn: dict[int, str] = {}
        if self.processes:
            waiting: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
            for numbered in enumerate(specifications):
                waiting.put(numbered)
            with ThreadPoolExecutor(len(self.processes)) as pool:
                try:
                    for some in pool.map(lambda one: dict(_draw_by(one, waiting)), self.processes):
                        drawn |= some
                except BaseException:
                    self._kill()  # the pool waits for them
                    raise
        return [drawn.get(n) or _draw(one) for n, one in enumerate(specifications)]


def _started() -> "subprocess.Popen[str]":
    """Start a process that Ctrl-C doesn't reach: it ends when its standard input does."""
    return subprocess.Popen(  # noqa: S603 - a module of this package, by this Python
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        start_new_session=True,
    )


def _draw_by(
    process: "subprocess.Popen[str]", waiting: "queue.SimpleQueue[tuple[int, str]]"
) -> "Iterator[tuple[int, str]]":
    """Let a process draw what waits, until nothing does or the process fails."""
    assert process.stdin is not None  # noqa: S101 - for mypy
    assert process.stdout is not None  # noqa: S101 - for mypy
    with contextlib.suppress(OSError, ValueError, queue.Empty):
        while True:
            number, specification = waiting.get_nowait()
            process.stdin.write(f"{specification}\n")
            process.stdin.flush()
            yield number, json.loads(process.stdout.readline())


def _draw(specification: str) -> str:
    import vl_convert

    picture: str = vl_convert.vegalite_to_svg(specification)
    return picture


def _draw_lines(lines: "Iterable[str]") -> None:
    """Draw what stands on lines, after a first picture, which takes half a second longer."""
    _draw(json.dumps({"mark": "text", "encoding": {"text": {"value": "1"}}}))
    for line in lines:
        sys.stdout.write(f"{json.dumps(_draw(line))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _draw_lines(sys.stdin)
