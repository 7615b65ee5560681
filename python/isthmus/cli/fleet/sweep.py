"""`isthmus fleet sweep`."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.fleet.places import (
    HostsOption,
    Place,
    PythonOption,
    SchedulerOption,
    place_of,
)
from isthmus.cli.reproduce.migration import run_grid
from isthmus.cli.sim.options import MachineOption, SeedOption, SettingsOption
from isthmus.cli.sim.sweep import AxesOption, PolicyOption, base_of, sweep_into
from isthmus.cli.state import DebugOption
from isthmus.cli.stderr import say
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of
from isthmus.errors import UsageError
from isthmus.ground.spelling import counted

if TYPE_CHECKING:
    from isthmus.sim.store import Row
    from isthmus.sim.sweep import PointRunner

_POLICY, _MACHINE = "ranges", "paper-gtx480"


def sweep(
    workload: Annotated[
        str | None, typer.Argument(metavar="[WORKLOAD|TRACE]", help="As for isthmus sim sweep.")
    ] = None,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE|FOLDER",
            help="The Parquet file to write; with --grid the folder.",
        ),
    ],
    axes: AxesOption = [],  # noqa: B006 - typer copies it
    policy: PolicyOption = _POLICY,
    machine: MachineOption = _MACHINE,
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    grid: Annotated[
        bool,
        typer.Option(
            "--grid",
            help="Instead of axes: the runs of `isthmus reproduce partial-page-migration --grid`, "
            "into its folder.",
        ),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=256, help="Workers on this machine.  [default: its cores]"
        ),
    ] = None,
    scheduler: SchedulerOption = None,
    hosts: HostsOption = None,
    python: PythonOption = None,
    debug: DebugOption = False,
) -> None:
    """
    Simulate every combination of values on many machines.

    It writes the same bytes as `isthmus sim sweep` does on one machine, and both continue what the
    other one began. Finished points are kept at once; what a worker had when it was lost is run
    again. All numbers are modelled. Workers are processes on this machine, hosts that SSH reaches,
    or all workers of a scheduler. Needs isthmus[sim], and for a scheduler isthmus[scale].

    Exit codes: 0 ok, 1 error (finished points stand), 2 usage, 130 interrupted by Ctrl-C.
    """
    del debug  # its callback has stored it
    from isthmus.sim.sweep import num_cores

    place = place_of(workers, scheduler, hosts, python, usual_workers=num_cores())
    if grid:
        if workload or axes or settings or (policy, machine, seed) != (_POLICY, _MACHINE, 0):
            raise UsageError(
                "--grid has runs of its own", hint="isthmus fleet sweep --grid -o FOLDER"
            )
        _grid(output, place)
        return
    if not axes:
        raise UsageError("no axis to sweep", hint="-a NAME=VALUES, or --grid; see --help")
    from isthmus.cli.output import check_output
    from isthmus.sim.axes import read_axes

    check_output(output)
    base = base_of(workload, policy, machine, settings, seed)
    sweep_into(output, base, read_axes(axes), lambda: runner_at(place))


def _grid(output: Path, place: Place) -> None:
    from isthmus.files.folder import make_folder
    from isthmus.sim.paper.grid_summary import summary_text
    from isthmus.sim.store import check_pyarrow

    check_pyarrow()
    make_folder(output, option="--output")
    found = run_grid(output, lambda: runner_at(place))
    print_data(summary_text(found, width=columns_of(sys.stdout)))


@contextmanager
def runner_at(place: Place) -> "Iterator[PointRunner]":
    """Start or find the workers, and let them run points."""
    from isthmus.fleet.spread import Spread, Work
    from isthmus.sim.wire import Elsewhere, run_texts

    with place.all_cores(run_texts, say) as (workers, missing):
        for host, why in missing.items():
            say(f"not used: {host}: {why}")
        threads = workers.threads().values()
        if not threads:
            hint = "start some: dask worker ADDRESS"
            if missing:
                hint = "each host is named above, with why"
            raise UsageError("there is no worker", hint=hint)
        at_once = counted(sum(threads), "point")
        say(f"simulating on {counted(len(threads), 'worker')}, {at_once} at a time")

        def spread(
            works: Sequence[tuple[str, str, str]],
            read: "Callable[[str], Row]",
            should_stop: Callable[[], bool],
        ) -> "Iterator[tuple[int, Row]]":
            given = [Work(label, text, kin) for label, text, kin in works]
            return Spread(workers=workers, say=say).results(given, read, should_stop)

        yield Elsewhere(spread)
