"""The formats of a report."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Format(StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


class RunFormat(StrEnum):
    """How a run is written: in our formats, or as other tools print theirs."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    NVBANDWIDTH = "nvbandwidth"
    GDRCOPY = "gdrcopy"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """
    How a run is written.

    Attributes:
        wanted: The format.
        use_mean: Show means where medians would stand.
        verbose: Show samples, where they were kept.
        as_json: Write nvbandwidth's format as its JSON.
    """

    wanted: RunFormat = RunFormat.TEXT
    use_mean: bool = False
    verbose: bool = False
    as_json: bool = False


_SUFFIXES = {".txt": Format.TEXT, ".json": Format.JSON, ".csv": Format.CSV}


def format_of_file(path: Path, otherwise: Format) -> Format:
    """Choose the format that a file's name asks for: .json, .csv, .txt."""
    return _SUFFIXES.get(path.suffix.lower(), otherwise)


def layout_of_file(path: Path, otherwise: Layout) -> Layout:
    """Choose the layout that a file's name asks for: .json, .csv and .txt are our own formats."""
    known = _SUFFIXES.get(path.suffix.lower())
    if known is None:
        return otherwise
    return Layout(
        wanted=RunFormat(known.value), use_mean=otherwise.use_mean, verbose=otherwise.verbose
    )
