"""`isthmus sim calibrate` and `isthmus sim validate`: the modelled driver beside a real one."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from isthmus.cli.sim.progress import programs_progress
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of
from isthmus.errors import UsageError
from isthmus.show.format import Format

_RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="A run of `isthmus bench --managed` or paging: a file, an id, last."
    ),
]
_MachineOption = Annotated[
    str,
    typer.Option(
        "-m", "--machine", metavar="NAME|FILE", help="The machine that was measured, as modelled."
    ),
]
_FormatOption = Annotated[Format, typer.Option("--format", help="The output's format.")]
_SUFFIX = ".toml"


def calibrate(
    run: _RunArgument,
    *,
    machine: _MachineOption,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.toml", help="Write the machine to this file."),
    ] = None,
) -> None:
    """
    Fit the modelled driver to a real one.

    The costs of page faults are fitted to what `isthmus bench --managed` measured: for a block of
    2 MiB in a batch, for a kernel's first batch, and for each page. Every second size and all fresh
    reads at random are held back, and only test them. What an eviction takes is fitted to a read
    that thrashes. What a kernel takes to fetch a unit of a paged array is fitted to three programs
    of `isthmus bench paging`, which takes a minute. The rest of the machine stays.

    Exit codes: 0 ok, 1 the fit doesn't settle (nothing is written), 2 usage.
    """
    from isthmus.cli.output import check_output
    from isthmus.cli.stderr import say_lines
    from isthmus.files.whole import write_whole
    from isthmus.measure.run.reading import read_run
    from isthmus.sim.driver.as_text import Comparison, comparison_text
    from isthmus.sim.driver.fetching import fitted_fetch, fitting_programs, num_steps
    from isthmus.sim.driver.fitting import Fit, fitted
    from isthmus.sim.driver.measured import not_predicted, points_of
    from isthmus.sim.driver.programs import program_points
    from isthmus.sim.driver.storing import fitted_machine_text, named_after
    from isthmus.sim.machine_files import load_machine

    if output is not None and output.suffix != _SUFFIX:
        raise UsageError(
            f"a machine's file ends in {_SUFFIX}, and {output} doesn't",
            hint=f"name it {output.with_suffix(_SUFFIX)}",
        )
    check_output(output)
    measured = read_run(run)
    of_programs = program_points(measured)
    points = points_of(measured, or_none=bool(of_programs))
    fit = Fit(machine=load_machine(machine))
    if points:
        fit = fitted(points, fit.machine)
    chosen = fitting_programs(of_programs)
    if chosen or not points:
        with programs_progress(num_steps(chosen)) as tell:
            found = fitted_fetch(chosen, fit.machine, tell)
        names = tuple(resident.program.name for resident, _ in chosen)
        fit = replace(fit, machine=found, programs=names, costs=fit.costs | {"fetch"})
    named = named_after(fit.machine, output, measured)
    if output is not None:
        text = fitted_machine_text(named, measured, fit)
        say_lines(f"written: {write_whole(output, text)}")
    print_data(
        comparison_text(
            measured,
            named,
            Comparison(points=fit.compared, left_out=not_predicted(measured), fitted=fit.costs),
            Format.TEXT,
            width=columns_of(sys.stdout),
        )
    )


def validate(
    run: _RunArgument,
    *,
    machine: _MachineOption,
    policy: Annotated[
        str, typer.Option("-p", "--policy", metavar="NAME|FILE", help="What migrates on demand.")
    ] = "tree",
    output_format: _FormatOption = Format.TEXT,
) -> None:
    """
    Put predicted times beside measured ones.

    The times are those of `isthmus bench --managed` that the simulator predicts (page faults; reads
    on demand, in order and at random; reads and writes in place; prefetches; what the CPU takes
    back), and those of the programs of `isthmus bench paging`, in each way. Simulating the programs
    takes some minutes.

    Exit codes: 0 ok, 2 usage.
    """
    from isthmus.measure.run.reading import read_run
    from isthmus.sim.driver.as_text import Comparison, comparison_text
    from isthmus.sim.driver.fitting import compared
    from isthmus.sim.driver.measured import not_predicted, points_of
    from isthmus.sim.driver.predicting import on_demand
    from isthmus.sim.driver.programs import compared_programs, program_points
    from isthmus.sim.machine_files import load_machine

    measured = read_run(run)
    modelled = load_machine(machine)
    migrates = on_demand(policy)
    of_programs = program_points(measured)
    points = compared(points_of(measured, or_none=bool(of_programs)), modelled, migrates)
    with programs_progress(len(of_programs)) as tell:
        programs = compared_programs(of_programs, modelled, tell, migrates)
    print_data(
        comparison_text(
            measured,
            modelled,
            Comparison(
                points=points,
                programs=programs,
                left_out=not_predicted(measured),
                migrates=migrates.name,
            ),
            output_format,
            width=columns_of(sys.stdout),
        )
    )
