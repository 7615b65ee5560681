"""`isthmus runs`: the runs that were kept."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.bench.options import RunFormatOption, VerboseOption
from isthmus.cli.command_group import command_group
from isthmus.cli.completing import complete_runs
from isthmus.cli.failure import ExitCode
from isthmus.cli.state import state_of
from isthmus.cli.stderr import say, say_lines
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of
from isthmus.errors import UsageError
from isthmus.ground.spelling import counted
from isthmus.show.format import Format, RunFormat, TableLayout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.measure.run.stored import StoredRun

_MAX_DAYS = 36_500

runs = command_group("runs", "List, show, remove and query stored runs.")

_RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run's id or its beginning, last, or a file.",
        autocompletion=complete_runs,
    ),
]
_IdsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="ID...",
        help="Ids of stored runs, or their beginnings.",
        autocompletion=complete_runs,
    ),
]
_FormatOption = Annotated[Format, typer.Option("--format", help="The output's format.")]
_KeepOption = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="Keep the latest N runs.")
]
_OlderOption = Annotated[
    float | None,
    typer.Option(
        "--older-than",
        metavar="DAYS",
        min=0,
        max=_MAX_DAYS,
        help="Remove only runs older than DAYS days.",
    ),
]
_DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")
]


@runs.command("list")
def list_runs(*, output_format: _FormatOption = Format.TEXT) -> None:
    """
    List the stored runs, the latest last.

    A run is complete, interrupted (by Ctrl-C, or one of its processes failed), running, unfinished
    (its process was killed; what was finished is kept), or damaged.
    """
    from isthmus.measure.run.store import runs_folder
    from isthmus.measure.run.stored import stored_runs
    from isthmus.show.answers.stored_runs import stored_runs_text

    found = stored_runs()
    if not found and output_format == Format.TEXT:
        say(f"no run is stored in {runs_folder()}")
    print_data(stored_runs_text(found, output_format, width=columns_of(sys.stdout)))


@runs.command()
def show(
    context: typer.Context,
    run: _RunArgument,
    *,
    output_format: RunFormatOption = RunFormat.TEXT,
    verbose: VerboseOption = False,
) -> None:
    """
    Print a stored run as `isthmus bench` does.

    Of an unfinished run, prints the finished points.
    """
    from isthmus.cli import output
    from isthmus.measure.run.reading import read_run

    layout = TableLayout(wanted=output_format, verbose=verbose)
    raise typer.Exit(output.show(read_run(run), layout, debug=state_of(context).debug))


@runs.command()
def expect(run: _RunArgument) -> None:
    """
    Print a run's results as expected values.

    They are TOML, for `isthmus fleet check --expect FILE` and `isthmus bench --expect FILE`.

    Use a full run of a healthy machine. Each value has a test, a range of sizes, a typical result
    and the tolerated deviation: edit them freely.
    """
    from isthmus.measure.expected.writing import doubts_of, expectations_of, values_text
    from isthmus.measure.run.reading import read_run

    found = read_run(run)
    values = values_text(expectations_of(found))
    for doubt in doubts_of(found):
        say_lines(f"warning: this machine may not be well: {doubt}")
    print_data(values)


@runs.command()
def rm(ids: _IdsArgument) -> None:
    """Remove stored runs. A run that is being measured is not removed."""
    from isthmus.measure.run.reading import find_stored
    from isthmus.measure.run.stored import stored_run

    # All are found before the first is removed.
    _remove([stored_run(path) for path in dict.fromkeys(map(find_stored, ids))])


@runs.command()
def prune(
    *,
    keep: _KeepOption = None,
    older_than: _OlderOption = None,
    dry_run: _DryRunOption = False,
) -> None:
    """
    Remove stored runs, except those to keep.

    With both options, a run is removed if it is old and not among the latest. A run that is being
    measured is never removed.
    """
    from isthmus.measure.run.stored import expendable, stored_runs

    if keep is None and older_than is None:
        raise UsageError(
            "prune needs to know which runs to keep",
            hint="--keep 20 or --older-than 30; --dry-run removes nothing",
        )
    going = expendable(
        stored_runs(),
        keep=keep,
        older_than=None if older_than is None else timedelta(days=older_than),
    )
    if not dry_run:
        _remove(going)
        return
    for run in going:
        say_lines(f"would be removed: {run.path}")
    say(f"would be removed: {counted(len(going), 'run')}")
    raise typer.Exit(ExitCode.OK)


@runs.command()
def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="A single SELECT or DESCRIBE.")],
    *,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="A folder of runs of one or many machines: NODE.json, or NODE/*.json.  "
            "[default: the stored runs]",
        ),
    ] = None,
    output_format: _FormatOption = Format.TEXT,
) -> None:
    """
    Answer a question in SQL about many runs.

    The view results has one row per result; machines and links have one per run: see docs/fleet.md,
    or ask "DESCRIBE results". DuckDB answers in memory: SQL changes no run and reaches no files.
    Unreadable runs are named and left out. Each run is read once, into .isthmus-runs.parquet in the
    folder. Needs isthmus[scale].

    Example: isthmus runs query "SELECT node, width, generation FROM links WHERE width < 16"
    """
    from isthmus.measure.query.asking import ask, check_queries
    from isthmus.measure.query.store import find_runs
    from isthmus.measure.run.folder import files_of
    from isthmus.measure.run.store import runs_folder
    from isthmus.show.answers.answer import answer_text

    check_queries()
    where = folder or runs_folder()
    files = files_of(where) if folder or where.is_dir() else []
    found = find_runs(where, files)
    answer = ask(sql, found.views)
    for why in found.unread:
        say_lines(f"left out: {why}")
    for complaint in found.complaints:
        say_lines(f"store: {complaint}")
    if not files:
        say(f"there is no run in {where}")
    print_data(answer_text(answer, output_format, width=columns_of(sys.stdout)))


def _remove(going: "Sequence[StoredRun]") -> None:
    from isthmus.measure.run.stored import remove_run

    for run in going:
        remove_run(run)
        say_lines(f"removed: {run.path}")
    say(f"removed: {counted(len(going), 'run')}")
