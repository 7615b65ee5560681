"""Where a run goes: to a file on request, and to stdout."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.cli.failure import ExitCode, report_failure
from isthmus.cli.stderr import say_lines
from isthmus.cli.stdout import STDOUT, print_data, print_drawn
from isthmus.cli.terminal import columns_of, draws_characters, is_terminal
from isthmus.errors import UsageError, WriteError
from isthmus.files.whole import check_writable, write_whole
from isthmus.measure.run.model import Run
from isthmus.show.format import RunFormat, TableLayout, layout_of_file
from isthmus.show.formats.render import render_as

if TYPE_CHECKING:
    from rich.text import Text

    from isthmus.show.page import Page


def check_output(path: Path | None) -> None:
    """Refuse a file that can't be written before anything is measured for it."""
    if path is None:
        return
    if path == STDOUT:
        raise UsageError(
            "--output - names no file: this command doesn't write its file to stdout",
            hint="name a file, or /dev/stdout",
        )
    try:
        if path.is_dir():
            raise UsageError(
                f"--output {path} is a folder", hint=f"name a file: {path / 'run.json'}"
            )
        if not path.parent.is_dir():
            raise UsageError(
                f"--output {path}: there is no folder {path.parent}", hint=f"mkdir -p {path.parent}"
            )
    except OSError as cause:
        raise WriteError(f"--output {path}: {cause.strerror or cause}") from cause
    check_writable(path)


def check_plots(folder: Path | None) -> None:
    """Refuse --plots if nothing can be drawn there, before anything runs."""
    if folder is not None:
        from isthmus.files.folder import make_folder
        from isthmus.show.pictures.drawing import check_pictures

        check_pictures()
        make_folder(folder, option="--plots")


def print_report(run: Run, layout: TableLayout) -> None:
    """Print a run on stdout; tables are drawn on a terminal and plain elsewhere."""
    if layout.wanted != RunFormat.TEXT or not is_terminal(sys.stdout):
        print_data(render_as(run, layout))
        return
    from isthmus.show.formats.as_rich import as_renderable

    width = columns_of(sys.stdout)
    _print_drawn(
        as_renderable(
            run,
            width=width,
            verbose=layout.verbose,
            pictures=draws_characters(sys.stdout),
            brief=layout.brief,
        ),
        width,
    )


def print_page(page: "Page") -> None:
    """Print a page on stdout: in colours on a terminal, plain elsewhere."""
    from isthmus.show.formats.as_rich import page_renderable
    from isthmus.show.formats.as_text import page_text

    width = columns_of(sys.stdout)
    if is_terminal(sys.stdout):
        _print_drawn(page_renderable(page, width), width)
    else:
        print_data(page_text(page, width))


def _print_drawn(report: "Text", width: int) -> None:
    from rich.console import Console

    console = Console(width=width)
    with console.capture() as drawn:
        console.print(report, soft_wrap=True)
    print_drawn(drawn.get())


def show(run: Run, layout: TableLayout, *, debug: bool) -> ExitCode:
    """Print a run; ERROR if stdout failed, which has then been reported."""
    try:
        print_report(run, layout)
    except WriteError as error:
        return report_failure(error, debug=debug)
    return ExitCode.OK


def write_output(run: Run, path: Path | None, layout: TableLayout, *, debug: bool) -> ExitCode:
    """
    Write the run's file, if one was asked for, in the format of its suffix, otherwise of `layout`;
    a failure is reported, and gives ERROR.
    """
    if path is None:
        return ExitCode.OK
    try:
        write_whole(path, render_as(run, layout_of_file(path, layout)))
        say_lines(f"written: {path}")
    except WriteError as error:
        return report_failure(error, debug=debug)
    return ExitCode.OK
