"""`isthmus sim`: page migration on modelled machines."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.cli.command_group import command_group
from isthmus.cli.sim.driver import calibrate, validate
from isthmus.cli.sim.options import (
    MachineOption,
    SeedOption,
    SettingsOption,
)
from isthmus.cli.sim.sweep import sweep
from isthmus.cli.sim.trace import trace
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of
from isthmus.errors import UsageError
from isthmus.ground.spelling import counted
from isthmus.show.fitting import PAGE_WIDTH
from isthmus.show.format import Format, format_of_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from isthmus.sim.result import SimulationResult
    from isthmus.sim.settings import Setup

sim = command_group(
    "sim",
    "Simulate page migration on machines that you don't have.\n\n"
    "All numbers are simulated, except those that `validate` and `calibrate` call measured.",
)

_PoliciesOption = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        "--policy",
        metavar="NAME",
        help="Migration policy. May be repeated: each is a column, compared with the first.  "
        "[default: programmer, overlapped, ranges]",
    ),
]
_TimelineOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the events for chrome://tracing or Perfetto (needs one -p).",
    ),
]
_FormatOption = Annotated[Format, typer.Option("--format", help="The output's format.")]
_OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Also write to a file: .json, .csv or .txt decide its format.",
    ),
]


@sim.command()
def run(
    workload: Annotated[
        str, typer.Argument(metavar="WORKLOAD|TRACE", help="A workload's name or a trace's file.")
    ],
    *,
    policies: _PoliciesOption = None,
    machine: MachineOption = "paper-gtx480",
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    timeline: _TimelineOption = None,
    output_format: _FormatOption = Format.TEXT,
    output: _OutputOption = None,
) -> None:
    """
    Simulate one workload under several policies.

    `isthmus sim list` lists workloads, policies, machines and settings. Equal seeds give equal
    results, bit for bit.

    Exit codes: 0 ok, 1 error (a deadlock says which parts wait for each other), 2 usage.
    """
    from isthmus.cli.output import check_output
    from isthmus.sim.as_text import runs_text

    check_output(timeline)
    check_output(output)
    names = list(dict.fromkeys(policies or ("programmer", "overlapped", "ranges")))
    if timeline is not None and len(names) > 1:
        raise UsageError("--timeline needs a single policy", hint=f"give one: -p {names[-1]}")
    setups = {name: _setup(name, machine, settings or []) for name in names}
    results = _run_all(workload, seed, setups, timeline)
    setup = next(iter(setups.values()))

    def text(wanted: Format, width: int = PAGE_WIDTH) -> str:
        return runs_text(workload, setup, results, wanted, width=width)

    _write(output, text, output_format)
    print_data(text(output_format, columns_of(sys.stdout)))


@sim.command("list")
def list_all(
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC",
            help="workloads, policies, machines or settings.  [default: the names of all]",
            show_default=False,
        ),
    ] = None,
    *,
    output_format: _FormatOption = Format.TEXT,
) -> None:
    """List workloads, policies, machines and settings."""
    from isthmus.sim.catalogue import catalogue_text, topic_named

    chosen = None if topic is None else topic_named(topic)
    print_data(catalogue_text(output_format, chosen, width=columns_of(sys.stdout)))


sim.command()(sweep)
sim.command()(calibrate)
sim.command()(validate)
sim.add_typer(trace)


def _setup(policy: str, machine: str, assignments: list[str]) -> "Setup":
    from isthmus.sim.machine_files import load_machine
    from isthmus.sim.policy import default_policy
    from isthmus.sim.settings import Setup, read_assignments, with_settings

    setup = Setup(machine=load_machine(machine), policy=default_policy(policy))
    return with_settings(setup, read_assignments(assignments))


def _run_all(
    workload: str, seed: int, setups: "dict[str, Setup]", timeline: Path | None
) -> "dict[str, SimulationResult]":
    from isthmus.cli.stderr import say, say_lines
    from isthmus.sim.running import check_setup, open_source
    from isthmus.sim.running import run as run_one
    from isthmus.sim.timeline import new_timeline, write_timeline

    sizes = next(iter(setups.values())).sizes
    source = open_source(workload, seed, sizes)
    # Before the first simulation takes its time.
    for setup in setups.values():
        check_setup(setup)
    if source.program.synthetic:
        say(f"note: {source.program.description}")
    results = {}
    for name, setup in setups.items():
        events = new_timeline() if timeline is not None else None
        results[name] = run_one(source, setup, timeline=events)
        if timeline is not None and events is not None:
            say_lines(f"written: {write_timeline(events, timeline)}")
            if events.num_dropped:
                last = counted(events.num_dropped, "event")
                say(f"note: the timeline leaves out its last {last}")
    if not any(result.counts["line_requests"] for result in results.values()):
        say(f"warning: {workload} has no memory operations: no policy makes a difference to it")
    for name, result in results.items():
        if result.moved_nothing and setups[name].policy.kind != "ideal":
            say(f"warning: {name}: {workload} asks for memory, and no byte crossed the link")
    return results


def _write(path: Path | None, text: "Callable[[Format], str]", wanted: Format) -> None:
    if path is None:
        return
    from isthmus.cli.stderr import say_lines
    from isthmus.files.whole import write_whole

    say_lines(f"written: {write_whole(path, text(format_of_file(path, wanted)))}")
