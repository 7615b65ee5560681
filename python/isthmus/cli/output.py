"""Where the data goes: to stdout, to the folder of the user's runs, and to a file if asked."""

import os
import sys
from pathlib import Path

from isthmus.cli.failure import ExitCode, report_failure
from isthmus.cli.talk import say
from isthmus.errors import UsageError
from isthmus.report.format import Format, format_of_file
from isthmus.report.render import render
from isthmus.run.model import Run
from isthmus.run.store import WriteError, save_run, write_whole


def check_output(path: Path | None) -> None:
    """Refuse a file that can't be written before anything is measured for it."""
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"--output {path} is a folder", hint=f"name a file: {path / 'run.json'}")
    if not path.parent.is_dir():
        raise UsageError(
            f"--output {path}: there is no folder {path.parent}", hint=f"mkdir -p {path.parent}"
        )


def print_data(text: str) -> None:
    """Print data on stdout; a reader that went away early is no failure of ours."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes again at exit: give it something that takes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_report(run: Run, wanted: Format) -> None:
    """Show a run on stdout; tables are drawn on a terminal and plain elsewhere."""
    if wanted == Format.TEXT and sys.stdout.isatty():
        from rich.console import Console

        from isthmus.report.as_rich import as_renderable

        Console().print(as_renderable(run))
        return
    print_data(render(run, wanted))


def keep(run: Run, path: Path | None, wanted: Format, *, debug: bool) -> ExitCode:
    """
    Write the run's files.

    Args:
        run: What to keep.
        path: Of `--output`; its suffix decides the format, or else `wanted`.
        wanted: The format of the report.
        debug: Show where failures came from.

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
            write_whole(path, render(run, format_of_file(path, wanted)))
            say(f"written: {path}")
        except WriteError as error:
            code = report_failure(error, debug=debug)
    return code
