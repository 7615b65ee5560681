"""CSV in which no text of a file is a formula to a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

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
