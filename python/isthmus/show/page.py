"""The contents of a run's report, without its appearance."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Table:
    """
    A table of text.

    Attributes:
        title: What the numbers are, and their unit.
        rows: Cells, as many in each row as there are headings.
        num_text_columns: The number of columns on the left with words; the others have numbers.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    num_text_columns: int = 1


@dataclass(frozen=True, kw_only=True)
class Page:
    """
    A report.

    Attributes:
        warning: The first line, if the numbers need a warning.
        verdict: The last lines: what the numbers say, and what to do.
    """

    warning: str | None
    head: tuple[str, ...]
    tables: tuple[Table, ...]
    foot: tuple[str, ...]
    problems: tuple[str, ...]
    verdict: tuple[str, ...] = ()
