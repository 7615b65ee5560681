"""A run as an object that rich prints on a terminal: the plain text, in colours."""

from collections.abc import Iterable

from rich.text import Text

from isthmus.ground.spelling import one_line
from isthmus.measure.run.model import Run
from isthmus.show.fitting import table_lines, wrapped
from isthmus.show.formats.as_text import head_of, page_as
from isthmus.show.page import Page, Table

_STATUS_STYLES = {"error": "red", "waived": "yellow"}


def as_renderable(
    run: Run,
    *,
    width: int,
    verbose: bool = False,
    pictures: bool = False,
    brief: bool = False,
) -> Text:
    """Lay out a run for a terminal: the same words and numbers as the plain text."""
    return page_renderable(page_as(run, verbose=verbose, pictures=pictures, brief=brief), width)


def page_renderable(page: Page, width: int) -> Text:
    """Lay out a page for a terminal of so many columns."""
    warning = [page.warning] if page.warning else []
    blocks = [
        [*_lines(warning, width, "bold yellow"), *map(_text, head_of(page.head, width))],
        *(_table(table, width) for table in page.tables),
        _lines(page.foot, width, "dim"),
        [line for text in page.problems for line in _lines([text], width, _style(text))],
        [_text(line, "bold") for line in head_of(page.verdict, width)],
    ]
    return Text("\n\n").join(Text("\n").join(block) for block in blocks if block)


def _table(table: Table, width: int) -> list[Text]:
    num_title_lines = len(wrapped(table.title, width))
    lines = table_lines(table, width)
    titles = [_text(line, "bold") for line in lines[:num_title_lines]]
    rows = [_text(line) for line in lines[num_title_lines:]]
    for word, style in _STATUS_STYLES.items():
        # A heading may be the same word.
        if any(word in cells for cells in table.rows):
            for row in rows:
                row.highlight_words([word], style)
    return [*titles, *rows]


def _lines(texts: Iterable[str], width: int, style: str) -> list[Text]:
    return [_text(line, style) for text in texts for line in wrapped(text, width)]


def _text(line: str, style: str = "") -> Text:
    return Text(one_line(line), style=style)


def _style(problem: str) -> str:
    return "red" if problem.startswith("error") else "yellow"
