"""The blocks of code in README.md and docs/."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Its pages are generated.
_GENERATED = ROOT / "docs" / "reference"
_FENCE = re.compile(r"^```(?P<language>\S*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Snippet:
    """
    A block of code.

    Attributes:
        document: The page, from the root.
        line: Where its code begins.
        language: What the fence names; "" if nothing.
        text: The code.
    """

    document: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        """Name it in a test's report."""
        return f"{self.document}:{self.line}"


def documents() -> list[Path]:
    """List the pages that users read."""
    found = [path for path in (ROOT / "docs").rglob("*.md") if _GENERATED not in path.parents]
    return [ROOT / "README.md", *sorted(found)]


def snippets_of(text: str, document: str = "") -> list[Snippet]:
    """List the blocks of a page."""
    return [
        Snippet(document, text.count("\n", 0, found.start()) + 2, found["language"], found["text"])
        for found in _FENCE.finditer(text)
    ]


def snippets(*languages: str) -> list[Snippet]:
    """List the blocks of all pages, in some languages."""
    return [
        snippet
        for path in documents()
        for snippet in snippets_of(path.read_text("utf-8"), str(path.relative_to(ROOT)))
        if snippet.language in languages
    ]


def indented_blocks(text: str) -> list[int]:
    """List the lines at which a page has a block of code without a fence."""
    found = []
    lines = _FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text).split("\n")
    inside_list = False
    for number, line in enumerate(lines, 1):
        if re.match(r" *([-*]|\d+\.) ", line):
            inside_list = True
        elif line and not line.startswith(" "):
            inside_list = False
        after_blank = number == 1 or not lines[number - 2].strip()
        if line.startswith("    ") and line.strip() and after_blank and not inside_list:
            found.append(number)
    return found
