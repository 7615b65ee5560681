"""A document as Markdown: the verdict, what each chapter shows, and its tables; no pictures."""

import re

from isthmus.report.document.page_templates import environment
from isthmus.report.document.parts import Document
from isthmus.report.page import Table

# What Markdown would take for a table's border, an element of HTML, emphasis or a link.
_SPECIAL = re.compile(r"([|<>*\[\]])")


def as_markdown(document: Document) -> str:
    """Write a document as Markdown with tables. The same document gives the same bytes."""
    templates = environment(escaped=False)
    templates.filters |= {"plain": _plain, "grid": _grid}
    return templates.get_template("page.md.j2").render(document=document)


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _grid(table: Table) -> str:
    """Write a table: words to the left, numbers to the right."""
    borders = tuple(
        ":--" if index < table.num_text_columns else "--:" for index in range(len(table.heads))
    )
    cells = [tuple(map(_plain, row)) for row in (table.heads, *table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (cells[0], borders, *cells[1:]))
