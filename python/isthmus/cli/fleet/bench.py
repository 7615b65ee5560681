"""`isthmus fleet bench`."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.completing import complete_suites
from isthmus.cli.failure import ExitCode
from isthmus.cli.fleet.places import (
    HostsOption,
    PythonOption,
    SchedulerOption,
    WorkersOption,
    place_of,
)
from isthmus.cli.stderr import say, say_lines
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of
from isthmus.errors import UsageError
from isthmus.ground.spelling import counted
from isthmus.show.format import RunFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.fleet.collecting import Collected
    from isthmus.fleet.task import Task

# For the default budget, and what a run takes beside measuring.
_SHORTEST_TIMEOUT_S = 300.0


def bench(
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUITE...",
            autocompletion=complete_suites,
            help="Suites, as for `isthmus bench`.  [default: all]",
        ),
    ] = None,
    *,
    tests: Annotated[
        list[str] | None,
        typer.Option("-t", "--test", metavar="NAMES", help="Tests, as for `isthmus bench`."),
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(metavar="SIZES", help="Sizes, as for `isthmus bench`.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick/--whole", help="Quick or full runs.")] = True,
    budget: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.1, max=86_400, help="Time limit of each run."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "-d",
            "--device",
            metavar="DEVICE",
            help="GPU of each node, as for `isthmus bench`.  [default: all of them]",
        ),
    ] = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    hosts: HostsOption = None,
    python: PythonOption = None,
    repeat: Annotated[
        int, typer.Option(metavar="N", min=1, max=1000, help="Number of runs of each GPU.")
    ] = 3,
    all_at_once: Annotated[
        bool,
        typer.Option(
            "--all-at-once",
            help="Then measure all GPUs of a node at once, and judge what each loses.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="Folder for the runs.  [default: a new one beside the stored runs]",
        ),
    ] = None,
) -> None:
    """
    Measure many machines, and check them.

    Each node measures its GPUs one after the other, each in its own process. A node that fails,
    hangs or dies leaves a note in the folder and doesn't stop the others. The output ends as that
    of `isthmus fleet check FOLDER`. Nodes are workers on this machine, hosts reachable through SSH,
    or all workers of a scheduler, which needs isthmus[scale].

    Exit codes: 0 ok, 1 nothing was measured, 2 usage, 3 a GPU or node is dead, wrong or slow.
    """
    from isthmus.cli.bench.arguments import sizes_of, tests_of
    from isthmus.fleet.collecting import Collector, Request

    place = place_of(workers, scheduler, hosts, python, usual_workers=1)
    # What no node could carry out is refused here.
    tests_of(tests or (), suites or (), RunFormat.TEXT, listed=False)
    sizes_of(sizes, None, RunFormat.TEXT)
    asked_for = os.environ.get("ISTHMUS_DRIVER", "")
    if scheduler is None and hosts is None and asked_for.startswith("emulated"):
        device = device or asked_for
    task = _task(suites, tests, sizes, quick=quick, budget=budget, device=device)
    task = task.model_copy(update={"at_once": all_at_once})
    request = Request(task=task, repeats=repeat)
    folder = output or _new_folder()
    with place.nodes() as (nodes, missing):
        say(f"measuring {counted(len(nodes.names()), 'node')} into {folder}")
        collector = Collector(nodes=nodes, folder=folder, request=request, say=say_lines)
        for node, why in missing.items():
            collector.missing(node, why)
        collected = collector.collect()
    without = counted(collected.attempts, "attempt")
    rest = f"{without} left no run" if collected.attempts else "every node produced a run"
    say(f"{counted(collected.runs, 'run')} in {folder}; {rest}")
    raise typer.Exit(_verdict(folder, collected))


def _task(
    suites: "Sequence[str] | None",
    tests: "Sequence[str] | None",
    sizes: str | None,
    *,
    quick: bool,
    budget: float | None,
    device: str | None,
) -> "Task":
    from pydantic import ValidationError

    from isthmus.fleet.task import Task
    from isthmus.measure.run.record import first_fault

    try:
        return Task(
            suites=list(suites or ()),
            tests=list(tests or ()),
            sizes=sizes,
            quick=quick,
            budget_s=budget,
            devices=[device] if device else [],
            timeout_s=_SHORTEST_TIMEOUT_S + (budget or 0.0),
        )
    except ValidationError as cause:
        raise UsageError(
            f"this can't be sent to a node: {first_fault(cause)}", hint="see isthmus bench --list"
        ) from None


def _new_folder() -> Path:
    from isthmus.measure.run.store import place_of_runs

    return place_of_runs().parent / "fleets" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"


def _verdict(folder: Path, collected: "Collected") -> ExitCode:
    """Check the folder, and print the verdict."""
    from isthmus.fleet.check import check_fleet
    from isthmus.fleet.measured import read_fleet
    from isthmus.measure.run.folder import files_of
    from isthmus.show.answers.fleet import fleet_text

    health = check_fleet(read_fleet(files_of(folder)))
    print_data(fleet_text(health, width=columns_of(sys.stdout)))
    if not collected.runs:
        return ExitCode.ERROR
    return ExitCode.BELOW_THRESHOLD if health.bad else ExitCode.OK
