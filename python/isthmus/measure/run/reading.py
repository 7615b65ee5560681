"""Finds a run that a user names, and refuses anything else with helpful words."""

import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from isthmus.errors import UsageError
from isthmus.files.regular import read_regular, refuse_shortage
from isthmus.ground.spelling import shortened
from isthmus.measure.run.break_even import with_both_lives
from isthmus.measure.run.model import Run
from isthmus.measure.run.record import first_fault
from isthmus.measure.run.store import FINISHED, UNFINISHED, runs_folder, unfinished_run

SCHEMA_VERSION = 1
LAST = "last"
# Every test at every size with all its samples takes some 20 MB.
_MAX_BYTES = 256 << 20
_HINT = (
    f"name a file of `isthmus bench --output run.json`, the id of a stored run, or {LAST}; "
    "`isthmus runs list` shows the ids"
)


def read_run(named: str) -> Run:
    """
    Read a run by its file, by the beginning of a stored one's id, or by "last" for the last
    finished one; of an unfinished run, the results that were finished.
    """
    return read_run_file(find_run(named))


def read_run_file(path: Path) -> Run:
    """Read the run in a file."""
    try:
        contents = read_regular(path, max_bytes=_MAX_BYTES)
    except OSError as cause:
        raise UsageError(f"can't read {path}: {cause.strerror or cause}", hint=_HINT) from cause
    return (
        unfinished_run(contents, str(path)) if is_journal(path) else parse_run(contents, str(path))
    )


def is_journal(path: Path) -> bool:
    """Whether a file's name is that of a run that is being measured, or that was killed."""
    return path.suffix == UNFINISHED


def parse_run(contents: bytes, name: str) -> Run:
    """Read a run's JSON; the name of its file is for messages."""
    try:
        run = Run.model_validate_json(contents)
        return run.model_copy(update={"results": with_both_lives(run.results)})
    except ValidationError as cause:
        fault = first_fault(cause)
    try:
        # The model's own parser limits nesting; json has only the interpreter's limit.
        document = from_json(contents)
    except ValueError as cause:
        raise UsageError(f"{name} is not a run: it isn't JSON", hint=_HINT) from cause
    _check_schema(name, document)
    raise UsageError(f"{name} is not a run: {fault}", hint=_HINT)


def _check_schema(name: str, document: Any) -> None:  # noqa: ANN401 - whatever JSON may hold
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(version, int) or "results" not in document:
        raise UsageError(f"{name} is not a run: it has no schema version and results", hint=_HINT)
    if version != SCHEMA_VERSION:
        raise UsageError(
            f"{name} is of schema {shortened(str(version))}, and this version reads schema "
            f"{SCHEMA_VERSION} only",
            hint="measure again, or use the version that wrote it",
        )


def find_run(named: str) -> Path:
    """Find the file of a run, which is named as for `read_run`."""
    if os.path.isfile(named):  # noqa: PTH113 - of any name at all
        return Path(named)
    return find_stored(named)


def find_stored(named: str) -> Path:
    """
    Find the file of a stored run by the beginning of its id, or by "last" for the last finished
    one.
    """
    found = _kept(named)
    if len(found) > 1 and named != LAST:
        names = ", ".join(file.name for file in found[-3:])
        raise UsageError(f"more than one run fits '{shortened(named)}': {names}", hint=_HINT)
    if not found:
        raise UsageError(f"there is no run '{shortened(named)}'", hint=_HINT)
    return found[-1]


def id_of(path: Path) -> str:
    """Give the id of a stored run: what follows the time in its file's name, or the whole name."""
    return path.stem.partition("-")[2] or path.name


def kept_files() -> list[Path]:
    """List the files of stored runs, unfinished ones too, the latest last."""
    try:
        found = {file.stem: file for file in runs_folder().glob(f"*{UNFINISHED}")}
        # A run that has both was killed when it was finished.
        found |= {file.stem: file for file in runs_folder().glob(f"*{FINISHED}")}
    except (OSError, RuntimeError) as cause:
        if isinstance(cause, OSError):
            refuse_shortage(cause)
        return []
    # Names begin with the time.
    return [found[stem] for stem in sorted(found)]


def _kept(named: str) -> list[Path]:
    files = kept_files()
    if named == LAST:
        return [file for file in files if not is_journal(file)]
    return [file for file in files if named and id_of(file).startswith(named)]
