"""Asks DuckDB about runs: it sees three views, and neither files nor the network."""

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isthmus.errors import UsageError
from isthmus.ground.extras import packages_for
from isthmus.measure.query.columns import VIEWS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb
    import pyarrow as pa

# For DuckDB's own work, which can't go to disk: its default, 80 % of the machine, isn't left beside
# the runs. Rows of an answer are Python's, and not in it.
_MEMORY = "1GiB"
_MOST_ROWS = 1_000_000
# No files, no network, no extensions that would be fetched, no variables of this process, and
# nothing of this can be undone. Source: https://duckdb.org/docs/stable/operations_manual/securing_duckdb/overview
_SETTINGS = (
    "SET temp_directory = ''",
    "SET TimeZone = 'UTC'",
    f"SET memory_limit = '{_MEMORY}'",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_LESS = "ask for less: fewer rows by WHERE, LIMIT or GROUP BY, no join of everything with itself"
_HINT = (
    f"the views are {', '.join(VIEWS)}; `isthmus runs query 'DESCRIBE results'` lists the columns "
    "of one"
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """
    A table that answers a question.

    Attributes:
        rows: Python's values, as many in each row as there are columns.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def check_queries() -> None:
    """Check early whether questions can be asked."""
    with packages_for("questions in SQL", "pip install 'isthmus[scale]'"):
        import duckdb  # noqa: F401 - only whether it is there
        import pyarrow as pa  # noqa: F401


def ask(sql: str, views: "Mapping[str, pa.Table]") -> Answer:
    """Answer a question about runs: one SELECT, DESCRIBE, SUMMARIZE or EXPLAIN."""
    check_queries()
    import duckdb

    with closing(duckdb.connect(":memory:")) as connection:
        try:
            statement = _only_statement(sql, connection)
            for name, table in views.items():
                connection.register(name, table)
            for setting in _SETTINGS:
                connection.execute(setting)
            cursor = connection.execute(statement)
            heads = tuple(column[0] for column in cursor.description or ())
            rows = cursor.fetchmany(_MOST_ROWS + 1)
            if len(rows) > _MOST_ROWS:
                raise UsageError(f"the answer has more than {_MOST_ROWS} rows", hint=_LESS)
            return Answer(heads=heads, rows=tuple(rows))
        except (duckdb.OutOfMemoryException, MemoryError) as cause:
            raise UsageError(
                f"the question needs more memory than {_MEMORY}", hint=_LESS
            ) from cause
        except duckdb.Error as cause:
            raise UsageError(f"DuckDB can't answer: {_first_lines(cause)}", hint=_HINT) from None


def _only_statement(sql: str, connection: "duckdb.DuckDBPyConnection") -> "duckdb.Statement":
    import duckdb

    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise UsageError(
            f"a question is one SQL statement, and this is {len(statements)}", hint=_HINT
        )
    [statement] = statements
    # DESCRIBE and SUMMARIZE count as SELECT.
    reading = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
    if statement.type not in reading:
        raise UsageError(
            f"a question reads, and this statement is of the kind {statement.type.name}",
            hint="SELECT, DESCRIBE, SUMMARIZE and EXPLAIN read",
        )
    return statement


def _first_lines(cause: "duckdb.Error") -> str:
    """Give what DuckDB says is wrong; where in the statement it is stands below an empty line."""
    said = str(cause).split("\n\n")[0]
    return " ".join(said.split())
