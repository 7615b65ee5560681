"""Where a report goes, and the commands' last words."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.cli.stderr import Listener, say_lines
from isthmus.cli.terminal import columns_of
from isthmus.errors import UsageError
from isthmus.ground.spelling import seen, writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.watching.counters import Process
    from isthmus.watching.model import WatchReport


class WatchFormat(StrEnum):
    """The formats of a report."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


_SUFFIXES = {".txt": WatchFormat.TEXT, ".json": WatchFormat.JSON, ".html": WatchFormat.HTML}


def format_for(path: Path | None, wanted: WatchFormat | None) -> WatchFormat:
    """Choose the format: what was asked for, or by a file's suffix; text if there is neither."""
    if wanted or path is None or not path.suffix:
        return wanted or WatchFormat.TEXT
    known = _SUFFIXES.get(path.suffix.lower())
    if known is None:
        raise UsageError(
            f"--output {path}: a report's name ends with .txt, .json or .html, or has no suffix",
            hint="with --format it may have any name",
        )
    return known


def report_text(
    report: "WatchReport",
    wanted: WatchFormat,
    processes: "Sequence[Process]",
    output: Path | None,
) -> str:
    """
    Write a report in a format; the page draws the calls that were recorded one by one. Text for a
    file is as wide as everywhere, not as this terminal.
    """
    if wanted is WatchFormat.JSON:
        import json

        from isthmus.ground.json_text import json_text

        return json_text(json.loads(report.model_dump_json()))
    if wanted is WatchFormat.HTML:
        from isthmus.show.document.as_html import as_html
        from isthmus.show.document.watch import watch_document

        return as_html(watch_document(report, processes))
    from isthmus.show.answers.watch import watch_as_text

    return watch_as_text(report, width=columns_of(sys.stderr if output is None else None))


def put_report(report: "WatchReport", text: str, output: Path | None) -> None:
    """Write a report to its file, or to stderr: stdout is the program's."""
    from isthmus.files.whole import write_whole
    from isthmus.show.answers.watch import WIDTH, violation_lines

    if output is None:
        if sys.stderr is not None:
            Listener(sys.stderr).say(writable(seen(text), sys.stderr.encoding or "utf-8").rstrip())
        return
    write_whole(output, text)
    say_lines(*violation_lines(report.violations, WIDTH), f"written: {output}")
