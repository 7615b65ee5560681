"""`isthmus reproduce`: the experiments that this project grew from, theirs beside ours."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from isthmus.cli.completing import complete_runs
from isthmus.cli.options import DeviceOption, PlotsOption
from isthmus.cli.state import state_of
from isthmus.cli.stdout import print_data
from isthmus.errors import UsageError
from isthmus.ground.spelling import did_you_mean, shortened
from isthmus.reproduce.catalogue import BY_NAME, SIMULATED
from isthmus.show.format import PageFormat

_ABOUT = {
    **{name: experiment.about for name, experiment in BY_NAME.items()},
    SIMULATED: "the evaluation of Zhang 2019 (docs/simulate-evaluation.md), in the simulator: "
    "modelled, with a verdict for each target; half a minute on two idle cores",
}
_ALL = "all"
_MEASURING = {"from_run", "quick", "device"}
_OWN = {
    _ALL: _MEASURING,
    SIMULATED: {"output_format", "seeds", "details"},
    **{name: {*_MEASURING, "sizes", "output_format"} for name in BY_NAME},
}
"""The options of each experiment; --plots and --output are for all of them."""


class Reproduce(TyperCommand):
    """Its help ends with the experiments."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - typer's
        """List the experiments."""
        with formatter.section("Experiments"):
            formatter.write_dl(list(_ABOUT.items()))


def _complete_names(incomplete: str) -> list[tuple[str, str]]:
    return [(name, about) for name, about in _ABOUT.items() if name.startswith(incomplete)]


def reproduce(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="An experiment, or all.", autocompletion=_complete_names
        ),
    ] = None,
    *,
    from_run: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="RUN",
            autocompletion=complete_runs,
            help="Measure nothing: compare a run of `isthmus bench` or of this command, such "
            "as one of another machine. A file, the id of a stored run, or last.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer sizes: at most 10 seconds an experiment.")
    ] = False,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help="Sizes to measure, such as 160MiB,320MiB or 4..1GiB; or all, "
            "for all of theirs: up to 8 minutes.  [default: some of theirs]",
        ),
    ] = None,
    device: DeviceOption = None,
    seeds: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            max=100,
            help=f"{SIMULATED}: run all of it with N inputs, and show the spread of each mean: a "
            "quarter of the time more for each.",
        ),
    ] = 1,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help=f"{SIMULATED}: also why, the spread of each number, more readings, and what isn't "
            "in the paper: other baselines, and what faults cost.",
        ),
    ] = False,
    plots: PlotsOption = None,
    output_format: Annotated[
        PageFormat, typer.Option("--format", help="The output's format.")
    ] = PageFormat.TEXT,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE|FOLDER",
            help="Also write to a file: .txt, .md, .json or .csv decide its format. Of all one "
            f"report (.md). {SIMULATED}: a folder for its table and all runs (.parquet).",
        ),
    ] = None,
) -> None:
    """
    Repeat published experiments and compare the numbers.

    This project grew from them. Their figures are shipped, with their sources. Ours are measured
    here by tests of `isthmus bench`, and the run is kept like any other; on an emulated device they
    are modelled. `all` with --quick leaves the simulations out.

    Exit codes: 0 ok, 1 error (the other results stand), 2 usage, 4 no device, 130 interrupted by
    Ctrl-C: finished points are kept.
    """
    chosen = _chosen(context, name)
    if chosen is None:
        print_data(f"{context.get_help()}\n")
        return
    from isthmus.cli.reproduce.options import options_of

    state = state_of(context)
    options = options_of(
        state,
        from_run=from_run,
        quick=quick,
        sizes=sizes,
        device=device,
        plots=plots,
    )
    if chosen == SIMULATED:
        from isthmus.cli.reproduce.migration import reproduce_migration

        reproduce_migration(output, plots, num_seeds=seeds, details=details, wanted=output_format)
        return
    if chosen == _ALL:
        from isthmus.cli.reproduce.all import reproduce_all

        raise typer.Exit(reproduce_all(options, output, debug=state.debug))
    from isthmus.cli.reproduce.one import reproduce_one

    experiment = BY_NAME[chosen]
    raise typer.Exit(reproduce_one(experiment, options, output_format, output, debug=state.debug))


def _chosen(context: typer.Context, name: str | None) -> str | None:
    """Give an experiment's name, or `all`, whose options these are; None to list them."""
    given = {
        parameter.name: parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name != "name"
        and context.params.get(parameter.name or "", parameter.default) != parameter.default
    }
    if name is not None and name not in _OWN:
        raise UsageError(
            f"no experiment is named '{shortened(name)}'",
            hint=f"{did_you_mean(name, _OWN)} the experiments: {', '.join(_OWN)}",
        )
    if name is None:
        if given:
            raise UsageError(
                f"{next(iter(given.values()))} is for an experiment",
                hint=f"isthmus reproduce {next(iter(_ABOUT))}, or isthmus reproduce all",
            )
        return None
    for parameter, option in given.items():
        if parameter not in {*_OWN[name], "plots", "output"}:
            has = ", ".join(one for one, own in _OWN.items() if parameter in own)
            raise UsageError(f"{option} is not for {name}", hint=f"it is for {has}")
    return name
