"""`isthmus report`."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.completing import complete_runs
from isthmus.cli.report.file import ReportFormat, check_is_no_run, format_of
from isthmus.cli.stderr import say, say_lines
from isthmus.cli.stdout import STDOUT, print_data
from isthmus.errors import UsageError
from isthmus.ground.sizes import approximate_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.measure.run.model import Run
    from isthmus.show.document.parts import Document

# More curves of one colour can't be told apart.
_MOST_RUNS = 6
_MOST_NAMED = 3
# Their pictures take longer than processes that draw take to start.
_MANY_RESULTS = 500


_RunsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN...",
        autocompletion=complete_runs,
        help="Files, ids of stored runs or their beginnings, or last; several are shown side by "
        "side, after what changed. A folder: the history of the runs in it.  [default: last]",
        show_default=False,
    ),
]
_FileOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="The file; it is replaced if it exists. Its suffix decides the format: .html, .htm or "
        ".md; without one, --format does. - is stdout.  [default: report-ID.html]",
    ),
]
_FormatOption = Annotated[
    ReportFormat | None,
    typer.Option("--format", help="The report's format.  [default: html]", show_default=False),
]


def report(
    runs: _RunsArgument = None,
    *,
    output: _FileOption = None,
    output_format: _FormatOption = None,
) -> None:
    """
    Write a run's verdict, pictures and tables into one file.

    The verdict comes first: whether the machine is healthy, what limits its copies, and the gain of
    each change to a program. The HTML is one file that needs no network, and suits phones and
    printers. Markdown has no pictures. The same runs give the same bytes.

    Exit codes: 0 ok, 1 error, 2 usage.
    """
    from isthmus.cli.output import check_output
    from isthmus.files.whole import write_whole
    from isthmus.measure.run.reading import LAST
    from isthmus.show.answers.comparison import names_of
    from isthmus.show.document.page_templates import check_templates
    from isthmus.show.pictures.drawing import check_pictures

    check_templates()
    wanted = format_of(output, output_format)
    if wanted is ReportFormat.HTML:
        check_pictures()
    names = runs or [LAST]
    files = _files(names)
    is_history = _is_folder(names[0])
    found = _read(files, is_history=is_history)
    path = output or Path(f"report-{_name(found)}.{wanted.value}")
    if path != STDOUT:
        check_is_no_run(path, files)
        check_output(path)
    text = _text(found, wanted, is_history=is_history)
    if path == STDOUT:
        print_data(text)
    else:
        # Without --output the name is made of the run's id, which whoever sent it chose.
        write_whole(path, text, follow_link=output is not None)
        say_lines(f"written: {path} ({approximate_size(len(text.encode()))})")
    if len(found) > 1 and not is_history:
        say(f"curves are named by their runs: {', '.join(names_of(found))}")


def _files(names: "Sequence[str]") -> list[Path]:
    """Find the files of the runs that were named, or those in the folder."""
    from isthmus.measure.run.reading import find_run

    folders = [name for name in names if _is_folder(name)]
    if folders and len(names) > 1:
        raise UsageError(
            f"{folders[0]} is a folder, and its history is a report of its own",
            hint=f"isthmus report {folders[0]}",
        )
    if not folders and len(names) > _MOST_RUNS:
        raise UsageError(
            f"{len(names)} runs are too many to be shown side by side",
            hint=f"name at most {_MOST_RUNS}, or a folder for their history",
        )
    return _files_of(Path(folders[0])) if folders else list(map(find_run, names))


def _read(files: "Sequence[Path]", *, is_history: bool) -> "list[Run]":
    """Read the runs; of a folder, those that can be read, if there is one."""
    from isthmus.measure.run.reading import read_run
    from isthmus.show.document.collecting import check_same_kind

    found = []
    for number, file in enumerate(files, start=1):
        try:
            found.append(read_run(str(file)))
        except UsageError as error:
            if not is_history or not (found or number < len(files)):
                raise
            say(f"left out: {error}")
    check_same_kind(found)
    return found


def _is_folder(name: str) -> bool:
    try:
        # Of no name at all, Path makes the current folder.
        return bool(name) and Path(name).is_dir()
    except (OSError, ValueError):
        return False


def _files_of(folder: Path) -> list[Path]:
    from isthmus.measure.run.store import FINISHED

    files = sorted(folder.glob(f"*{FINISHED}"))
    if not files:
        raise UsageError(
            f"{folder} has no runs: no file in it ends with {FINISHED}",
            hint="`isthmus bench --output FOLDER/run.json` writes one; `isthmus runs list` shows "
            "those that are stored",
        )
    return files


def _name(runs: "Sequence[Run]") -> str:
    """Name a file by the ids of its runs, as far as they can be parts of a name."""
    ids = [
        "".join(one for one in run.run.id if one.isalnum() or one in "-_")[:40]
        for run in runs[:_MOST_NAMED]
    ]
    return "-".join(filter(None, ids)) or "run"


def _text(runs: "list[Run]", wanted: ReportFormat, *, is_history: bool) -> str:
    if wanted is ReportFormat.MARKDOWN:
        from isthmus.show.document.as_markdown import as_markdown

        return as_markdown(_document(runs, wanted, is_history=is_history))
    from isthmus.show.document.as_html import as_html
    from isthmus.show.document.drawers import Drawers

    # They start while the document is collected, if there is enough to draw.
    many = sum(len(run.results) for run in runs) >= _MANY_RESULTS
    with Drawers.started() if many else nullcontext() as drawers:
        document = _document(runs, wanted, is_history=is_history)
        return as_html(document, drawers)


def _document(runs: "list[Run]", wanted: ReportFormat, *, is_history: bool) -> "Document":
    from isthmus.show.document.collecting import document_of
    from isthmus.show.document.comparing import comparison_chapter
    from isthmus.show.document.history import history_chapter

    drawn = wanted is ReportFormat.HTML
    if is_history:
        before = [history_chapter(runs, with_pictures=drawn)]
        latest = max(runs, key=lambda run: (run.run.started_at, run.run.id))
        return document_of([latest], before, with_pictures=drawn)
    before = [comparison_chapter(runs)] if len(runs) > 1 else []
    return document_of(runs, before, with_pictures=drawn)
