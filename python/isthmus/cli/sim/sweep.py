"""`isthmus sim sweep`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.failure import ExitCode, Stopped
from isthmus.cli.fleet.places import HostsOption, PythonOption, SchedulerOption, place_of
from isthmus.cli.reproduce.migration import run_grid
from isthmus.cli.sim.options import MachineOption, PlotsOption, SeedOption, SettingsOption
from isthmus.cli.sim.runners import Runners, here, runner_at
from isthmus.cli.stderr import say, say_lines
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of
from isthmus.errors import UsageError
from isthmus.ground.spelling import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isthmus.sim.axes import Axis
    from isthmus.sim.points import Base
    from isthmus.sim.sweep import Outcome

_POLICY, _MACHINE = "ranges", "paper-gtx480"


def sweep(
    workload: Annotated[
        str | None, typer.Argument(metavar="WORKLOAD|TRACE", help="Needed if it isn't an axis.")
    ] = None,
    *,
    axes: Annotated[
        list[str],
        typer.Option(
            "-a",
            "--axis",
            metavar="NAME=VALUES",
            help="Values of a setting, or of workload, policy, machine or seed: "
            "policy.unit=128..2MiB (powers of two), workload=bfs,lps. May be repeated: all "
            "combinations are run.",
        ),
    ] = [],  # noqa: B006 - typer copies it
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE|FOLDER",
            help="The Parquet file to write; with --grid the folder.",
        ),
    ],
    policy: Annotated[
        str,
        typer.Option(
            "-p", "--policy", metavar="NAME|FILE", help="The policy, if it isn't an axis."
        ),
    ] = _POLICY,
    machine: MachineOption = _MACHINE,
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    grid: Annotated[
        bool,
        typer.Option(
            "--grid",
            help="Instead of axes: every combination of the answers to the open questions of "
            "Zhang 2019 (docs/simulate-evaluation.md), about 3,100 runs.",
        ),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=256, help="Run in N processes of this machine."),
    ] = None,
    scheduler: SchedulerOption = None,
    hosts: HostsOption = None,
    python: PythonOption = None,
    plots: PlotsOption = None,
) -> None:
    """
    Simulate every combination of values, on one machine or many.

    Each finished point is kept at once. Ctrl-C stops at once and keeps finished points. The same
    command continues from there, also after a crash or a full disk.

    The file has the same bytes wherever points run: on cores of this machine, or on workers, which
    are processes here, hosts that SSH reaches, or all workers of a scheduler. What a worker had
    when it was lost is run again. A scheduler needs isthmus[scale].

    Exit codes: 0 ok, 1 error (finished points stand), 2 usage, 130 interrupted by Ctrl-C.
    """
    runners = _runners(workers, scheduler, hosts, python)
    if grid:
        if workload or axes or settings or (policy, machine, seed) != (_POLICY, _MACHINE, 0):
            raise UsageError(
                "--grid chooses its own runs", hint="isthmus sim sweep --grid -o FOLDER"
            )
        _grid(output, runners)
        return
    if not axes:
        raise UsageError("no axis to sweep", hint="-a NAME=VALUES, or --grid; see --help")
    from isthmus.cli.output import check_output, check_plots
    from isthmus.sim.axes import read_axes

    check_output(output)
    check_plots(plots)
    base = _base_of(workload, policy, machine, settings, seed)
    _sweep_into(output, base, read_axes(axes), runners, plots)


def _runners(
    workers: int | None,
    scheduler: str | None,
    hosts: Path | None,
    python: str | None,
) -> Runners:
    """Check where points run, before anything starts."""
    if (workers, scheduler, hosts, python) == (None, None, None, None):
        return here
    place = place_of(workers, scheduler, hosts, python, usual_workers=1)
    return lambda: runner_at(place)


def _grid(output: Path, runners: Runners) -> None:
    from isthmus.files.folder import make_folder
    from isthmus.sim.paper.grid_summary import summary_text
    from isthmus.sim.store import check_pyarrow

    check_pyarrow()
    make_folder(output, option="--output")
    found = run_grid(output, runners)
    print_data(summary_text(found, width=columns_of(sys.stdout)))


def _base_of(
    workload: str | None, policy: str, machine: str, settings: list[str] | None, seed: int
) -> "Base":
    """Read what all points of a sweep share, unless it is an axis."""
    from isthmus.sim.points import Base
    from isthmus.sim.settings import read_assignments

    return Base(
        workload=workload,
        machine=machine,
        policy=policy,
        seed=seed,
        settings=read_assignments(settings or []),
    )


def _sweep_into(
    output: Path, base: "Base", axes: "Sequence[Axis]", runners: Runners, plots: Path | None
) -> None:
    """Run a sweep, and say what became of it; Stopped after Ctrl-C, Exit if points failed."""
    outcome, times = _sweep(base, axes, output, runners)
    say_lines(_summary(outcome, output))
    if plots is not None and times:
        from isthmus.sim.pictures import draw_sweep

        drawn = draw_sweep(times, plots)
        say_lines(f"drawn: {counted(len(drawn), 'file')} in {plots}")
    if outcome.num_finished < outcome.num_points:
        raise Stopped
    if outcome.num_failed:
        raise typer.Exit(ExitCode.ERROR)


def _sweep(
    base: "Base", axes: "Sequence[Axis]", output: Path, runners: Runners
) -> "tuple[Outcome, list[tuple[Mapping[str, str], int]]]":
    """Give the outcome, and the place and the picoseconds of each point that has numbers."""
    from isthmus.cli.interrupt import stop_on_interrupt
    from isthmus.cli.sim.progress import sweep_progress
    from isthmus.sim.axes import points
    from isthmus.sim.points import build_points
    from isthmus.sim.running import check_workload
    from isthmus.sim.store import SweepStore
    from isthmus.sim.sweep import run_sweep, sweep_identity

    built = build_points(base, points(axes))
    for point in {(one.workload, *one.setup.sizes.items()): one for one in built}.values():
        check_workload(point.workload, point.setup.sizes)
    store = SweepStore(output, sweep_identity(base, axes), [point.key for point in built])
    with (
        stop_on_interrupt(say) as should_stop,
        runners() as runner,
        store,
        sweep_progress() as observer,
    ):
        outcome = run_sweep(built, store, runner=runner, observer=observer, should_stop=should_stop)
    rows = [(point.place, store.row(point.key)) for point in built if point.key in store]
    return outcome, [(place, int(row["total_ps"] or 0)) for place, row in rows if not row["error"]]


def _summary(outcome: "Outcome", output: Path) -> str:
    parts = [
        f"{outcome.num_finished} of {counted(outcome.num_points, 'point')} in {output} (modelled)"
    ]
    if outcome.num_reused:
        parts.append(f"{outcome.num_reused} existed already")
    if outcome.num_failed:
        parts.append(f"{outcome.num_failed} failed")
    if outcome.num_finished < outcome.num_points:
        parts.append("the same command continues")
    return ", ".join(parts)
