"""Pages as Markdown: a heading, the lines about the run, and its tables."""

from collections.abc import Iterable

from isthmus.show.markdown import markdown_table, markdown_text
from isthmus.show.page import Page, Table

_BEGINNING = """# The experiments, reproduced

Published figures beside ours, experiment by experiment, by `isthmus reproduce all`. A ratio is
ours over theirs; the two were measured on different machines.
"""


def page_markdown(title: str, page: Page, *, level: int) -> str:
    """Write a page, without pictures of characters, as one chapter."""
    signs = "#" * level
    words = ("device", "driver", "host", "theirs", "on")
    head = [f"- {_labelled(line, words)}" for line in page.head]
    blocks = [
        f"{signs} {title}",
        *([f"**{markdown_text(page.warning)}**"] if page.warning else []),
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
    return f"{label}: {markdown_text(rest.strip())}" if label in words else markdown_text(line)


def _table(table: Table, signs: str) -> str:
    return f"{signs} {markdown_text(table.title)}\n\n{markdown_table(table)}"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {markdown_text(line)}" for line in lines)
