"""The file of `isthmus report`: its format, and names that it must not have."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from isthmus.errors import UsageError


class ReportFormat(StrEnum):
    """The formats of a report."""

    HTML = "html"
    MARKDOWN = "md"


_SUFFIXES = {
    ".html": ReportFormat.HTML,
    ".htm": ReportFormat.HTML,
    ".md": ReportFormat.MARKDOWN,
}


def format_of(path: Path | None, asked: ReportFormat | None) -> ReportFormat:
    """Choose the format by a file's suffix, or by `--format` if it has none."""
    if path is None or not path.suffix:
        return asked or ReportFormat.HTML
    known = _SUFFIXES.get(path.suffix.lower())
    if known is None:
        raise UsageError(
            f"--output {path}: a report's name ends with .html, .htm or .md, or has no suffix",
            hint=_other_name(path, asked or ReportFormat.HTML),
        )
    if asked not in {None, known}:
        raise UsageError(
            f"--output {path} ends with {path.suffix}, and --format {asked} is another format",
            hint=f"leave out --format, or {_other_name(path, asked or known)}",
        )
    return known


def _other_name(path: Path, wanted: ReportFormat) -> str:
    return f"name it {path.with_suffix(f'.{wanted}')}"


def check_is_no_run(path: Path, runs: Iterable[Path]) -> None:
    """Refuse to replace a run, perhaps by another name, by its report."""
    for run in runs:
        if _is_same(path, run):
            raise UsageError(
                f"{path} is one of the runs, and the report would replace it",
                hint="name another file: --output report.html",
            )


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False
