"""JSON that is readable and easy to compare: one record a line."""

import json
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
