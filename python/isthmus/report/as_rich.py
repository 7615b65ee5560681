"""A run as an object that rich prints on a terminal."""

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from isthmus.report.as_text import page_as
from isthmus.report.page import Table
from isthmus.run.model import Run


def as_renderable(run: Run, *, use_mean: bool = False, verbose: bool = False) -> Group:
    """Lay out a run for a terminal: the same words and numbers as the plain text."""
    page = page_as(run, use_mean=use_mean, verbose=verbose)
    parts: list[RenderableType] = []
    if page.warning:
        parts.append(Text(page.warning, style="bold yellow"))
    parts += [Text(line) for line in page.head]
    for table in page.tables:
        parts += [Text(), Text(table.title, style="bold"), _table(table)]
    parts += [Text(), *(Text(line, style="dim") for line in page.foot)]
    parts += [
        Text(line, style="red" if line.startswith("error") else "yellow") for line in page.problems
    ]
    return Group(*parts)


def _table(table: Table) -> RichTable:
    drawn = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for index, head in enumerate(table.heads):
        words = index < table.num_text_columns
        drawn.add_column(head, justify="left" if words else "right", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*(Text(cell, style=_style(cell)) for cell in row))
    return drawn


def _style(cell: str) -> str:
    return {"error": "red", "waived": "yellow"}.get(cell, "")
