"""Writes a run in any of the formats."""

from collections.abc import Callable

from isthmus.report.as_csv import as_csv
from isthmus.report.as_text import as_text
from isthmus.report.format import Format
from isthmus.run.model import Run
from isthmus.run.store import run_text

_WRITERS: dict[Format, Callable[[Run], str]] = {
    Format.TEXT: as_text,
    Format.JSON: run_text,
    Format.CSV: as_csv,
}


def render(run: Run, wanted: Format) -> str:
    """Write a run in a format."""
    return _WRITERS[wanted](run)
