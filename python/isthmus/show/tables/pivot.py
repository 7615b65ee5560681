"""Results as a table: a row for each circumstance, a column for each size, way or quantity."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Result, Status
from isthmus.show.numbers import four_digit_microseconds, gigabytes_per_second, microseconds
from isthmus.show.page import Table

Word = Callable[[Result], str]


def median_cell(result: Result, time: Callable[[float], str] = four_digit_microseconds) -> str:
    """Write a median in GB/s, in microseconds or as a ratio; or a word if there is none."""
    if result.median is None:
        return result.status.value
    if result.unit == "B/s":
        return gigabytes_per_second(result.median)
    return f"{result.median:.2f}x" if result.unit == "1" else time(result.median)


def two_decimal_cell(result: Result) -> str:
    """Write a median as `median_cell` does, a time with two decimals."""
    return median_cell(result, microseconds)


def pivot(
    title: str,
    results: Sequence[Result],
    *,
    row: Mapping[str, Word],
    column: Word,
    cell: Word = median_cell,
    columns: Iterable[str] | None = None,
) -> Table | None:
    """
    Put each result, in order, into its row and its column; `columns` has all headings in order, or
    they stand as they occur. None if there are no results.
    """
    if not results:
        return None
    heads = list(dict.fromkeys(map(column, results) if columns is None else columns))
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for result in results:
        words = tuple(word(result) for word in row.values())
        rows.setdefault(words, {})[column(result)] = cell(result)
    return Table(
        title=title,
        heads=(*row, *heads),
        rows=tuple(
            (*words, *(cells.get(head, "") for head in heads)) for words, cells in rows.items()
        ),
        num_text_columns=len(row),
    )


def attempted(results: Iterable[Result]) -> list[Result]:
    """Leave out waived results."""
    return [result for result in results if result.status != Status.WAIVED]


def by_size(results: Iterable[Result]) -> list[Result]:
    """Sort results by size."""
    return sorted(results, key=lambda result: result.bytes)


def size_word(result: Result) -> str:
    """Write the size of a result."""
    return format_size(result.bytes)


def sizes(results: Iterable[Result]) -> list[str]:
    """List the sizes of results, the smallest first."""
    return list(dict.fromkeys(map(size_word, by_size(results))))
