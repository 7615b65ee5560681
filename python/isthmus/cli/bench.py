"""`isthmus bench`."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from isthmus.bench.request import Request
from isthmus.cli.bench_options import (
    AnywayOption,
    BufferOption,
    CompareOption,
    DisableAffinityOption,
    ExpectOption,
    JsonOption,
    MeanOption,
    PlotsOption,
    RepeatOption,
    RunFormatOption,
    RunsOption,
    SamplesNumberOption,
    SkipVerificationOption,
    ToleranceOption,
    VerboseOption,
)
from isthmus.cli.failure import ExitCode, report_failure
from isthmus.cli.options import (
    BudgetOption,
    DeviceOption,
    ListOption,
    ManagedOption,
    MaxBytesOption,
    OutputOption,
    PrefixesOption,
    QuickOption,
    SamplesOption,
    SizesOption,
    SuitesArgument,
    TestsOption,
)
from isthmus.cli.state import DebugOption, state_of
from isthmus.errors import Error, UsageError
from isthmus.report.format import RunFormat, TableLayout
from isthmus.sizes import parse_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.bench.tests.catalogue import BenchTest
    from isthmus.cli.verdicts import Verdicts
    from isthmus.run.model import Run


def bench(
    context: typer.Context,
    suites: SuitesArgument = None,
    *,
    tests: TestsOption = None,
    prefixes: PrefixesOption = None,
    sizes: SizesOption = None,
    device: DeviceOption = None,
    quick: QuickOption = False,
    managed: ManagedOption = False,
    max_bytes: MaxBytesOption = None,
    budget: BudgetOption = None,
    buffer_mib: BufferOption = None,
    num_samples: SamplesNumberOption = None,
    runs: RunsOption = None,
    repeat: RepeatOption = None,
    skip_verification: SkipVerificationOption = False,
    disable_affinity: DisableAffinityOption = False,
    output_format: RunFormatOption = RunFormat.TEXT,
    as_json: JsonOption = False,
    use_mean: MeanOption = False,
    verbose: VerboseOption = False,
    output: OutputOption = None,
    samples: SamplesOption = False,
    plots: PlotsOption = None,
    compare: CompareOption = None,
    tolerance: ToleranceOption = None,
    anyway: AnywayOption = False,
    expect: ExpectOption = False,
    show_list: ListOption = False,
    debug: DebugOption = False,
) -> None:
    """
    Measure the link between CPU and GPU.

    By default it runs all tests: bandwidth over sizes; small copies with five metrics; windows (CPU
    mappings of GPU memory) beside cudaMemcpy of the same bytes; and the cost of allocating memory.
    SUITE, -t and -p choose some of them.
    Results go to stdout, messages to stderr, and every run is kept below
    ~/.local/share/isthmus/runs (or XDG_DATA_HOME). Without a GPU the emulated device is
    measured, and its numbers are modelled.

    Ctrl-C stops after the current point and keeps what is finished (exit code 1); a second one
    stops at once (130).

    Options of one letter have the same meaning as in nvbandwidth, and -t takes its numbers, too.

    Exit codes: 0 ok, 1 error (the other results stand), 2 usage, 3 slower than --compare's run
    or below the values of --expect, 4 no device.
    """
    del debug  # its callback has stored it
    from isthmus.cli.asked import how_many, layout_of, sizes_of, tests_of

    layout = layout_of(output_format, as_json=as_json, use_mean=use_mean, verbose=verbose)
    chosen = tests_of(tests or (), prefixes or (), suites or (), output_format)
    if show_list:
        _print_list(chosen, layout)
        return
    from isthmus.cli.verdicts import verdicts_of

    state = state_of(context)
    request = Request(
        tests=chosen,
        sizes=sizes_of(sizes, buffer_mib, output_format),
        device=device,
        quick=quick,
        managed=managed,
        max_bytes=None if max_bytes is None else parse_size(max_bytes),
        runs=how_many("--runs", runs, "runs"),
        repeat=how_many("--repeat", repeat, "processes"),
        budget_s=_checked_budget(budget),
        keep_samples=samples or verbose,
        num_samples=how_many("-i", num_samples, "samples"),
        verify=not skip_verification,
        bind=not disable_affinity,
        command=("isthmus", *state.arguments),
    )
    verdicts = verdicts_of(compare, tolerance, anyway=anyway, expect=expect, plots=plots)
    raise typer.Exit(_measure_and_report(request, layout, output, verdicts, debug=state.debug))


def _print_list(tests: "Sequence[BenchTest]", layout: TableLayout) -> None:
    from isthmus.cli.listing import listing
    from isthmus.cli.stdout import print_data

    print_data(listing(tests, layout.wanted))


def _checked_budget(seconds: float | None) -> float | None:
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise UsageError(
            f"--budget {seconds:g} is not a time to measure in",
            hint="give seconds, more than 0: --budget 60",
        )
    return seconds


def _measure_and_report(
    request: Request, layout: TableLayout, path: Path | None, verdicts: "Verdicts", *, debug: bool
) -> ExitCode:
    from isthmus.cli.output import check_output, keep, show

    check_output(path)
    run = _measure(request, verdicts)
    # Files first: then a stdout that fails loses nothing.
    codes = [keep(run, path, layout, debug=debug), show(run, layout, debug=debug)]
    codes.append(_judge(run, layout, verdicts, debug=debug))
    if run.failed or run.run.interrupted:
        return ExitCode.ERROR
    return max(codes)


def _judge(run: "Run", layout: TableLayout, verdicts: "Verdicts", *, debug: bool) -> ExitCode:
    try:
        verdicts.draw(run)
        return verdicts.give(run, on_stdout=layout.wanted == RunFormat.TEXT)
    except Error as error:
        return report_failure(error, debug=debug)


def _measure(request: Request, verdicts: "Verdicts") -> "Run":
    from isthmus.bench.invocation import budget_of, carry_out, plan_request
    from isthmus.bench.opening import open_session
    from isthmus.bench.repeats import carry_out_repeatedly
    from isthmus.cli.interrupt import stop_on_interrupt
    from isthmus.cli.output import say_if_not_kept
    from isthmus.cli.stderr import say
    from isthmus.cli.talk import progress

    with stop_on_interrupt(say) as should_stop:
        surroundings = open_session(request.device, bind=request.bind)
        verdicts.check(surroundings.identity(), emulated=surroundings.session.emulated)
        for line in surroundings.announcements():
            say(line)
        say_if_not_kept()
        plan = plan_request(request, surroundings)
        for note in plan.notes:
            say(f"note: {note}")
        seconds = budget_of(request, emulated=surroundings.session.emulated)
        num_points = len(plan.points)
        points = f"measuring {num_points} point{'' if num_points == 1 else 's'}"
        if request.repeat is not None:
            # The processes have the device to themselves.
            del surroundings
            say(
                f"{points} in {request.repeat} fresh processes, each about {seconds:g} s (--budget)"
            )
            with progress() as observer:
                return carry_out_repeatedly(request, observer, should_stop)
        say(f"{points}, about {seconds:g} s (--budget)")
        with progress() as observer:
            return carry_out(request, plan, surroundings, observer, should_stop)
