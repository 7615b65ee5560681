"""The user's stored runs, without their results: what they are, and which of them can go."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from isthmus.errors import UsageError
from isthmus.files.journal import is_open
from isthmus.files.regular import open_regular, refuse_shortage
from isthmus.files.whole import remove_file
from isthmus.measure.run.model import Identity
from isthmus.measure.run.reading import id_of, is_journal, kept_files
from isthmus.measure.run.record import PositiveInteger, Record
from isthmus.measure.run.store import STEM, UNFINISHED

# A run's identity, machine and options take some 10 KB, and stand before its results.
_HEAD_BYTES = 256 << 10


class State(StrEnum):
    """What has become of a run."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    RUNNING = "running"
    UNFINISHED = "unfinished"
    DAMAGED = "damaged"


class StoredRun(Record):
    """One run in the folder of the user's runs."""

    id: str
    """As `id_of` gives it."""
    state: State
    started_at: datetime | None
    """Null if the file is damaged."""
    device: str | None
    emulated: bool | None
    command: list[str]
    num_bytes: PositiveInteger | None
    """The size of its file; null if that can't be read."""
    path: Path


def stored_runs() -> list[StoredRun]:
    """List the user's runs, the latest last. Files that can't be read are listed as damaged."""
    return [stored_run(path) for path in kept_files()]


def stored_run(path: Path) -> StoredRun:
    """Describe the run in a file, by the beginning of the file."""
    name = id_of(path)
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD_BYTES)
        num_bytes = path.stat().st_size or None
        document = _document(head, path)
        identity = Identity.model_validate(document["run"])
        machine = document["machine"]
        return StoredRun(
            id=name,
            state=_state(identity, path),
            started_at=identity.started_at,
            device=machine["device"]["name"],
            emulated=machine["emulated"],
            command=identity.command,
            num_bytes=num_bytes,
            path=path,
        )
    except UsageError:
        raise
    except (OSError, ValueError, KeyError, TypeError, ValidationError) as cause:
        if isinstance(cause, OSError):
            refuse_shortage(cause)
        return _damaged(path, name)


def expendable(
    found: Sequence[StoredRun],
    *,
    keep: int | None = None,
    older_than: timedelta | None = None,
    now: datetime | None = None,
) -> list[StoredRun]:
    """
    Choose the runs, of a list with the latest last, that every given rule lets go. One that is
    being measured never can, nor a file that `isthmus` hasn't named.
    """
    ours = [run for run in found if STEM.fullmatch(run.path.stem)]
    there = [run for run in ours if run.state != State.RUNNING]
    if keep is not None:
        there = there[: max(0, len(there) - keep)]
    if older_than is not None:
        limit = (now or datetime.now(UTC)) - older_than
        there = [run for run in there if run.started_at is not None and run.started_at < limit]
    return there


def remove_run(run: StoredRun) -> None:
    """Remove a stored run."""
    if run.state == State.RUNNING:
        raise UsageError(f"run {run.id} is being measured", hint="end it first: it runs elsewhere")
    remove_file(run.path)
    # It may have both files.
    remove_file(run.path.with_suffix(UNFINISHED))


def _document(head: bytes, path: Path) -> dict[str, Any]:
    if is_journal(path):
        first, newline, _ = head.partition(b"\n")
        if not newline:
            raise ValueError("its first line is incomplete")
        document = from_json(first)["begun"]
    else:
        document = from_json(head, allow_partial=True)
    if not isinstance(document, dict):
        raise TypeError("it is not an object")
    return document


def _state(identity: Identity, path: Path) -> State:
    if is_journal(path):
        return State.RUNNING if is_open(path) else State.UNFINISHED
    return State.INTERRUPTED if identity.interrupted else State.COMPLETE


def _damaged(path: Path, name: str) -> StoredRun:
    return StoredRun(
        id=name,
        state=State.DAMAGED,
        started_at=None,
        device=None,
        emulated=None,
        command=[],
        num_bytes=None,
        path=path,
    )
