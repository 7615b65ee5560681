"""The formats of a report."""

from enum import StrEnum
from pathlib import Path


class Format(StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


_SUFFIXES = {".txt": Format.TEXT, ".json": Format.JSON, ".csv": Format.CSV}


def format_of_file(path: Path, otherwise: Format) -> Format:
    """Choose the format that a file's name asks for: .json, .csv, .txt."""
    return _SUFFIXES.get(path.suffix.lower(), otherwise)
