"""
`isthmus.watch()` counts what this process copies, where it was started under `isthmus watch`.

`python -m isthmus.watch [OPTIONS] script.py ARGS` starts it so, as `isthmus watch -- python
script.py ARGS` does; also with `-m module`. This module is what `isthmus.watch` is, and is called.
"""

import sys
import time
import types
from typing import TYPE_CHECKING, Self

from isthmus.errors import Unavailable
from isthmus.watching.environment import is_preloaded, own_counters

if TYPE_CHECKING:
    from isthmus.watching.counters import Process
    from isthmus.watching.model import WatchReport

# From here on the words are Python's.
_OF_PYTHON = {"-m", "-c", "-", "--"}


class Watch:
    """
    What this process copied from entering a block to leaving it; within it, so far.

    Attributes:
        report: All numbers, as docs/schema/watch-v1.json describes them.
        seconds: Spent in copies, in pinning, and in waiting for copies alone.
    """

    def __init__(self) -> None:
        """Count from now on."""
        self._before = own_counters()
        self._after: Process | None = None

    def __enter__(self) -> Self:
        """Count from here on."""
        self._before = own_counters()
        return self

    def __exit__(self, *_: object) -> None:
        """Count up to here."""
        self._after = own_counters()

    @property
    def report(self) -> "WatchReport":
        """All numbers."""
        from isthmus.watching.costs import costs_here
        from isthmus.watching.reporting import report_on

        processes = self._processes()
        costs = costs_here(emulated=any(one.emulated for one in processes))
        return report_on(processes, costs, until_ns=time.time_ns())

    @property
    def seconds(self) -> float:
        """Spent in copies, in pinning, and in waiting for copies alone."""
        from isthmus.watching.costs import COSTS_UNKNOWN
        from isthmus.watching.verdict import verdict_on

        return verdict_on(self._processes(), COSTS_UNKNOWN).seconds

    def _processes(self) -> "list[Process]":
        from isthmus.watching.counters import since

        after = self._after or own_counters()
        return [since(self._before, after)] if after else []

    def __str__(self) -> str:
        """Give the report as text."""
        from isthmus.show.answers.watch import watch_as_text

        return watch_as_text(self.report)


class _Called(types.ModuleType):
    """A module that is also the function of its name, whichever was imported first."""

    def __call__(self) -> Watch:
        """
        Count what this process copies: `with isthmus.watch() as w: ...; print(w)`.

        Returns:
            A context whose report, seconds and text are those of the block.

        Raises:
            Unavailable: This process wasn't started under `isthmus watch`.
        """
        if not is_preloaded():
            raise Unavailable(
                capability="isthmus.watch",
                reason="this process wasn't started under it",
                needs="`python -m isthmus.watch script.py`, `isthmus watch -- PROGRAM`, "
                "or ISTHMUS_WATCH=1 in the environment",
            )
        return Watch()


if TYPE_CHECKING:
    watch = _Called(__name__)


def main(arguments: list[str]) -> int:
    """Run `isthmus watch` on a program of this Python."""
    from isthmus.cli.app import main as program
    from isthmus.cli.app import options_with_values

    first, valued = 0, options_with_values("watch")
    while first < len(arguments) and (word := arguments[first]).startswith("-"):
        if word in _OF_PYTHON:
            break
        first += 2 if word in valued else 1
    script = arguments[first + (arguments[first : first + 1] == ["--"]) :]
    own = sys.orig_argv[1 : sys.orig_argv.index("-m")] if "-m" in sys.orig_argv else []
    python = [sys.executable, *own] if script else []
    return program(["watch", *arguments[:first], "--", *python, *script])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
sys.modules[__name__].__class__ = _Called
