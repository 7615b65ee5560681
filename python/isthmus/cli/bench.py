"""`isthmus bench`."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from isthmus.bench.request import Request
from isthmus.cli.failure import ExitCode
from isthmus.cli.options import (
    BudgetOption,
    DeviceOption,
    FormatOption,
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
from isthmus.errors import UsageError
from isthmus.report.format import Format
from isthmus.sizes import parse_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.bench.tests import BenchTest
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
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    samples: SamplesOption = False,
    show_list: ListOption = False,
    debug: DebugOption = False,
) -> None:
    """
    Measure the link between CPU and GPU.

    Without a suite or a test by name, all of them: bandwidth swept over sizes; small copies timed
    in five ways, each under its own name; windows, CPU mappings of GPU memory, beside cudaMemcpy of
    the same bytes; and what memory costs to allocate.
    Results go to stdout, talk to stderr, and every run is kept below ~/.local/share/isthmus/runs
    (or XDG_DATA_HOME). Without a GPU the emulated device is measured: modelled numbers.

    Ctrl-C stops after the current point and keeps what is finished (exit code 1); a second one
    stops at once.

    Exit codes: 0 ok, 1 an error (the other results stand), 2 usage, 4 no device.
    """
    del debug  # its callback has noted it
    from isthmus.bench.selection import select_tests

    chosen = select_tests(tests or (), prefixes or (), suites or ())
    if show_list:
        _print_list(chosen, output_format)
        return
    state = state_of(context)
    request = Request(
        tests=chosen,
        sizes=None if sizes is None else parse_sizes(sizes),
        device=device,
        quick=quick,
        managed=managed,
        max_bytes=None if max_bytes is None else parse_sizes(max_bytes)[-1],
        budget_s=_checked_budget(budget),
        keep_samples=samples,
        command=("isthmus", *state.arguments),
    )
    raise typer.Exit(_measure_and_report(request, output_format, output, debug=state.debug))


def _print_list(tests: "Sequence[BenchTest]", wanted: Format) -> None:
    from isthmus.cli.listing import listing
    from isthmus.cli.stdout import print_data

    print_data(listing(tests, wanted))


def _checked_budget(seconds: float | None) -> float | None:
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise UsageError(
            f"--budget {seconds:g} is no time to measure in",
            hint="give seconds, more than 0: --budget 60",
        )
    return seconds


def _measure_and_report(
    request: Request, wanted: Format, path: Path | None, *, debug: bool
) -> ExitCode:
    from isthmus.cli.output import check_output, keep, show

    check_output(path)
    run = _measure(request)
    # Files first: a stdout that takes nothing loses nothing.
    codes = [keep(run, path, wanted, debug=debug), show(run, wanted, debug=debug)]
    if run.failed or run.run.interrupted:
        return ExitCode.ERROR
    return max(codes)


def _measure(request: Request) -> "Run":
    from isthmus.bench.invocation import budget_of, carry_out, plan_request
    from isthmus.bench.opening import open_session
    from isthmus.cli.interrupt import stop_on_interrupt
    from isthmus.cli.output import say_if_not_kept
    from isthmus.cli.stderr import say
    from isthmus.cli.talk import progress

    with stop_on_interrupt(say) as should_stop:
        ground = open_session(request.device)
        for line in ground.announcements():
            say(line)
        say_if_not_kept()
        plan = plan_request(request, ground)
        for note in plan.notes:
            say(f"note: {note}")
        seconds = budget_of(request, emulated=ground.session.emulated)
        say(f"measuring {len(plan.points)} points, about {seconds:g} s (--budget)")
        with progress() as observer:
            return carry_out(request, plan, ground, observer, should_stop)
