"""A run as plain text: aligned columns, no colour, the same bytes on every terminal."""

from isthmus.report.bandwidth import bandwidth_notes, bandwidth_table
from isthmus.report.heading import emulated_warning, head_lines
from isthmus.report.page import Page, Table
from isthmus.report.problems import problem_lines
from isthmus.report.small_copies import comparison_lines, small_copy_table, waived_lines
from isthmus.report.windows import window_notes, window_tables
from isthmus.run.model import Run

_GAP = "  "


def page_of(run: Run) -> Page:
    """Collect what a report of the run contains."""
    tables = (bandwidth_table(run), small_copy_table(run), *window_tables(run))
    return Page(
        warning=emulated_warning(run.machine),
        head=head_lines(run),
        tables=tuple(table for table in tables if table is not None),
        foot=(
            *bandwidth_notes(run),
            *comparison_lines(run),
            *waived_lines(run),
            *window_notes(run),
        ),
        problems=tuple(problem_lines(run)),
    )


def as_text(run: Run) -> str:
    """Write a run as plain text."""
    page = page_of(run)
    head = [*([page.warning] if page.warning else []), *page.head]
    blocks = [head, *map(table_lines, page.tables), page.foot, page.problems]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def table_lines(table: Table) -> list[str]:
    """Align a table: words to the left, numbers to the right."""
    grid = [table.heads, *table.rows]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    lines = []
    for row in grid:
        cells = [
            cell.ljust(width) if index < table.num_text_columns else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(_GAP.join(cells).rstrip())
    return [table.title, *lines]
