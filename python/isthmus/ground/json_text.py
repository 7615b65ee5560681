"""
JSON that is readable and easy to compare, one record a line, and CSV in which no text of a file
is a formula to a spreadsheet.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_STEP = "  "
_SHORT = 80


def json_text(document: object) -> str:
    """
    Write JSON with one record a line: an object or a list in a list, however long, that holds no
    records itself; and a newline at its end. A list of plain values is one line, too, and so is an
    object of at most 80 characters within another.
    """
    if isinstance(document, dict) and document:
        return _members(document, "") + "\n"
    return _text(document, "") + "\n"


def _text(value: object, indent: str) -> str:
    if isinstance(value, list) and _holds_records(value):
        return _elements(value, indent)
    line = _line(value)
    if isinstance(value, dict) and (len(line) > _SHORT or _holds_records(value)):
        return _members(value, indent)
    return line


def _elements(values: list[Any], indent: str) -> str:
    inner = indent + _STEP
    rows = [_text(value, inner) if _holds_records(value) else _line(value) for value in values]
    return _block("[", [inner + row for row in rows], indent + "]")


def _members(members: dict[str, Any], indent: str) -> str:
    inner = indent + _STEP
    lines = [f"{inner}{_line(name)}: {_text(value, inner)}" for name, value in members.items()]
    return _block("{", lines, indent + "}")


def _block(first: str, lines: list[str], last: str) -> str:
    return "\n".join([first, ",\n".join(lines), last])


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _holds_records(value: object) -> bool:
    if isinstance(value, list):
        return any(isinstance(element, dict | list) for element in value)
    return isinstance(value, dict) and any(_holds_records(member) for member in value.values())


# Source: https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(heads: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Write rows below their headings; text that would be a formula has an apostrophe before it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(map(_cell, row) for row in (heads, *rows))
    return text.getvalue()


def csv_of_records(heads: Sequence[str], records: Iterable[Mapping[str, object]]) -> str:
    """Write the values of records as `csv_text` does; a cell is empty where a record has none."""
    return csv_text(heads, ([record.get(head) for head in heads] for record in records))


def _cell(value: object) -> object:
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
