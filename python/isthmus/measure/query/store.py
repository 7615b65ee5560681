"""
What questions see of a folder of runs, so that each run is read once.

The folder is the truth. One hidden Parquet file in it has what was read; it is replaced as a whole,
and can be removed at any time: docs/adr/0020-store-of-runs.md.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import UsageError, WriteError
from isthmus.files.regular import read_regular
from isthmus.files.whole import whole_file
from isthmus.ground.spelling import one_line
from isthmus.measure.query.tables import (
    Key,
    joined,
    keys_of,
    rows_of,
    stored_schema,
    table_of,
    views_of,
)
from isthmus.measure.run.folder import FileKind, NodeFile, Unreadable, rare_collection, read_runs

if TYPE_CHECKING:
    import pyarrow as pa

FILE = ".isthmus-runs.parquet"
"""Its name in a folder of runs."""
SCHEMA_VERSION = 1
_VERSION_KEY = b"isthmus_store"
_MAX_BYTES = 1 << 30
_RUNS = {FileKind.RUN, FileKind.UNFINISHED}


@dataclass(frozen=True, kw_only=True)
class Found:
    """
    What a folder has for questions.

    Attributes:
        complaints: What is wrong with the store, in lines; the views are complete without it.
    """

    views: dict[str, "pa.Table"]
    unread: Sequence[str]
    complaints: Sequence[str]


def find_runs(folder: Path, files: Sequence[NodeFile]) -> Found:
    """Give the views of those files that are runs; what the store lacks is read, and stored."""
    # Before a file is read: one that is changed meanwhile has another key, and is read again.
    wanted = {_key(folder, one.path): one for one in files if one.kind in _RUNS}
    unread: list[str] = []
    complaints: list[str] = []
    kept, is_ours = _kept(folder / FILE, complaints)
    known = set(keys_of(kept))
    new = _read({key: file for key, file in wanted.items() if key not in known}, unread)
    both = joined([kept, new])
    rows = {key: row for row, key in enumerate(keys_of(both))}
    ordered = {key: file for key, file in wanted.items() if key in rows}
    table = rows_of(both, [rows[key] for key in ordered])
    if is_ours and (new.num_rows or table.num_rows < kept.num_rows):
        _store(folder / FILE, table, complaints)
    views = views_of(table, [*ordered.values()])
    return Found(views=views, unread=unread, complaints=complaints)


def _key(folder: Path, path: Path) -> Key:
    """Give a file's place, size and time of change; one that can't be found has no such size."""
    name = os.fsencode(path.relative_to(folder).as_posix())
    with suppress(OSError, ValueError):
        found = path.stat()
        return (name, found.st_size, found.st_mtime_ns)
    return (name, -1, -1)


def _kept(path: Path, complaints: list[str]) -> tuple["pa.Table", bool]:
    """Read the store, which is empty if it can't be used; and say whether it may be replaced."""
    is_ours = True
    try:
        return _parsed(path), is_ours
    except FileNotFoundError:
        pass
    except _NotOurs as cause:
        is_ours = False
        complaints.append(f"{path} is left as it is, and runs are read again: {cause}")
    except (UsageError, OSError) as cause:
        complaints.append(f"{path} will be replaced, and no run is lost: {_said(cause)}")
    return stored_schema().empty_table(), is_ours


def _read(files: Mapping[Key, NodeFile], unread: list[str]) -> "pa.Table":
    keys = {file.path: key for key, file in files.items()}
    tables: list[pa.Table] = []
    with rare_collection():
        for found in read_runs([*files.values()]):
            if isinstance(found, Unreadable):
                unread.append(found.why)
            else:
                tables.append(table_of(keys[found[0].path], found[1]))
    return joined(tables)


def _store(path: Path, table: "pa.Table", complaints: list[str]) -> None:
    """Replace the store. What goes wrong is a complaint: the next question reads runs again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    output = pa.BufferOutputStream()
    known = table.replace_schema_metadata({_VERSION_KEY: b"%d" % SCHEMA_VERSION})
    pq.write_table(known, output, compression="zstd")
    try:
        # It can be made again: no crash of this machine is worth a write to disk.
        with whole_file(path, durable=False, follow_link=False) as file:
            file.write(memoryview(output.getvalue()))
    except WriteError as cause:
        complaints.append(f"the store isn't written, and runs are read again: {cause}")


class _NotOurs(UsageError):
    """What stands in place of the store stays as it is."""


def _parsed(path: Path) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.is_symlink():
        raise _NotOurs("it is a link, which may lead anywhere")
    contents = read_regular(path, max_bytes=_MAX_BYTES)
    try:
        file = pq.ParquetFile(pa.BufferReader(contents))
        version = (file.metadata.metadata or {}).get(_VERSION_KEY, b"")
        fault = _fault(version, file.schema_arrow)
        # A thread of Arrow's that lets go of Python's bytes while the process ends waits for ever.
        table = file.read(use_threads=False) if fault is None else stored_schema().empty_table()
        # Also the letters of each text, and the places in each list: nothing below checks them.
        table.validate(full=True)
    except (pa.ArrowException, ValueError, KeyError, OSError, MemoryError, OverflowError) as cause:
        raise UsageError(f"it isn't Parquet, or damaged: {_said(cause)}") from cause
    if fault is not None:
        raise fault
    if any(None in key for key in keys_of(table)):
        raise UsageError("a run in it has no file")
    return table


def _fault(version: bytes, schema: "pa.Schema") -> UsageError | None:
    if version.isdigit() and int(version[:9]) > SCHEMA_VERSION:
        return _NotOurs(
            f"it is of schema {int(version[:9])}, and this version reads schema {SCHEMA_VERSION}"
        )
    if version != b"%d" % SCHEMA_VERSION or not schema.equals(stored_schema()):
        return UsageError(f"it is no store of schema {SCHEMA_VERSION}")
    return None


def _said(cause: BaseException) -> str:
    text = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
    return one_line(text.splitlines()[0] if text else type(cause).__name__)
