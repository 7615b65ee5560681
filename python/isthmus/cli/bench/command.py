"""`isthmus bench`."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from isthmus.cli.bench.options import (
    BufferOption,
    CompareOption,
    ExpectOption,
    JsonOption,
    RepeatOption,
    RunFormatOption,
    SamplesNumberOption,
    SkipVerificationOption,
    ToleranceOption,
    VerboseOption,
)
from isthmus.cli.failure import ExitCode, Stopped, report_failure, worst
from isthmus.cli.options import (
    BudgetOption,
    DeviceOption,
    ListOption,
    ManagedOption,
    MaxBytesOption,
    NoSaveOption,
    OutputOption,
    PlotsOption,
    QuickOption,
    SizesOption,
    SuitesArgument,
    TestsOption,
)
from isthmus.cli.state import state_of
from isthmus.errors import Error
from isthmus.ground.sizes import parse_size
from isthmus.show.format import RunFormat, TableLayout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.cli.bench.keeping import Keeping
    from isthmus.cli.compare.verdicts import Verdicts
    from isthmus.measure.bench.invocation import Request
    from isthmus.measure.bench.opening import Opened
    from isthmus.measure.bench.tests.catalogue import BenchTest
    from isthmus.measure.run.model import Run


def bench(
    context: typer.Context,
    suites: SuitesArgument = None,
    *,
    tests: TestsOption = None,
    sizes: SizesOption = None,
    device: DeviceOption = None,
    quick: QuickOption = False,
    managed: ManagedOption = False,
    max_bytes: MaxBytesOption = None,
    budget: BudgetOption = None,
    buffer_mib: BufferOption = None,
    num_samples: SamplesNumberOption = None,
    repeat: RepeatOption = None,
    skip_verification: SkipVerificationOption = False,
    output_format: RunFormatOption = RunFormat.TEXT,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
    output: OutputOption = None,
    plots: PlotsOption = None,
    compare: CompareOption = None,
    tolerance: ToleranceOption = None,
    expect: ExpectOption = None,
    no_save: NoSaveOption = False,
    show_list: ListOption = False,
) -> None:
    """
    Measure the link between CPU and GPU.

    By default it runs all tests: bandwidth over sizes; small copies with five metrics; windows (CPU
    mappings of GPU memory) beside cudaMemcpy of the same bytes; and the cost of allocating memory.
    SUITE and -t choose some of them; -t with a SUITE chooses among its tests.
    The output ends with a verdict: what the link does, what limits it, what to do. Results go to
    stdout, messages to stderr, and every run is stored below ~/.local/share/isthmus/runs (or
    XDG_DATA_HOME): see `isthmus runs`. Without a GPU the emulated one is measured, and its numbers
    are simulated.

    Ctrl-C stops after the current point, a second one at once; finished points are kept, also if
    the process is killed (with --repeat, those of the first process once it has ended).

    -t, -b, -i, -s, -v and -j mean what they mean in nvbandwidth; -t takes its numbers, too.

    Exit codes: 0 ok, 1 error (the other results stand), 2 usage, 3 slower than --compare's run or
    below --expect's values, 4 no device, 5 can't tell whether it is slower, 130 interrupted by
    Ctrl-C.
    """
    from isthmus.cli.bench.arguments import (
        SHIPPED,
        checked_budget,
        how_many,
        layout_of,
        sizes_of,
        tests_of,
        values_of,
    )

    layout = layout_of(output_format, as_json=as_json, verbose=verbose)
    chosen = tests_of(tests or (), suites or (), output_format, listed=show_list)
    if show_list:
        _print_list(chosen, layout)
        return
    from isthmus.cli.bench.keeping import Keeping
    from isthmus.cli.compare.verdicts import verdicts_of
    from isthmus.measure.bench.invocation import Request

    state = state_of(context)
    request = Request(
        tests=chosen,
        sizes=sizes_of(sizes, buffer_mib, output_format),
        device=device,
        quick=quick,
        managed=managed,
        max_bytes=None if max_bytes is None else parse_size(max_bytes),
        repeat=how_many("--repeat", repeat, "processes"),
        budget_s=checked_budget(budget),
        keep_samples=verbose,
        num_samples=how_many("-i", num_samples, "samples"),
        verify=not skip_verification,
        command=("isthmus", *state.arguments),
    )
    own = None if expect == SHIPPED else values_of(expect)
    verdicts = verdicts_of(compare, tolerance, expect=expect is not None, own=own, plots=plots)
    keeping = Keeping(wanted=not no_save)
    code = _measure_and_report(request, layout, output, verdicts, keeping, debug=state.debug)
    if code == ExitCode.INTERRUPTED:
        raise Stopped
    raise typer.Exit(code)


def _print_list(tests: "Sequence[BenchTest]", layout: TableLayout) -> None:
    from isthmus.cli.bench.listing import listing
    from isthmus.cli.stdout import print_data
    from isthmus.cli.terminal import columns_of

    print_data(listing(tests, layout.wanted, width=columns_of(sys.stdout)))


def _measure_and_report(
    request: "Request",
    layout: TableLayout,
    path: Path | None,
    verdicts: "Verdicts",
    keeping: "Keeping",
    *,
    debug: bool,
) -> ExitCode:
    from isthmus.cli.bench.measuring import measure
    from isthmus.cli.output import check_output, show, write_output
    from isthmus.cli.terminal import is_terminal

    def checked(request: "Request", surroundings: "Opened") -> "Request":
        verdicts.check(surroundings.identity(), emulated=surroundings.session.emulated)
        return request

    check_output(path)
    run, stopped = measure(request, keeping, checked)
    # Files first: then a stdout that fails loses nothing.
    keeping.end(run)
    codes = [write_output(run, path, layout, debug=debug)]
    # The file has what would flood a screen.
    written = path is not None and codes == [ExitCode.OK]
    brief = written and not layout.verbose and is_terminal(sys.stdout)
    codes.append(show(run, replace(layout, brief=brief), debug=debug))
    codes.append(_judge(run, layout, verdicts, debug=debug))
    if run.run.interrupted:
        return ExitCode.INTERRUPTED if stopped else ExitCode.ERROR
    return ExitCode.ERROR if run.failed else worst(codes)


def _judge(run: "Run", layout: TableLayout, verdicts: "Verdicts", *, debug: bool) -> ExitCode:
    try:
        verdicts.draw(run)
        return verdicts.give(run, on_stdout=layout.wanted == RunFormat.TEXT)
    except Error as error:
        return report_failure(error, debug=debug)
