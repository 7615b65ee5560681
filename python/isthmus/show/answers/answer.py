"""The answer to a question about runs, as text, JSON and CSV."""

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

from isthmus.ground.json_text import csv_text, json_text
from isthmus.show.fitting import PAGE_WIDTH, table_lines
from isthmus.show.format import Format
from isthmus.show.page import Table

if TYPE_CHECKING:
    from isthmus.measure.query.asking import Answer

_NOTHING = "-"
# As many digits as a table of the product has at most; JSON and CSV have all.
_DIGITS = 6


def answer_text(answer: "Answer", wanted: Format, *, width: int = PAGE_WIDTH) -> str:
    """Write an answer."""
    if wanted is Format.TEXT:
        return "\n".join(table_lines(_table(answer), width)) + "\n"
    rows = [tuple(map(_plain, row)) for row in answer.rows]
    if wanted is Format.JSON:
        heads = _distinct(answer.heads)
        return json_text([dict(zip(heads, row, strict=True)) for row in rows])
    return csv_text(answer.heads, rows)


def _table(answer: "Answer") -> Table:
    # Words stand on the left as long as a column of words follows; the others are numbers.
    words = [not all(map(_is_number, column)) for column in zip(*answer.rows, strict=True)]
    num_words = len(words) - words[::-1].index(True) if True in words else 0
    return Table(
        title="",
        heads=answer.heads,
        rows=tuple(tuple(map(_cell, row)) for row in answer.rows),
        num_text_columns=num_words if answer.rows else len(answer.heads),
    )


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float | Decimal) and value is not True)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    plain = _plain(value)
    return _NOTHING if plain is None else str(plain)


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a column of DuckDB holds
    """Give a value as JSON has it: text where JSON has no such type, null where it isn't finite."""
    if isinstance(value, float | Decimal):
        number = float(value)
        return number if isfinite(number) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    return value.isoformat() if isinstance(value, datetime | date | time) else str(value)


def _distinct(heads: Sequence[str]) -> list[str]:
    """Number the later of equal names: JSON's members need different ones."""
    found: list[str] = []
    for head in heads:
        name, number = head, 1
        while name in found:
            number += 1
            name = f"{head}_{number}"
        found.append(name)
    return found
