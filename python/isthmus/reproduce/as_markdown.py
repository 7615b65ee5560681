"""Pages as Markdown: a heading, the lines about the run, and its tables."""

from collections.abc import Iterable

from isthmus.report.page import Page, Table

_BEGINNING = """# The experiments, reproduced

Published figures beside ours, experiment by experiment, by `isthmus reproduce --all`. A ratio is
ours over theirs; the two were measured on different machines.
"""


def page_markdown(title: str, page: Page, *, level: int) -> str:
    """
    Write a page as one chapter.

    Args:
        title: Its heading.
        page: The page, without pictures of characters.
        level: 1 for a document of its own, 2 for a chapter of one.
    """
    signs = "#" * level
    words = ("device", "driver", "host", "theirs", "on")
    head = [f"- {_labelled(line, words)}" for line in page.head]
    blocks = [
        f"{signs} {title}",
        *([f"**{_escaped(page.warning)}**"] if page.warning else []),
        "\n".join(head),
        *(_table(table, f"{signs}#") for table in page.tables),
        _list([*page.foot, *page.problems]),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def preformatted(title: str, text: str) -> str:
    """Write text in aligned columns as one chapter."""
    return f"## {title}\n\n```text\n{text.rstrip()}\n```\n"


def document(chapters: Iterable[str]) -> str:
    """Join chapters to one document."""
    return "\n".join([_BEGINNING, *chapters])


def _labelled(line: str, words: Iterable[str]) -> str:
    label, _, rest = line.partition(" ")
    return f"{label}: {_escaped(rest.strip())}" if label in words else _escaped(line)


def _table(table: Table, signs: str) -> str:
    aligned = [":---"] * table.num_text_columns
    aligned += ["---:"] * (len(table.heads) - table.num_text_columns)
    lines = [_cells(table.heads), _cells(aligned), *map(_cells, table.rows)]
    return f"{signs} {_escaped(table.title)}\n\n" + "\n".join(lines)


def _cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_escaped(line)}" for line in lines)


def _escaped(text: str) -> str:
    """Escape what Markdown would take for a cell's end, emphasis, or a tag."""
    for sign in ("\\", "|", "*", "<"):
        text = text.replace(sign, f"\\{sign}")
    return text
