"""A table of results: a row for each circumstance, a column for each size or quantity."""

from collections.abc import Callable, Sequence

from isthmus.report.numbers import four_digit_microseconds, gigabytes_per_second
from isthmus.report.page import Table
from isthmus.run.model import Result, Status

Words = tuple[str, ...]


def grid(
    title: str,
    keys: Words,
    results: Sequence[Result],
    row_of: Callable[[Result], Words],
    head_of: Callable[[Result], str],
    cell_of: Callable[[Result], str] | None = None,
) -> Table | None:
    """
    Lay out results: rows in the order in which they come, columns from the least bytes on.

    Args:
        title: Of the table.
        keys: Headings of what `row_of` gives.
        results: What to show; what was waived is left out.
        row_of: The words that a row begins with.
        head_of: The heading of a result's column.
        cell_of: What stands in it; None for the median.

    Returns:
        The table; None if there is nothing to show.
    """
    shown = [result for result in results if result.status != Status.WAIVED]
    if not shown:
        return None
    heads = list(dict.fromkeys(map(head_of, sorted(shown, key=lambda result: result.bytes))))
    cells = {
        (row_of(result), head_of(result)): (cell_of or median_cell)(result) for result in shown
    }
    rows = dict.fromkeys(map(row_of, shown))
    return Table(
        title=title,
        heads=(*keys, *heads),
        rows=tuple((*row, *(cells.get((row, head), "") for head in heads)) for row in rows),
        num_text_columns=len(keys),
    )


def median_cell(result: Result) -> str:
    """Write a median in GB/s or microseconds; why there is none in a word."""
    if result.median is None:
        return result.status.value
    if result.unit == "B/s":
        return gigabytes_per_second(result.median)
    return four_digit_microseconds(result.median)
