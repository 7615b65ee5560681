"""`isthmus sim`: page migration on modelled machines."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from isthmus.cli.command_group import command_group
from isthmus.cli.sim.driver import calibrate, validate
from isthmus.cli.sim.options import (
    MachineOption,
    PlotsOption,
    SeedOption,
    SettingsOption,
)
from isthmus.cli.sim.sweep import sweep
from isthmus.cli.sim.trace import trace
from isthmus.cli.stderr import say, say_lines
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of
from isthmus.errors import UsageError
from isthmus.files.whole import write_whole
from isthmus.ground.spelling import counted
from isthmus.show.fitting import PAGE_WIDTH
from isthmus.show.format import Format, format_of_file
from isthmus.sim.parts import By, Parts

if TYPE_CHECKING:
    from isthmus import _native
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
        metavar="NAME|FILE",
        help="Migration policy: a name, or a policy of your own, whose code runs: ./mine.so, "
        "mine.py:Mine. May be repeated: each is a column, compared with the first.  "
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
        help="Also write to a file: .json, .csv, .parquet or .txt decide its format.",
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
    by: Annotated[
        By | None, typer.Option(help="Give statistics of each kernel, allocation or page, too.")
    ] = None,
    timeline: _TimelineOption = None,
    plots: PlotsOption = None,
    output_format: _FormatOption = Format.TEXT,
    output: _OutputOption = None,
) -> None:
    """
    Simulate one workload under several policies.

    `isthmus sim list` lists workloads, policies, machines and settings. Equal seeds give equal
    results, bit for bit.

    Exit codes: 0 ok, 1 error (a deadlock says which parts wait for each other), 2 usage.
    """
    from isthmus.cli.output import check_output, check_plots
    from isthmus.sim.as_text import runs_table, runs_text
    from isthmus.sim.store import check_pyarrow, parquet_of

    check_output(timeline)
    check_output(output)
    check_plots(plots)
    to_parquet = output is not None and output.suffix.lower() == ".parquet"
    if to_parquet:
        check_pyarrow()
    names = list(dict.fromkeys(policies or ("programmer", "overlapped", "ranges")))
    if timeline is not None and len(names) > 1:
        raise UsageError("--timeline needs a single policy", hint=f"give one: -p {names[-1]}")
    chosen = [_setup(name, machine, settings or []) for name in names]
    setups = {setup.policy.name: setup for setup in chosen}
    parts = None if by is None else Parts(by)
    results = _run_all(workload, seed, setups, _Wanted(parts, timeline, plots))
    setup = next(iter(setups.values()))

    def text(wanted: Format, width: int = PAGE_WIDTH) -> str:
        return runs_text(workload, setup, results, wanted, width=width, parts=parts)

    if output is not None:
        contents: str | bytes
        if to_parquet:
            contents = parquet_of(*runs_table(workload, results, parts))
        else:
            contents = text(format_of_file(output, output_format))
        say_lines(f"written: {write_whole(output, contents)}")
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
    from isthmus.sim.own import policy_of
    from isthmus.sim.settings import Setup, read_assignments, with_settings

    setup = Setup(machine=load_machine(machine), policy=policy_of(policy))
    return with_settings(setup, read_assignments(assignments))


class _Wanted(NamedTuple):
    """What is asked of each run, besides its result."""

    parts: Parts | None
    timeline: Path | None
    plots: Path | None


def _run_all(
    workload: str, seed: int, setups: "dict[str, Setup]", wanted: _Wanted
) -> "dict[str, SimulationResult]":
    from isthmus.sim.running import check_setup, open_source

    sizes = next(iter(setups.values())).sizes
    source = open_source(workload, seed, sizes)
    # Before the first simulation takes its time.
    for setup in setups.values():
        check_setup(setup)
    if source.program.synthetic:
        say(f"note: {source.program.description}")
    results = {name: _run_one(source, name, setup, wanted) for name, setup in setups.items()}
    if not any(result.counts["line_requests"] for result in results.values()):
        say(f"warning: {workload} has no memory operations: no policy makes a difference to it")
    for name, result in results.items():
        if result.moved_nothing and setups[name].policy.kind != "ideal":
            say(f"warning: {name}: {workload} asks for memory, and no byte crossed the link")
    return results


def _run_one(
    source: "_native.TraceSource", name: str, setup: "Setup", wanted: _Wanted
) -> "SimulationResult":
    from isthmus.sim.parts import parts_of, rows_of
    from isthmus.sim.running import run as run_one
    from isthmus.sim.timeline import MAX_EVENTS, new_timeline, write_timeline

    parts, timeline, plots = wanted
    program = source.program
    names = {} if parts is None else parts_of(program, parts.by, setup.policy.page)
    draws = timeline is not None or plots is not None
    events = new_timeline(MAX_EVENTS if draws else 0, names)
    result = run_one(source, setup, timeline=events if draws or parts else None)
    if parts is not None:
        parts.rows[name] = rows_of(parts.by, names, program, result, events)
    if timeline is not None:
        say_lines(f"written: {write_timeline(events, timeline)}")
    if plots is not None:
        from isthmus.sim.pictures import draw_run

        drawn = draw_run(name, program, result, events, plots)
        say_lines(f"drawn: {counted(len(drawn), 'file')} in {plots}")
    if draws and events.num_dropped:
        what = "timeline leaves" if plots is None else "pictures leave"
        say(f"note: the {what} out the last {counted(events.num_dropped, 'event')}")
    return result
