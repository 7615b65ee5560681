"""`isthmus sim trace`: trace files."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from isthmus.cli.command_group import command_group
from isthmus.cli.sim.options import SeedOption
from isthmus.cli.stderr import say, say_lines
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of

trace = command_group("trace", "Record, import and inspect traces.")

_ZstdOption = Annotated[
    bool,
    typer.Option("--zstd", help="Compress the file; it can't be memory-mapped then."),
]
_FileOption = Annotated[
    Path, typer.Option("-o", "--output", metavar="FILE", help="The trace to write (.arrow).")
]


@trace.command()
def record(
    workload: Annotated[str, typer.Argument(metavar="WORKLOAD", help="A workload's name.")],
    *,
    output: _FileOption,
    sizes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Choose a size of the workload: workload.nodes=131072. May be repeated.",
        ),
    ] = None,
    seed: SeedOption = 0,
    zstd: _ZstdOption = False,
) -> None:
    """Record the memory operations of a workload."""
    from isthmus.cli.output import check_output
    from isthmus.sim.running import open_source
    from isthmus.sim.settings import read_sizes
    from isthmus.sim.trace.file import record_trace

    check_output(output)
    source = open_source(workload, seed, read_sizes(sizes or []))
    record_trace(source, output, compression="zstd" if zstd else None)
    say_lines(f"written: {output}")


@trace.command()
def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace.")],
) -> None:
    """Summarise a trace."""
    from isthmus.sim.trace.file import trace_info
    from isthmus.sim.trace.report import info_text

    print_data(info_text(trace_info(file), width=columns_of(sys.stdout)))


@trace.command("import")
def import_accelsim(
    kernels_list: Annotated[
        Path, typer.Argument(metavar="kernelslist.g", help="The list of an Accel-Sim trace.")
    ],
    *,
    output: _FileOption,
    zstd: _ZstdOption = False,
    sampled: Annotated[
        bool,
        typer.Option("--sampled", help="Treat missing CTAs as idle (the trace is sampled)."),
    ] = False,
) -> None:
    """
    Import an Accel-Sim or NVBit trace.

    It is read block by block in bounded memory. Such traces lack texture and constant accesses,
    asynchronous copies and allocations: warnings name what is missing.
    """
    from isthmus.cli.output import check_output
    from isthmus.sim.trace.importing import import_trace

    check_output(output)
    report = import_trace(
        kernels_list,
        output,
        compression="zstd" if zstd else None,
        missing_ctas_do_nothing=sampled,
    )
    for warning in report.warnings:
        say(f"warning: {warning}")
    say_lines(f"written: {output}")
