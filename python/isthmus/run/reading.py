"""Finds a run that somebody names, and refuses what is none with words that help."""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from isthmus.errors import UsageError
from isthmus.run.model import Run
from isthmus.run.store import runs_folder
from isthmus.suggest import shortened

SCHEMA_VERSION = 1
LAST = "last"
_HINT = (
    f"name a file of `isthmus bench --output run.json`, the id of a run that was kept, or {LAST}"
)


def read_run(named: str) -> Run:
    """
    Read a run.

    Args:
        named: A file; the beginning of the id of a run that was kept; or "last".

    Raises:
        UsageError: There is none of that name, it is no run, or it is of another schema.
    """
    path = _find(named)
    try:
        document = json.loads(path.read_bytes())
    except OSError as cause:
        raise UsageError(f"can't read {path}: {cause.strerror or cause}", hint=_HINT) from cause
    except ValueError as cause:
        raise UsageError(f"{path} is no run: it isn't JSON", hint=_HINT) from cause
    _check_schema(path, document)
    try:
        return Run.model_validate_json(path.read_bytes())
    except ValidationError as cause:
        first = cause.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path} is no run: {where}: {first['msg']}", hint=_HINT) from cause


def _check_schema(path: Path, document: Any) -> None:  # noqa: ANN401 - whatever JSON may hold
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(version, int) or "results" not in document:
        raise UsageError(f"{path} is no run: it has no schema version and results", hint=_HINT)
    if version != SCHEMA_VERSION:
        raise UsageError(
            f"{path} is of schema {version}, and this version reads schema {SCHEMA_VERSION} only",
            hint="measure again, or use the version that wrote it",
        )


def _find(named: str) -> Path:
    path = Path(named)
    if path.is_file():
        return path
    found = _kept(named)
    if len(found) > 1 and named != LAST:
        names = ", ".join(file.name for file in found[-3:])
        raise UsageError(f"more than one run fits '{shortened(named)}': {names}", hint=_HINT)
    if not found:
        raise UsageError(f"there is no run '{shortened(named)}'", hint=_HINT)
    return found[-1]


def _kept(named: str) -> list[Path]:
    """List runs that were kept, the latest last: their names begin with the time."""
    try:
        files = sorted(runs_folder().glob("*.json"))
    except (OSError, RuntimeError):
        return []
    if named == LAST:
        return files
    return [file for file in files if named and file.stem.partition("-")[2].startswith(named)]
