"""
Where a sweep's points are kept: a journal while it runs, a Parquet file when it ends.

Every finished point is in the journal, on disk, before it counts as finished. So a sweep that was
killed continues where it was. The journal is deleted only when the Parquet file is durable.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from isthmus.errors import UsageError, WriteError
from isthmus.files.journal import Journal, read_lines
from isthmus.files.regular import open_regular
from isthmus.files.whole import write_whole
from isthmus.ground.extras import packages_for

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, "str | int | float | bool | None"]
_MARK = b"isthmus.sweep"
_VERSION = 1
_GOES_ON = "finished points are in the journal beside it: the same command continues there"


class SweepStore:
    """
    The finished points of one sweep. Use it as a context: at its end the Parquet file is written
    with all finished points.
    """

    def __init__(self, path: Path, identity: str, order: Sequence[str]) -> None:
        """
        Read the points that are finished already; a file of another sweep is refused. Keys of
        points are in the order of the table; others come after them.
        """
        check_pyarrow()
        self._path = path
        self._identity = identity
        self._order = {key: index for index, key in enumerate(order)}
        self._journal_path = path.with_name(path.name + ".journal")
        try:
            self._rows = self._read_table()
            # Rows that the Parquet file doesn't have.
            self._journalled = self._read_journal()
        except OSError as cause:
            raise WriteError(
                f"can't read {path}: {cause.strerror or cause}",
                hint="choose another --output, or check the disk",
            ) from cause
        self._rows |= self._journalled

    def __enter__(self) -> Self:
        """Begin a journal with the rows of the existing one."""
        entries = [json.dumps({"sweep": _VERSION, "identity": self._identity})]
        entries += [_entry(key, row) for key, row in self._journalled.items()]
        self._journal = Journal(self._journal_path, entries, hint=_GOES_ON)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """
        Write the table; the journal is deleted only when the table is durable. If the sweep ended
        with an error, a failure to write becomes a note of that error.
        """
        self._journal.close()
        try:
            if self._journalled or not self._path.exists():
                self._write_table()
        except WriteError as failure:
            if error is None:
                raise
            error.add_note(str(failure))
            return
        self._journal.remove()

    def __contains__(self, key: str) -> bool:
        """Whether a point is finished."""
        return key in self._rows

    def row(self, key: str) -> Row:
        """Give a finished point."""
        return self._rows[key]

    def add(self, key: str, row: Row) -> None:
        """Keep a finished point, on disk when this returns."""
        self._journal.add(_entry(key, row))
        self._rows[key] = self._journalled[key] = row

    def _read_journal(self) -> dict[str, Row]:
        lines = read_lines(self._journal_path)
        if not lines:
            return {}
        head, *entries = map(_parsed, lines)
        if head.get("identity") != self._identity:
            raise self._other_sweep(self._journal_path)
        # If the program was killed, the last line may be incomplete: that point is run again.
        rows = {str(one["key"]): one["row"] for one in entries if _is_point(one)}
        self._check_columns(rows)
        return rows

    def _read_table(self) -> dict[str, Row]:
        if not self._path.exists():
            return {}
        import pyarrow as pa
        import pyarrow.parquet as pq

        with open_regular(self._path) as file:
            try:
                # No threads: see query/store.py.
                table = pq.read_table(file, use_threads=False)
                rows = table.to_pylist()
            except (pa.ArrowException, ValueError, TypeError, OverflowError, OSError) as cause:
                # pyarrow also raises OSError for invalid contents, but without an errno.
                if isinstance(cause, OSError) and cause.errno is not None:
                    raise
                raise self._other_sweep(self._path) from cause
        if (table.schema.metadata or {}).get(_MARK) != self._identity.encode():
            raise self._other_sweep(self._path)
        # Without rows there are only the columns of the keys.
        if rows and not {"key", "error"} <= set(table.column_names):
            raise self._other_sweep(self._path)
        return {str(row["key"]): row for row in rows}

    def _check_columns(self, rows: Mapping[str, Row]) -> None:
        """Refuse rows that make no table: at the sweep's end it would be too late."""
        import pyarrow as pa

        try:
            _table({**self._rows, **rows}, self._identity)
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as cause:
            raise self._other_sweep(self._journal_path) from cause

    def _write_table(self) -> None:
        # Points finish in any order; equal sweeps have equal tables.
        keys = sorted(self._rows, key=lambda key: (self._order.get(key, len(self._order)), key))
        rows = {key: self._rows[key] for key in keys}
        write_whole(self._path, parquet_bytes(_table(rows, self._identity)), hint=_GOES_ON)

    def _other_sweep(self, path: Path) -> UsageError:
        return UsageError(
            f"{path} is of another sweep, or isn't one",
            hint="give the same axes and settings to continue it, or another --output",
        )


class MemoryStore(SweepStore):
    """Keeps nothing beyond the process."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._rows: dict[str, Row] = {}

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Do nothing."""

    def add(self, key: str, row: Row) -> None:
        """Keep a finished point."""
        self._rows[key] = row


def check_pyarrow() -> None:
    """Check early whether Parquet files can be written."""
    with packages_for("Parquet files", "pip install 'isthmus[sim]'"):
        import pyarrow.parquet  # noqa: F401 - only whether it is there


def parquet_bytes(table: "pa.Table") -> bytes:
    """Write a table via memory: pyarrow doesn't sync files, and thousands of rows are small."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = pa.BufferOutputStream()
    pq.write_table(table, made)
    whole: bytes = made.getvalue().to_pybytes()
    return whole


def parquet_of(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> bytes:
    """Write records as Parquet."""
    import pyarrow as pa

    return parquet_bytes(pa.table({name: [row.get(name) for row in rows] for name in columns}))


def _table(rows: Mapping[str, Row], identity: str) -> "pa.Table":
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows.values() for name in row)
    columns: dict[str, Sequence[object]] = {
        name: [row.get(name) for row in rows.values()] for name in ["key", *names] if name != "key"
    }
    table = pa.table({"key": list(rows), **columns})
    return table.replace_schema_metadata({_MARK: identity.encode()})


def _parsed(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


def _entry(key: str, row: Row) -> str:
    return json.dumps({"key": key, "row": row})


def _is_point(entry: Mapping[str, object]) -> bool:
    """Whether a journal's line is a complete point."""
    row = entry.get("row")
    return (
        "key" in entry
        and isinstance(row, dict)
        and "error" in row
        and all(value is None or isinstance(value, str | int | float) for value in row.values())
    )
