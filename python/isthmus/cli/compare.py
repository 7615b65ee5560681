"""`isthmus compare`."""

import sys
from typing import Annotated

import typer

from isthmus.cli.completing import complete_runs
from isthmus.cli.failure import ExitCode
from isthmus.cli.state import DebugOption
from isthmus.errors import UsageError
from isthmus.report.format import Format

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
            help="A family that changed by at most this is the same.  [default: 5%]",
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Also show unchanged results, and those that aren't judged; JSON and CSV "
            "always do.",
        ),
    ] = False,
    output_format: Annotated[Format, typer.Option("--format", help="The output's format.")] = (
        Format.TEXT
    ),
    debug: DebugOption = False,
) -> None:
    """
    Compare runs of `isthmus bench`, family by family.

    Results that measure the same part of the machine are a family, and are judged together. A
    family is slower if it changed by more than the tolerance and by more than the drift between
    processes explains: at most 1 % of comparisons of unchanged programs call any family slower.
    `isthmus bench --repeat 5` measures the drift; without it, a cautious one is assumed. A result
    is lost if it was measured before and isn't now. Runs of different machines can be compared:
    their differences are listed first. Emulated runs are compared with emulated ones only.

    Exit codes: 0 ok, 1 error, 2 usage, 3 a family is slower, or a result is lost.
    """
    del debug  # its callback has stored it
    from isthmus.cli.stdout import print_data
    from isthmus.cli.terminal import columns_of
    from isthmus.cli.tolerance import parse_tolerance
    from isthmus.compare.comparison import compare as compare_runs
    from isthmus.report.answers.comparison import comparison_text
    from isthmus.report.answers.comparison_data import comparison_csv, comparison_json
    from isthmus.run.reading import read_run

    if len(runs or ()) < _FEWEST_RUNS:
        raise UsageError(
            "a comparison needs two runs or more",
            hint="isthmus compare before.json after.json",
        )
    part = parse_tolerance(tolerance)
    first, *others = [read_run(name) for name in runs or ()]
    found = [compare_runs(first, other, part) for other in others]
    every_run = [first, *others]
    texts = {
        Format.TEXT: lambda: comparison_text(
            every_run, found, every=every, width=columns_of(sys.stdout)
        ),
        Format.JSON: lambda: comparison_json(every_run, found),
        Format.CSV: lambda: comparison_csv(every_run, found),
    }
    print_data(texts[output_format]())
    regressed = any(comparison.regressed for comparison in found)
    raise typer.Exit(ExitCode.BELOW_THRESHOLD if regressed else ExitCode.OK)
