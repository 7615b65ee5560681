"""Text and tables as Markdown, for every page that is written in it."""

import re

from isthmus.show.page import Table

# What Markdown would take for a table's border, an element of HTML, emphasis or a link.
_SPECIAL = re.compile(r"([|<>*\[\]])")


def markdown_text(text: str) -> str:
    """Escape what Markdown would take for something else than text."""
    return _SPECIAL.sub(r"\\\1", text)


def markdown_table(table: Table) -> str:
    """Write a table without its title: words to the left, numbers to the right."""
    borders = tuple(
        ":--" if index < table.num_text_columns else "--:" for index in range(len(table.heads))
    )
    cells = [tuple(map(markdown_text, row)) for row in (table.heads, *table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (cells[0], borders, *cells[1:]))
