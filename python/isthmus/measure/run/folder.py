"""
A folder of runs, of one machine or of many: which files it has, of which node each is, and how
many are read without searching for garbage after each.
"""

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from isthmus.errors import Error, UsageError
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import read_run_file
from isthmus.measure.run.store import FINISHED, STEM, UNFINISHED


class FileKind(StrEnum):
    """What a file of the folder holds; its value is the end of the file's name."""

    DIAGNOSIS = "doctor.json"
    """What `isthmus doctor --format json` has printed."""
    ATTEMPT = "attempt.json"
    """What has become of a measurement that has left no run."""
    RUN = FINISHED
    UNFINISHED = UNFINISHED


@dataclass(frozen=True, kw_only=True)
class NodeFile:
    """
    One file of the folder.

    Attributes:
        node: The node, by the name of its folder, or of the file itself; None for a stored run,
            whose name is a time.
    """

    path: Path
    kind: FileKind
    node: str | None


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A file that can't be read."""

    file: NodeFile
    why: str


def files_of(folder: Path) -> list[NodeFile]:
    """
    List the runs, diagnoses and attempts below a folder, ordered by their paths: `NODE/*.json` and
    `NODE.json` are of the node NODE. A journal beside the run's own file is left out, and so is
    everything whose name begins with a dot.
    """
    found = sorted(_paths(folder))
    finished = {path.with_suffix("") for path in found if path.suffix == FINISHED}
    files = []
    for path in found:
        kind = _kind(path.name)
        journal = kind == FileKind.UNFINISHED and path.with_suffix("") in finished
        if kind is not None and not journal:
            files.append(NodeFile(path=path, kind=kind, node=_node(path, folder, kind)))
    return files


def read_runs(files: Sequence[NodeFile]) -> Iterator[tuple[NodeFile, Run] | Unreadable]:
    """
    Read the runs among some files, one after the other, of an unfinished one the finished results;
    or say why a file can't be read.
    """
    for file in files:
        if file.kind not in {FileKind.RUN, FileKind.UNFINISHED}:
            continue
        try:
            run = read_run_file(file.path)
        except Error as error:
            yield Unreadable(file=file, why=str(error))
        else:
            yield file, run


def _paths(folder: Path) -> Iterator[Path]:
    def refuse(cause: OSError) -> None:
        if Path(cause.filename or folder) == folder:
            raise UsageError(
                f"can't read the folder {folder}: {cause.strerror or cause}",
                hint="name a folder of runs; `isthmus bench -o FOLDER/NODE.json` writes one",
            ) from cause

    for where, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(where) / name for name in names if not name.startswith("."))


def _kind(name: str) -> FileKind | None:
    # The longer ends come first in the enumeration.
    return next((kind for kind in FileKind if name.endswith(kind.value)), None)


def _node(path: Path, folder: Path, kind: FileKind) -> str | None:
    inside = path.relative_to(folder)
    if len(inside.parts) > 1:
        return inside.parent.as_posix()
    stem = path.name.removesuffix(kind.value).removesuffix(".")
    return None if not stem or STEM.fullmatch(stem) else stem


_NEW_OBJECTS = 100_000
"""A run with 650 results is some thousand objects."""


@contextmanager
def rare_collection() -> Iterator[None]:
    """
    Search for garbage less often, in the whole process, until the block ends: a run has no cycles,
    and with Python's usual threshold reading 1,000 runs takes 1.7 times as long.
    """
    before = gc.get_threshold()
    gc.set_threshold(max(_NEW_OBJECTS, before[0]), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
