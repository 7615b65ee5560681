"""
Runs as one table: as a store keeps them, and as the views that a question sees.

A row is a run: its key (file, size, time of change), what the views say of it, and a list of its
results. What depends on where the folder lies isn't in it: it comes from the files.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from isthmus.measure.query.columns import KEYS, VIEWS, Column, SqlType
from isthmus.measure.run.folder import NodeFile
from isthmus.measure.run.model import Run

if TYPE_CHECKING:
    import pyarrow as pa

Key = tuple[bytes, int, int]
"""A file's path below its folder, its size in bytes, and when it was changed (ns since 1970)."""
_KEY = ("path", "size", "changed_ns")
_RESULTS = "results"


@cache
def stored_schema() -> "pa.Schema":
    """Give the columns of a table of runs."""
    import pyarrow as pa

    def struct(columns: Sequence[Column]) -> "pa.DataType":
        return pa.struct([pa.field(one.name, _stored_type(one.type)) for one in columns])

    parts = [
        pa.field(name, pa.list_(struct(own)) if name == _RESULTS else struct(own))
        for name, own in _stored().items()
    ]
    key = zip(_KEY, (pa.binary(), pa.int64(), pa.int64()), strict=True)
    return pa.schema([*(pa.field(*one) for one in key), *parts])


def table_of(key: Key, run: Run) -> "pa.Table":
    """Make the table of a run."""
    import pyarrow as pa

    def values(columns: Sequence[Column], thing: object) -> dict[str, Any]:
        return {column.name: column.value(thing) for column in columns}

    row: dict[str, Any] = dict(zip(_KEY, key, strict=True))
    for name, columns in _stored().items():
        if name == _RESULTS:
            row[name] = [values(columns, result) for result in run.results]
        else:
            row[name] = values(columns, run)
    return pa.Table.from_pylist([row], schema=stored_schema())


def keys_of(table: "pa.Table") -> list[Key]:
    """Give the key of each row."""
    return list(zip(*(table[name].to_pylist() for name in _KEY), strict=True))


def joined(tables: Sequence["pa.Table"]) -> "pa.Table":
    """Put tables of runs one after the other, in one piece."""
    import pyarrow as pa

    some = [table for table in tables if table.num_rows]
    whole = pa.concat_tables(some) if some else stored_schema().empty_table()
    # One piece already: what follows would copy it.
    if all(column.num_chunks == 1 for column in whole.columns):
        return whole
    return whole.unify_dictionaries().combine_chunks()


def rows_of(table: "pa.Table", rows: Sequence[int]) -> "pa.Table":
    """Choose rows by their numbers."""
    import pyarrow as pa

    if rows == [*range(table.num_rows)]:
        return table
    return table.take(pa.array(rows, pa.int64()))


def views_of(table: "pa.Table", files: Sequence[NodeFile]) -> dict[str, "pa.Table"]:
    """Give each view as a table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = table.combine_chunks()
    parts = {name: _one(whole[name]) for name in _stored()}
    results = parts.pop(_RESULTS)
    runs = pc.list_parent_indices(results)
    parts[_RESULTS] = results.flatten()
    found = {}
    for view, columns in VIEWS.items():
        arrays: list[pa.Array] = []
        for column in columns:
            if column.of == "file":
                array = pa.array(list(map(column.value, files)), pa.string()).dictionary_encode()
            else:
                part = "keys" if column in KEYS else view
                array = pc.struct_field(parts[part], column.name)
            if view == _RESULTS and column.of != "result":
                array = array.take(runs)
            arrays.append(array)
        found[view] = pa.Table.from_arrays(arrays, names=[column.name for column in columns])
    return found


@cache
def _stored() -> Mapping[str, tuple[Column, ...]]:
    """Give the columns that are stored: those of all views, and each view's own."""
    own = {
        view: tuple(one for one in columns if one not in KEYS and one.of != "file")
        for view, columns in VIEWS.items()
    }
    return {"keys": tuple(one for one in KEYS if one.of != "file")} | own


def _stored_type(kind: SqlType) -> "pa.DataType":
    import pyarrow as pa

    types: dict[SqlType, Callable[[], Any]] = {
        # Few texts are different: a dictionary has each once. DuckDB calls it VARCHAR, too.
        "VARCHAR": lambda: pa.dictionary(pa.int32(), pa.string()),
        "BIGINT": pa.int64,
        "DOUBLE": pa.float64,
        "BOOLEAN": pa.bool_,
        "TIMESTAMP": lambda: pa.timestamp("us"),
    }
    return types[kind]()


def _one(column: "pa.ChunkedArray") -> "pa.Array":
    import pyarrow as pa

    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
