"""The formats of a report."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Format(StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


class PlainFormat(StrEnum):
    """The formats of what has no table."""

    TEXT = "text"
    JSON = "json"


class VerdictFormat(StrEnum):
    """The formats of what ends with a verdict."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    JUNIT = "junit"


class PageFormat(StrEnum):
    """The formats of a page that is also a document."""

    TEXT = "text"
    MARKDOWN = "md"
    JSON = "json"
    CSV = "csv"


class RunFormat(StrEnum):
    """The formats of a run: our own, or those of other tools."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    NVBANDWIDTH = "nvbandwidth"
    GDRCOPY = "gdrcopy"


@dataclass(frozen=True, kw_only=True)
class TableLayout:
    """How a run is written; brief text has no tables."""

    wanted: RunFormat = RunFormat.TEXT
    verbose: bool = False
    brief: bool = False
    as_json: bool = False


_SUFFIXES = {".txt": Format.TEXT, ".json": Format.JSON, ".csv": Format.CSV}


def format_of_file(path: Path, otherwise: Format) -> Format:
    """Choose the format by a file's suffix: .json, .csv, .txt."""
    return _SUFFIXES.get(path.suffix.lower(), otherwise)


def layout_of_file(path: Path, otherwise: TableLayout) -> TableLayout:
    """Choose the layout by a file's suffix: .json, .csv and .txt are our own formats."""
    known = _SUFFIXES.get(path.suffix.lower())
    if known is None:
        return otherwise
    return TableLayout(wanted=RunFormat(known.value), verbose=otherwise.verbose)


def page_format_of_file(path: Path, otherwise: PageFormat) -> PageFormat:
    """Choose a page's format by a file's suffix: .txt, .md, .json, .csv."""
    known = _SUFFIXES.get(path.suffix.lower())
    if path.suffix.lower() == ".md":
        return PageFormat.MARKDOWN
    return otherwise if known is None else PageFormat(known.value)
