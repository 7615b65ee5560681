"""`isthmus sim sweep`."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.failure import ExitCode, Stopped
from isthmus.cli.sim.options import MachineOption, SeedOption, SettingsOption
from isthmus.cli.state import DebugOption
from isthmus.cli.stderr import say, say_lines
from isthmus.ground.spelling import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.sim.axes import Axis
    from isthmus.sim.points import Base
    from isthmus.sim.sweep import Outcome, PointRunner

AxesOption = Annotated[
    list[str],
    typer.Option(
        "-a",
        "--axis",
        metavar="NAME=VALUES",
        help="Values of a setting, or of workload, policy, machine or seed: policy.unit=128..2MiB "
        "(powers of two), workload=bfs,lps. May be repeated: all combinations are run.",
    ),
]
PolicyOption = Annotated[
    str, typer.Option("-p", "--policy", metavar="NAME", help="The policy, if it isn't an axis.")
]
_FileOption = Annotated[
    Path, typer.Option("-o", "--output", metavar="FILE", help="The Parquet file to write.")
]
JobsOption = Annotated[
    int | None,
    typer.Option("-j", "--jobs", min=1, help="Runs at a time.  [default: one for each core]"),
]


def sweep(
    workload: Annotated[
        str | None, typer.Argument(metavar="[WORKLOAD|TRACE]", help="Needed if it isn't an axis.")
    ] = None,
    *,
    axes: AxesOption,
    output: _FileOption,
    policy: PolicyOption = "ranges",
    machine: MachineOption = "paper-gtx480",
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    debug: DebugOption = False,
) -> None:
    """
    Simulate every combination of values, on all cores.

    Each finished point is kept at once. Ctrl-C stops at once and keeps finished points. The same
    command continues from there, also after a crash or a full disk.

    Exit codes: 0 ok, 1 error (finished points stand), 2 usage, 130 interrupted by Ctrl-C.
    """
    del debug  # its callback has stored it
    from isthmus.cli.output import check_output
    from isthmus.sim.axes import read_axes

    check_output(output)
    base = base_of(workload, policy, machine, settings, seed)
    sweep_into(output, base, read_axes(axes), lambda: here(jobs))


def base_of(
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


Runners = Callable[[], AbstractContextManager["PointRunner"]]
"""Starts what runs points, and ends it."""


def here(jobs: int | None) -> "AbstractContextManager[PointRunner]":
    """Run points in threads of this process; None: one for each core."""
    from isthmus.sim.library import Library
    from isthmus.sim.sweep import Threads, num_cores

    return nullcontext(Threads(Library().run, jobs or num_cores()))


def sweep_into(output: Path, base: "Base", axes: "Sequence[Axis]", runners: Runners) -> None:
    """Run a sweep, and say what became of it; Stopped after Ctrl-C, Exit if points failed."""
    outcome = _sweep(base, axes, output, runners)
    say_lines(_summary(outcome, output))
    if outcome.num_finished < outcome.num_points:
        raise Stopped
    if outcome.num_failed:
        raise typer.Exit(ExitCode.ERROR)


def _sweep(base: "Base", axes: "Sequence[Axis]", output: Path, runners: Runners) -> "Outcome":
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
        return run_sweep(built, store, runner=runner, observer=observer, should_stop=should_stop)


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
