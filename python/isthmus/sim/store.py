"""
Where a sweep's points are kept: a journal while it runs, a Parquet file when it ends.

Every finished point is in the journal before the next is begun, so a sweep that was killed goes on
where it was. The Parquet file is written whole or not at all.
"""

import contextlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from isthmus.errors import Unavailable, UsageError, WriteError

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, "str | int | float | bool | None"]
_MARK = b"isthmus.sweep"
_VERSION = 1


class SweepStore:
    """
    The finished points of one sweep.

    Use as a context: at its end the Parquet file is written with whatever is finished.
    """

    def __init__(self, path: Path, identity: str, order: Sequence[str]) -> None:
        """
        Read what is finished already.

        Args:
            path: The Parquet file, there or not.
            identity: Of the sweep; a file of another one is refused.
            order: Keys of the points, in the order of the table; others come behind them.

        Raises:
            UsageError: The file is of another sweep, or of none.
            WriteError: It can't be read.
            Unavailable: pyarrow isn't installed.
        """
        check_pyarrow()
        self._path = path
        self._identity = identity
        self._order = {key: index for index, key in enumerate(order)}
        self._journal_path = path.with_name(path.name + ".journal")
        self._rows: dict[str, Row] = {}
        try:
            self._rows |= self._read_table()
            self._rows |= self._read_journal()
        except OSError as cause:
            raise WriteError(f"can't read {path}: {cause.strerror or cause}") from cause
        self._num_added = 0

    def __enter__(self) -> Self:
        """Open the journal."""
        try:
            self._journal = self._journal_path.open("a", encoding="utf-8")
            if self._journal.tell() == 0:
                self._append({"sweep": _VERSION, "identity": self._identity})
        except OSError as cause:
            raise self._write_error(cause) from cause
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the table; the journal goes only when it is there."""
        self._journal.close()
        if self._num_added or not self._path.exists():
            self._write_table()
        with contextlib.suppress(OSError):
            self._journal_path.unlink()

    def __contains__(self, key: str) -> bool:
        """Whether a point is finished."""
        return key in self._rows

    def row(self, key: str) -> Row:
        """Give a finished point."""
        return self._rows[key]

    def add(self, key: str, row: Row) -> None:
        """
        Keep a finished point, on disk when this returns.

        Raises:
            WriteError: There is no room.
        """
        try:
            self._append({"key": key, "row": row})
        except OSError as cause:
            raise self._write_error(cause) from cause
        self._rows[key] = row
        self._num_added += 1

    def _append(self, entry: Mapping[str, object]) -> None:
        self._journal.write(json.dumps(entry) + "\n")
        self._journal.flush()
        os.fsync(self._journal.fileno())

    def _read_journal(self) -> dict[str, Row]:
        if not self._journal_path.exists():
            return {}
        head, *lines = self._journal_path.read_text(encoding="utf-8").split("\n")
        if _parsed(head).get("identity") != self._identity:
            raise self._other_sweep(self._journal_path)
        # Whatever ended the program may have cut the last line.
        entries = (_parsed(line) for line in lines)
        return {str(one["key"]): _row(one["row"]) for one in entries if "key" in one}

    def _read_table(self) -> dict[str, Row]:
        if not self._path.exists():
            return {}
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(self._path)
        except pa.ArrowInvalid as cause:
            raise self._other_sweep(self._path) from cause
        if (table.schema.metadata or {}).get(_MARK) != self._identity.encode():
            raise self._other_sweep(self._path)
        return {str(row["key"]): row for row in table.to_pylist()}

    def _write_table(self) -> None:
        import pyarrow.parquet as pq

        temporary = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}.tmp")
        try:
            # Points finish in any order; equal sweeps have equal tables.
            keys = sorted(self._rows, key=lambda key: (self._order.get(key, len(self._order)), key))
            rows = {key: self._rows[key] for key in keys}
            pq.write_table(_table(rows, self._identity), temporary)
            temporary.replace(self._path)
        except OSError as cause:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise self._write_error(cause) from cause

    def _other_sweep(self, path: Path) -> UsageError:
        return UsageError(
            f"{path} is of another sweep, or of none",
            hint="give the same axes and settings to go on with it, or another --output",
        )

    def _write_error(self, cause: OSError) -> WriteError:
        return WriteError(
            f"can't write {self._path}: {cause.strerror or cause}",
            hint="finished points are in the journal beside it: the same command goes on there",
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
    """
    Find out early whether Parquet files can be written.

    Raises:
        Unavailable: They can't.
    """
    try:
        import pyarrow.parquet  # noqa: F401 - only whether it is there
    except ImportError as cause:
        raise Unavailable(
            capability="Parquet files",
            reason="pyarrow is not installed",
            needs="pip install 'isthmus[sim]'",
        ) from cause


def _table(rows: Mapping[str, Row], identity: str) -> "pa.Table":
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows.values() for name in row)
    columns: dict[str, Sequence[object]] = {
        name: [row.get(name) for row in rows.values()] for name in ["key", *names] if name != "key"
    }
    table = pa.table({"key": list(rows), **columns})
    return table.replace_schema_metadata({_MARK: identity.encode()})


def _parsed(line: str) -> dict[str, object]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _row(value: object) -> Row:
    return value if isinstance(value, dict) else {}
