"""One run of a program under watch: its folder, what was counted there, and what it cost."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.cli.failure import Ended, ExitCode
from isthmus.cli.stderr import Listener, say
from isthmus.cli.terminal import is_terminal
from isthmus.cli.watch.running import run_program
from isthmus.errors import Unavailable, UsageError
from isthmus.watching.executable import find_program, why_not_watched

if TYPE_CHECKING:
    from isthmus.watching.counters import Process

_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
# Room is looked for for the files of so many.
_MOST_PROCESSES = 16
_LIVE_S = 1.0


@contextmanager
def watched_run(
    name: str,
    command: Sequence[str],
    prepare: Callable[[Path], Mapping[str, str]],
    *,
    events: int = 0,
    live: bool = False,
    unwatched: int = ExitCode.OK,
) -> "Iterator[tuple[int, list[Process]]]":
    """
    Run a program in the environment that is prepared for a folder; give its exit code, and what its
    processes have counted, while the folder exists. Raises Ended for what can't be run, and for
    what can't be watched: with the code `unwatched` if that ended well.
    """
    from isthmus.watching.environment import is_preloaded
    from isthmus.watching.layout import layout

    if is_preloaded():
        say(f"isthmus {name}: {command[0]} is counted here; the watch around it doesn't see it")
    file_bytes = layout().events + events * layout().event.size
    with _folder(_MOST_PROCESSES * file_bytes) as folder:
        try:
            reason = why_not_watched(find_program(command[0], os.environ))
            environment = dict(os.environ)
            if folder is None:
                reason = reason or "no folder for temporary files has room"
            elif not reason:
                environment = dict(prepare(folder))
        except Unavailable as error:
            reason = error.reason
        except OSError as cause:
            raise _not_run(name, command[0], cause) from None
        if reason:
            say(f"isthmus {name}: {command[0]} isn't watched: {reason}")
        show = _Live(folder) if live and folder and is_terminal(sys.stderr) else None
        try:
            code = run_program(command, environment, show.look if show else lambda: None)
        except OSError as cause:
            raise _not_run(name, command[0], cause) from None
        if reason or folder is None:
            raise Ended(code or unwatched)
        yield code, read_folder(folder)


def _not_run(name: str, program: str, cause: OSError) -> Ended:
    say(f"isthmus {name}: {program}: {cause.strerror or cause}")
    return Ended(_NOT_FOUND if isinstance(cause, FileNotFoundError) else _NOT_EXECUTABLE)


def program_environment() -> dict[str, str]:
    """Give this process's, in which a program's Python doesn't watch itself."""
    return {name: value for name, value in os.environ.items() if name != "ISTHMUS_WATCH"}


def read_folder(folder: Path, *, strict: bool = False) -> "list[Process]":
    """
    Read all counters of a folder; those that can't be read are named. Strict: UsageError for what
    are no counters, and if there are none.
    """
    from isthmus.watching.counters import counter_files, read_counters

    found = []
    for path in counter_files(folder):
        try:
            found.append(read_counters(path))
        except UsageError as error:
            if strict:
                raise
            say(f"left out: {error}")
        except OSError as cause:
            say(f"left out: {path}: {cause.strerror or cause}")
    if strict and not found:
        raise UsageError(f"{folder} has no counters", hint="programs under watch write *.counters")
    return sorted(found, key=lambda one: one.begin_ns)


@contextmanager
def _folder(needed_bytes: int) -> Iterator[Path | None]:
    """Make a folder for counters, in memory if there is room, for this user alone."""
    made = None
    for base in ("/dev/shm", tempfile.gettempdir()):  # noqa: S108 - a folder in it is made
        try:
            facts = os.statvfs(base)
            if facts.f_bavail * facts.f_frsize >= needed_bytes:
                made = Path(tempfile.mkdtemp(prefix="isthmus-watch.", dir=base))
                break
        except OSError:
            continue
    try:
        yield made
    finally:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)


class _Live:
    """A line about the copies so far, once a second."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._last_s = folder, time.monotonic()

    def look(self) -> None:
        from isthmus.watching.costs import COSTS_UNKNOWN
        from isthmus.watching.verdict import verdict_on

        if time.monotonic() - self._last_s < _LIVE_S:
            return
        self._last_s = time.monotonic()
        processes = read_folder(self._folder)
        copied = sum(row.bytes for one in processes for row in one.calls if row.kind == "copy")
        seconds = verdict_on(processes, COSTS_UNKNOWN).seconds
        line = f"isthmus watch: {seconds:.3f} s in copies, {copied / 1e9:.2f} GB"
        Listener(sys.stderr).write(f"\r{line}\x1b[K")
        Listener(sys.stderr).flush()
