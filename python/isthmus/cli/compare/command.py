"""`isthmus compare`."""

import sys
from typing import Annotated

import typer

from isthmus.cli.completing import complete_runs
from isthmus.cli.failure import worst
from isthmus.errors import UsageError
from isthmus.show.format import VerdictFormat

_FEWEST_RUNS = 2


def compare(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN...",
            autocompletion=complete_runs,
            help="Two or more runs: files, ids of stored runs, or last. The others are compared "
            "with the first.",
        ),
    ] = None,
    *,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Largest change that counts as the same.  [default: 3%]",
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Also show unchanged results, as JSON and CSV always do.",
        ),
    ] = False,
    output_format: Annotated[
        VerdictFormat, typer.Option("--format", help="The output's format.")
    ] = VerdictFormat.TEXT,
) -> None:
    """
    Compare runs of `isthmus bench`, family by family.

    Results that measure the same part of the machine are a family, and are judged together. With
    `isthmus bench --repeat 5`, a family is slower if it changed by more than the tolerance and the
    drift between processes; false alarms: at most 1 % of comparisons. Without repeats, it is slower
    only beyond the largest drift ever seen between unchanged runs; smaller losses above the usual
    drift are "can't tell". A result is lost if it was measured before, was requested again and is
    missing; a family mostly out of time is "can't tell". The verdict comes first, with a way to
    settle what it can't tell. Runs of different machines can be compared: differences are listed.
    Emulated runs are compared only with emulated ones.

    Exit codes: 0 same or faster, 1 error, 2 usage, 3 a family is slower or a result is lost, 5
    can't tell.
    """
    from isthmus.cli.compare.tolerance import parse_tolerance
    from isthmus.cli.compare.verdicts import code_of
    from isthmus.cli.stdout import print_data
    from isthmus.cli.terminal import columns_of
    from isthmus.measure.compare.comparison import TOLERANCE
    from isthmus.measure.compare.comparison import compare as compare_runs
    from isthmus.measure.run.reading import read_run
    from isthmus.show.answers import comparison_data as data
    from isthmus.show.answers.comparison import comparison_text

    if len(runs or ()) < _FEWEST_RUNS:
        raise UsageError(
            "a comparison needs two runs or more",
            hint="isthmus compare before.json after.json",
        )
    part = parse_tolerance(tolerance, TOLERANCE)
    first, *others = every_run = [read_run(name) for name in runs or ()]
    found = [compare_runs(first, other, part) for other in others]
    texts = {
        VerdictFormat.TEXT: lambda: comparison_text(
            every_run, found, every=every, width=columns_of(sys.stdout)
        ),
        VerdictFormat.JSON: lambda: data.comparison_json(every_run, found),
        VerdictFormat.CSV: lambda: data.comparison_csv(every_run, found),
        VerdictFormat.JUNIT: lambda: data.comparison_junit(every_run, found),
    }
    print_data(texts[output_format]())
    raise typer.Exit(worst(map(code_of, found)))
