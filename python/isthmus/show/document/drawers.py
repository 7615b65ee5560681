"""
Draws figures in processes beside the program that makes a report.

vl-convert keeps Python's lock while it draws, so threads alone would draw one figure after another.
The processes start, which takes half a second, while the program still collects what is drawn.
"""

import contextlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

# More processes take more memory, some 100 MB each, and a report has about a hundred figures.
_MOST = 4
# A first picture takes half a second longer.
_FIRST = json.dumps({"mark": "text", "encoding": {"text": {"value": "1"}}})
_SAFE_PATH = "PYTHONSAFEPATH"


@dataclass(frozen=True)
class Drawers:
    """
    Draw figures: this process, or others beside it. A process that is killed, or that can't be
    started, loses nothing: the figures are drawn here.
    """

    pool: ProcessPoolExecutor | None = None

    @classmethod
    @contextlib.contextmanager
    def started(cls) -> "Iterator[Self]":
        """Start a process for each core, if there are several; they end with the context."""
        number = min(len(os.sched_getaffinity(0)), _MOST)
        pool = _started(number) if number > 1 else None
        with pool or contextlib.nullcontext():
            yield cls(pool)

    def draw(self, specifications: Sequence[str]) -> list[str]:
        """
        Draw figures of Vega-Lite, as JSON, as SVG, in their order; raises ValueError for what
        Vega-Lite refuses.
        """
        with contextlib.suppress(BrokenProcessPool, OSError):
            if self.pool is not None:
                return list(self.pool.map(_draw, specifications))
        return list(map(_draw, specifications))


def _started(number: int) -> ProcessPoolExecutor:
    """Start processes that import nothing from the current folder, and that Ctrl-C leaves alone."""
    before = os.environ.get(_SAFE_PATH)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    os.environ[_SAFE_PATH] = "1"
    try:
        # What forks has threads. The pool starts multiprocessing's own process, which unblocks.
        pool = ProcessPoolExecutor(number, multiprocessing.get_context("spawn"), _end_with_parent)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        with contextlib.suppress(OSError):
            for _ in range(number):
                pool.submit(_draw, _FIRST)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        del os.environ[_SAFE_PATH]
        if before is not None:
            os.environ[_SAFE_PATH] = before
    return pool


def _end_with_parent() -> None:
    """End this process when the one that started it is killed: the pool alone would stay."""

    def wait() -> None:
        if (parent := multiprocessing.parent_process()) is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _draw(specification: str) -> str:
    import vl_convert

    picture: str = vl_convert.vegalite_to_svg(specification)
    return picture
