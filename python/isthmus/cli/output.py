"""Where a run goes: to the folder of the user's runs, to a file on request, and to stdout."""

import sys
from pathlib import Path

from isthmus.cli.failure import ExitCode, report_failure
from isthmus.cli.stderr import is_terminal, say
from isthmus.cli.stdout import print_data
from isthmus.errors import UsageError, WriteError
from isthmus.files.whole import check_writable, write_whole
from isthmus.report.format import RunFormat, TableLayout, layout_of_file
from isthmus.report.render import render_as
from isthmus.run.model import Run
from isthmus.run.store import check_runs_folder, save_run


def check_output(path: Path | None) -> None:
    """
    Refuse a file that can't be written before anything is measured for it.

    Raises:
        UsageError: It is a folder, or its folder doesn't exist.
        WriteError: The system doesn't allow it.
    """
    if path is None:
        return
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


def say_if_not_kept() -> None:
    """Tell the user at the start if the run can't be kept among the user's runs."""
    try:
        check_runs_folder()
    except WriteError as error:
        say(f"note: this run will not be kept: {error}")


def print_report(run: Run, layout: TableLayout) -> None:
    """Print a run on stdout; tables are drawn on a terminal and plain elsewhere."""
    if layout.wanted != RunFormat.TEXT or not is_terminal(sys.stdout):
        print_data(render_as(run, layout))
        return
    from rich.console import Console

    from isthmus.report.as_rich import as_renderable

    console = Console()
    with console.capture() as drawn:
        console.print(as_renderable(run, use_mean=layout.use_mean, verbose=layout.verbose))
    print_data(drawn.get())


def show(run: Run, layout: TableLayout, *, debug: bool) -> ExitCode:
    """Print a run; ERROR if stdout failed, which has then been reported."""
    try:
        print_report(run, layout)
    except WriteError as error:
        return report_failure(error, debug=debug)
    return ExitCode.OK


def keep(run: Run, path: Path | None, layout: TableLayout, *, debug: bool) -> ExitCode:
    """
    Write the run's files.

    Args:
        run: The run.
        path: The path of `--output`; its suffix decides the format, otherwise `layout` does.
        layout: The layout of the report.
        debug: Also show the traceback of failures.

    Returns:
        OK, or ERROR if one of them couldn't be written; that has been reported, and the other
        was still tried.
    """
    code = ExitCode.OK
    try:
        say(f"run saved: {save_run(run)}")
    except WriteError as error:
        code = report_failure(error, debug=debug)
    if path is not None:
        try:
            write_whole(path, render_as(run, layout_of_file(path, layout)))
            say(f"written: {path}")
        except WriteError as error:
            code = report_failure(error, debug=debug)
    return code
