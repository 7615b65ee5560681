"""
The store of a folder of runs: what questions see of them, so that each run is read once.

The folder is the truth. The store is Parquet files in a hidden folder of it, which can be removed
at any time: docs/adr/0020-store-of-runs.md. Each of them is written whole and never changed.
"""

import os
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import UsageError, WriteError
from isthmus.files.folder import make_folder
from isthmus.files.regular import read_regular
from isthmus.files.whole import remove_file, whole_file
from isthmus.ground.suggest import one_line
from isthmus.measure.query.tables import (
    Key,
    joined,
    keys_of,
    rows_of,
    stored_schema,
    table_of,
    views_of,
)
from isthmus.measure.run.folder import FileKind, NodeFile, Unreadable, read_runs
from isthmus.measure.run.garbage import rare_collection

if TYPE_CHECKING:
    import pyarrow as pa

    from isthmus.measure.run.model import Run

FOLDER = ".isthmus-store"
"""Its name in a folder of runs."""
SCHEMA_VERSION = 1
_NAME = re.compile(r"[0-9a-f]{16}\.parquet")
_VERSION_KEY = b"isthmus_store"
_MAX_BYTES = 1 << 30
# So many runs are in memory at once while they are read.
_BATCH = 16
_FEW_FILES = 8
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


class Store:
    """The store of one folder. Several processes may use it at the same time."""

    def __init__(self, runs: Path) -> None:
        """Use the store of a folder of runs. Nothing is read or written yet."""
        self._runs, self._folder = runs, runs / FOLDER
        self._bad: list[Path] = []
        self._newer: list[Path] = []
        self.complaints: list[str] = []
        """What was wrong with the store."""

    def find(self, files: Sequence[NodeFile]) -> Found:
        """Give the views of those files that are runs; what the store lacks is read, and stored."""
        wanted = {self._key(one.path): one for one in files if one.kind in _RUNS}
        kept = joined([table for path in self._paths() if (table := self._table(path)) is not None])
        known = set(keys_of(kept))
        unread: list[Unreadable] = []
        new = self._read([one for key, one in wanted.items() if key not in known], unread)
        if new.num_rows or self._bad:
            # What files no longer say is most of it: one new file replaces all others.
            self._store(new, everything=kept.num_rows > 2 * len(known & wanted.keys()))
        whole = joined([kept, new])
        rows = {key: row for row, key in enumerate(keys_of(whole))}
        ordered = [(file, rows[key]) for key, file in wanted.items() if key in rows]
        table = rows_of(whole, [row for _, row in ordered])
        return Found(
            views=views_of(table, [file for file, _ in ordered]),
            unread=[one.why for one in unread],
            complaints=self.complaints,
        )

    def append(self, runs: Iterable[tuple[Path, "Run"]]) -> None:
        """Store runs that were written just now. What goes wrong is a complaint, and no error."""
        self._store(table_of([(self._key(path), run) for path, run in runs]))

    def _key(self, path: Path) -> Key:
        return (os.fsencode(path.relative_to(self._runs).as_posix()), *_stamp(path))

    def _read(self, files: Sequence[NodeFile], unread: list[Unreadable]) -> "pa.Table":
        # Before it is read: what is changed meanwhile will have another key, and is read again.
        keys = {one.path: self._key(one.path) for one in files}
        tables: list[pa.Table] = []
        batch: list[tuple[Key, Run]] = []
        with rare_collection():
            for found in read_runs(files):
                if isinstance(found, Unreadable):
                    unread.append(found)
                    continue
                batch.append((keys[found[0].path], found[1]))
                if len(batch) == _BATCH:
                    tables.append(table_of(batch))
                    batch = []
        return joined([*tables, table_of(batch)])

    def _paths(self) -> list[Path]:
        """List the files that a store has made: others aren't read, and never removed."""
        try:
            found = [] if self._folder.is_symlink() else sorted(self._folder.iterdir())
            return [one for one in found if _NAME.fullmatch(one.name) and not one.is_symlink()]
        except OSError:
            return []

    def _table(self, path: Path) -> "pa.Table | None":
        """Read a file of the store; None if it can't be used, which is a complaint."""
        try:
            return _parsed(path)
        except FileNotFoundError:
            # Another process has put it into a larger one. What it had is read from the runs.
            return None
        except _Newer as cause:
            self._newer.append(path)
            self.complaints.append(f"{path} is left as it is: {cause}")
        except (UsageError, OSError) as cause:
            self.complaints.append(f"{path} will be replaced, and no run is lost: {_said(cause)}")
            self._bad.append(path)
        return None

    def _store(self, new: "pa.Table", *, everything: bool = False) -> None:
        """Write a table into a new file, together with files that aren't much larger."""
        try:
            make_folder(self._folder, follow_link=False)
            encoded = _encoded(new)
            merged = self._merged(encoded.size, everything=everything)
            old = {path: table for path in merged if (table := self._table(path)) is not None}
            if old:
                new = self._alive(joined([new, *old.values()]))
                encoded = _encoded(new)
            if new.num_rows:
                path = self._folder / f"{secrets.token_hex(8)}.parquet"
                # It can be made again: no crash of this machine is worth a write to disk.
                with whole_file(path, durable=False, follow_link=False) as file:
                    file.write(memoryview(encoded))
            for path in (*old, *self._bad):
                remove_file(path)
            self._bad.clear()
        except WriteError as cause:
            self.complaints.append(f"the store isn't written, and runs are read again: {cause}")

    def _merged(self, new_bytes: int, *, everything: bool) -> list[Path]:
        """
        Choose what a new file replaces: nothing while there are few files; then the smallest, each
        no larger than all before it together, so that each run is written a few times only.
        """
        other = [*self._bad, *self._newer]
        sizes = sorted((_stamp(path)[0], path) for path in self._paths() if path not in other)
        total, chosen = new_bytes, []
        if len(sizes) < _FEW_FILES and not everything:
            return []
        for size, path in sizes:
            if size > total and not everything:
                break
            total += size
            chosen.append(path)
        return chosen

    def _alive(self, table: "pa.Table") -> "pa.Table":
        """Leave out what the files no longer say, and what is there twice."""
        rows: dict[Key, int] = {}
        for row, key in enumerate(keys_of(table)):
            path, *stamp = key
            if stamp == [*_stamp(self._runs / os.fsdecode(path))]:
                rows.setdefault(key, row)
        return rows_of(table, [*rows.values()])


class Arriving:
    """Stores runs while they arrive, some at a time."""

    def __init__(self, store: Store) -> None:
        """Store into a store."""
        self._store = store
        self._runs: list[tuple[Path, Run]] = []

    def add(self, path: Path, run: "Run") -> None:
        """Take a run that was written just now, with its file."""
        self._runs.append((path, run))
        if len(self._runs) == _BATCH:
            self.flush()

    def flush(self) -> None:
        """Store what has arrived."""
        if self._runs:
            self._store.append(self._runs)
            self._runs = []


class _Newer(UsageError):
    """A file of the store is of a newer schema."""


def _parsed(path: Path) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

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
        return _Newer(
            f"it is of schema {int(version[:9])}, and this version reads schema {SCHEMA_VERSION}; "
            "the runs are read instead"
        )
    if version != b"%d" % SCHEMA_VERSION or not schema.equals(stored_schema()):
        return UsageError(f"it is no store of schema {SCHEMA_VERSION}")
    return None


def _encoded(table: "pa.Table") -> "pa.Buffer":
    import pyarrow as pa
    import pyarrow.parquet as pq

    output = pa.BufferOutputStream()
    known = table.replace_schema_metadata({_VERSION_KEY: b"%d" % SCHEMA_VERSION})
    pq.write_table(known, output, compression="zstd")
    return output.getvalue()


def _said(cause: BaseException) -> str:
    text = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
    return one_line(text.splitlines()[0] if text else type(cause).__name__)


def _stamp(path: Path) -> tuple[int, int]:
    """Give a file's size and when it was changed; a file that can't be found has no such size."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return (-1, -1)
    return (found.st_size, found.st_mtime_ns)
