"""
Lays out tables and sentences in so many columns of a terminal. No character is left out.

A table that is too wide is stacked: its numbers stand in several parts below each other, or below
the words of their row; the words of a table without numbers are wrapped.
"""

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from isthmus.ground.spelling import one_line
from isthmus.show.page import Table

PAGE_WIDTH = 120
"""The width of text in files and pipes, in characters."""
NARROWEST = 40
"""Narrower terminals get text of this width."""

_GAP = "  "
# A number and its unit stay on one line: this space is not one for `textwrap`.
_TIE = "\N{NO-BREAK SPACE}"
_QUANTITY = re.compile(r"(?<=\d) (?=(?:[KMGT]i?B|B|GB/s|[num]?s|%)\b)")
_INDENT = "    "
# Numbers beside their words are easier to read, and may take so many times the lines.
_LONGER = 1.5

_Row = tuple[str, ...]


def wrapped(line: str, width: int, *, indent: str = _GAP, whole_words: bool = False) -> list[str]:
    """
    Break a line between words; within a word only if it is longer than a line, and never with
    `whole_words`, which may be copied from the screen.
    """
    lines = textwrap.wrap(
        _QUANTITY.sub(_TIE, line),
        max(width, NARROWEST),
        subsequent_indent=indent,
        break_long_words=not whole_words,
        break_on_hyphens=False,
    )
    return [part.replace(_TIE, " ") for part in lines] or [""]


def wrapped_lines(lines: Iterable[str], width: int, *, indent: str = _GAP) -> list[str]:
    """Break several lines, each as `wrapped` does."""
    return [part for line in lines for part in wrapped(line, width, indent=indent)]


def blocks_text(blocks: Iterable[Sequence[str]]) -> str:
    """Put an empty line between blocks of lines; those without a line are left out."""
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def table_lines(table: Table, width: int = PAGE_WIDTH) -> list[str]:
    """
    Align a table: words to the left, numbers to the right; if it is too wide, in parts below each
    other, of up to 40 columns at least.
    """
    width = max(width, NARROWEST)
    title = wrapped(table.title, width) if table.title else []
    grid = _Grid.of(table)
    if grid.width <= width:
        return [*title, *grid.lines()]
    if grid.num_words == len(table.heads):
        return [*title, *_words(grid, width)]
    below, beside = _below_their_words(grid, width), _side_by_side(grid, width)
    if beside is None or len(beside) > _LONGER * len(below):
        return [*title, *below]
    return [*title, *beside]


@dataclass(frozen=True)
class _Grid:
    """Rows of cells, the headings first, with the width of each column."""

    rows: tuple[_Row, ...]
    num_words: int
    widths: tuple[int, ...]

    @staticmethod
    def of(table: Table) -> "_Grid":
        # A cell's own lines would be rows.
        rows = tuple(tuple(map(one_line, row)) for row in (table.heads, *table.rows))
        return _grid(rows, table.num_text_columns)

    @property
    def width(self) -> int:
        return _total(self.widths)

    def columns(self, chosen: Sequence[int]) -> "_Grid":
        """Keep some columns."""
        return _Grid(
            tuple(tuple(row[index] for index in chosen) for row in self.rows),
            sum(index < self.num_words for index in chosen),
            tuple(self.widths[index] for index in chosen),
        )

    def lines(self) -> list[str]:
        return [self.line(row) for row in self.rows]

    def line(self, row: _Row) -> str:
        cells = (
            cell.ljust(width) if index < self.num_words else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, self.widths, strict=True))
        )
        return _GAP.join(cells).rstrip()


def _grid(rows: tuple[_Row, ...], num_words: int) -> _Grid:
    widths = tuple(max(map(len, column)) for column in zip(*rows, strict=True))
    return _Grid(rows, num_words, widths)


def _total(widths: Iterable[int]) -> int:
    found = list(widths)
    return sum(found) + len(_GAP) * max(0, len(found) - 1)


def _side_by_side(grid: _Grid, width: int) -> list[str] | None:
    """Repeat the words beside each part of the numbers; None if a number doesn't fit there."""
    words = list(range(grid.num_words))
    taken = _total(grid.widths[: grid.num_words]) + (len(_GAP) if words else 0)
    numbers = range(grid.num_words, len(grid.widths))
    if taken + max(grid.widths[index] for index in numbers) > width:
        return None
    lines: list[str] = []
    for part in _parts(grid, width - taken):
        lines += ["", *grid.columns([*words, *part]).lines()]
    return lines[1:]


def _below_their_words(grid: _Grid, width: int) -> list[str]:
    """Give the words of each row a line of their own, and its numbers lines below it."""
    parts = [grid.columns(part) for part in _parts(grid, width - len(_INDENT))]
    words = grid.columns(range(grid.num_words))
    aligned = words.width <= width
    lines = []
    for index, row in enumerate(words.rows):
        text = words.line(row) if aligned else _GAP.join(filter(None, row))
        lines += wrapped(text, width) if not aligned else [text]
        lines += [f"{_INDENT}{part.line(part.rows[index])}".rstrip() for part in parts]
    return [line for line in lines if line]


def _parts(grid: _Grid, width: int) -> list[list[int]]:
    """Divide the columns of numbers into parts that fit, as many in each as possible."""
    parts: list[list[int]] = [[]]
    for index in range(grid.num_words, len(grid.widths)):
        if parts[-1] and _total(grid.widths[one] for one in (*parts[-1], index)) > width:
            parts.append([])
        parts[-1].append(index)
    return parts


def _words(grid: _Grid, width: int) -> list[str]:
    """Wrap the cells of a table without numbers; if even that is too wide, list each row."""
    widths = list(grid.widths)
    least = [_longest_word(column) for column in zip(*grid.rows, strict=True)]
    while _total(widths) > width:
        loose = [index for index, one in enumerate(widths) if one > least[index]]
        if not loose:
            return _listed(grid, width)
        widths[max(loose, key=lambda index: widths[index])] -= 1
    lines = []
    for row in grid.rows:
        cells = [
            textwrap.wrap(cell, one, break_on_hyphens=False) or [""]
            for cell, one in zip(row, widths, strict=True)
        ]
        for number in range(max(map(len, cells))):
            line = [cell[number] if number < len(cell) else "" for cell in cells]
            padded = (text.ljust(one) for text, one in zip(line, widths, strict=True))
            lines.append(_GAP.join(padded).rstrip())
    return lines


def _longest_word(column: Sequence[str]) -> int:
    # Prose in narrower columns isn't readable.
    prose = 24 if any(" " in cell for cell in column[1:]) else 0
    longest = max((len(word) for cell in column for word in cell.split()), default=0)
    return max(longest, min(prose, max(map(len, column))))


def _listed(grid: _Grid, width: int) -> list[str]:
    """Give each row's names a line of their own, and each further cell a line below them."""
    heads, *rows = grid.rows
    num_names = _num_names(grid, width)
    rest = list(range(num_names, len(heads)))
    names = grid.columns(range(num_names))
    lines = wrapped(names.line(names.rows[0]), width)
    if len(rest) == 1:
        lines += wrapped(f"{_INDENT}{heads[-1]}", width)
    for row, name in zip(rows, names.rows[1:], strict=True):
        lines += wrapped(names.line(name), width)
        for index in rest:
            label = f"{heads[index]}: " if len(rest) > 1 else ""
            if row[index]:
                text = f"{_INDENT}{label}{row[index]}"
                lines += wrapped(text, width, indent=_INDENT + _GAP)
    return lines


def _num_names(grid: _Grid, width: int) -> int:
    """Count the columns on the left that have single words and fit beside each other."""
    fitting = 1
    for _, index in pairwise(range(len(grid.widths) - 1)):
        single = all(" " not in row[index] for row in grid.rows[1:])
        if not single or _total(grid.widths[: index + 1]) > width:
            break
        fitting += 1
    return fitting
