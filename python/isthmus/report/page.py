"""What a report of a run contains, before anybody decides how it looks."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Table:
    """
    A table of text.

    Attributes:
        title: Says what the numbers are, and their unit.
        heads: Headings of the columns.
        rows: Cells, as many in each row as there are headings.
        num_text_columns: So many columns on the left are words; the others are numbers.
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
        warning: The first line, if the numbers are not what they seem.
        head: Lines about the run and the machine.
        tables: The numbers.
        foot: Lines that say more about them.
        problems: What was waived or failed, one line each.
    """

    warning: str | None
    head: tuple[str, ...]
    tables: tuple[Table, ...]
    foot: tuple[str, ...]
    problems: tuple[str, ...]
