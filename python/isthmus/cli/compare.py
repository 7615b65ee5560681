"""`isthmus compare`."""

from typing import Annotated

import typer

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
            help="Two or more: files, ids of runs that were kept, or last. The others are held "
            "against the first.",
        ),
    ] = None,
    *,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="A change of the median up to this is the same.  [default: 5%]",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show what stayed the same, too; JSON and CSV always do.")
    ] = False,
    output_format: Annotated[Format, typer.Option("--format", help="Of what is printed.")] = (
        Format.TEXT
    ),
    debug: DebugOption = False,
) -> None:
    """
    Compare runs of `isthmus bench`, result by result.

    A result is faster or slower if the intervals of both runs, the median and the interquartile
    range on either side, don't overlap and the medians differ by more than the tolerance; it is
    lost if it was measured before and isn't now. Runs of different machines can be compared: what
    differs between them comes first. Emulated runs are compared with emulated ones only.

    Exit codes: 0 ok, 1 an error, 2 usage, 3 something is slower or lost.
    """
    del debug  # its callback has noted it
    from isthmus.cli.stdout import print_data
    from isthmus.cli.tolerance import parse_tolerance
    from isthmus.compare.comparison import compare as compare_runs
    from isthmus.report.comparison import comparison_text
    from isthmus.report.comparison_data import comparison_csv, comparison_json
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
        Format.TEXT: lambda: comparison_text(every_run, found, every=every),
        Format.JSON: lambda: comparison_json(every_run, found),
        Format.CSV: lambda: comparison_csv(every_run, found),
    }
    print_data(texts[output_format]())
    regressed = any(comparison.regressed for comparison in found)
    raise typer.Exit(ExitCode.BELOW_THRESHOLD if regressed else ExitCode.OK)
