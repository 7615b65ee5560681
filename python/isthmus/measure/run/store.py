"""
Where runs are kept, and a run while it is measured: a journal beside the finished runs.

Every finished point is in the journal at once, so a run that is killed keeps what was finished. The
journal is removed when the run's own file is durable.
"""

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import AwareDatetime, ConfigDict, ValidationError

from isthmus.errors import UsageError, WriteError
from isthmus.files.folder import make_folder, try_folder, writing
from isthmus.files.journal import Journal
from isthmus.files.whole import write_whole
from isthmus.ground.json_text import json_text
from isthmus.ground.spelling import one_line
from isthmus.measure.run.model import Run
from isthmus.measure.run.record import PositiveInteger, Record, first_fault
from isthmus.measure.run.result import Result

FINISHED = ".json"
"""The suffix of a run's file."""
UNFINISHED = ".journal"
"""The suffix of the file of a run that is being measured, or that was killed."""
STEM = re.compile(r"[0-9]{8}T[0-9]{6}Z-.+")
"""What `stem_of` gives: a name of a time, and not of a node."""


def runs_folder() -> Path:
    """Give the folder of the user's runs: `$XDG_DATA_HOME/isthmus/runs`, or below `~/.local`."""
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    # The XDG specification says to ignore a relative path.
    data = base if base.is_absolute() else Path.home() / ".local" / "share"
    return data / "isthmus" / "runs"


def run_text(run: Run) -> str:
    """Give a run as JSON text, one result a line."""
    return json_text(json.loads(run.model_dump_json()))


def save_run(run: Run, folder: Path | None = None) -> Path:
    """Keep a run among the user's runs, or in a folder, and give its file."""
    target_folder = make_folder(folder or place_of_runs())
    return write_whole(target_folder / f"{stem_of(run)}{FINISHED}", run_text(run))


def stem_of(run: Run) -> str:
    """Give the name of a run's file without its suffix: its time, which sorts, and its id."""
    return f"{run.run.started_at:%Y%m%dT%H%M%SZ}-{run.run.id}"


def check_runs_folder() -> None:
    """Check whether a run could be kept among the user's runs. Leaves nothing behind."""
    folder = place_of_runs()
    # save_run creates what is missing.
    while not os.path.lexists(folder):
        folder = folder.parent
    with writing(folder):
        try_folder(folder)


def place_of_runs() -> Path:
    """Give the folder of the user's runs for writing."""
    try:
        return runs_folder()
    except RuntimeError as cause:
        raise WriteError(f"no place for the run: {cause}", hint="set XDG_DATA_HOME") from cause


PartT = TypeVar("PartT", bound=Record)
_VERSION = 1
# A crash of the machine may cost the points since the last write to disk. A point that ends so long
# after it is written to disk with all before it; no other point waits for the disk.
_DURABLE_EVERY_S = 1.0


class Version(Record):
    """What the first line of a journal of any version has."""

    model_config = ConfigDict(extra="ignore")

    run_journal: PositiveInteger
    """The version of the journal's format."""


class Head(Version):
    """The first line of a journal. Earlier programs also wrote the number of points."""

    begun: Run
    """The run without results, as if it had been interrupted at once."""


class FinishedPoint(Record):
    """Each further line of a journal."""

    at: AwareDatetime
    results: list[Result]


class RunJournal:
    """The journal of a run that is being measured."""

    def __init__(
        self,
        folder: Path,
        begun: Run,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin the journal of a run without results, in a folder that may not exist yet."""
        head = Head(run_journal=_VERSION, begun=begun)
        path = make_folder(folder) / f"{stem_of(begun)}{UNFINISHED}"
        self._journal = Journal(path, [head.model_dump_json()])
        self._clock = clock
        self._durable_s = clock()

    def add(self, results: Sequence[Result]) -> None:
        """Keep a finished point. It survives the end of this process when this returns."""
        now = self._clock()
        durable = now - self._durable_s >= _DURABLE_EVERY_S
        self._durable_s = now if durable else self._durable_s
        point = FinishedPoint(at=datetime.now(UTC), results=list(results))
        self._journal.add(point.model_dump_json(), durable=durable)

    def close(self) -> None:
        """End the writing, and keep the file."""
        self._journal.close()

    def remove(self) -> None:
        """Remove the file, because the run is kept elsewhere."""
        self._journal.close()
        self._journal.remove()


def unfinished_run(contents: bytes, name: str) -> Run:
    """
    Read a journal: the results that were finished, none of them derived, as those of an interrupted
    run. The last line may be incomplete: that point is left out.
    """
    head, *lines = contents.decode(errors="replace").split("\n")
    if not lines:
        raise _damaged(name, 1, "it is incomplete")
    begun = _head(head, name).begun
    *complete, _ = lines
    points = [
        _parsed(FinishedPoint, line, name, number + 2) for number, line in enumerate(complete)
    ]
    results = [result for point in points for result in point.results]
    finished_at = points[-1].at if points else begun.run.finished_at
    identity = begun.run.model_copy(update={"finished_at": finished_at, "interrupted": True})
    return begun.model_copy(update={"run": identity, "results": results})


def _head(line: str, name: str) -> Head:
    version = _parsed(Version, line, name, 1).run_journal
    if version != _VERSION:
        raise UsageError(
            f"{name} is a journal of version {version}, and this version reads {_VERSION} only",
            hint="use the version that wrote it",
        )
    return _parsed(Head, line, name, 1)


def _parsed(kind: type[PartT], line: str, name: str, number: int) -> PartT:
    try:
        return kind.model_validate_json(line)
    except ValidationError as cause:
        raise _damaged(name, number, one_line(first_fault(cause))) from None


def _damaged(name: str, number: int, why: str) -> UsageError:
    return UsageError(
        f"{name} is damaged: line {number}: {why}",
        hint="its run was not finished; `isthmus runs rm ID` removes it",
    )
