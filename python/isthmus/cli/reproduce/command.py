"""`isthmus reproduce`: the experiments that this project grew from, theirs beside ours."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from isthmus.cli.completing import complete_runs
from isthmus.cli.options import BudgetOption, DeviceOption, NoSaveOption
from isthmus.cli.reproduce.migration import ABOUT, NAME, partial_page_migration
from isthmus.cli.state import DebugOption, state_of
from isthmus.cli.stdout import print_data
from isthmus.errors import UsageError
from isthmus.ground.suggest import did_you_mean, shortened
from isthmus.reproduce.catalogue import EXPERIMENTS, Experiment
from isthmus.show.format import PageFormat

_NAMES = (*(experiment.name for experiment in EXPERIMENTS), NAME)


class _Experiments(TyperGroup):
    """The experiments as commands; an unknown one is refused with the nearest names."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - private types
        """Find the experiment that the first argument names."""
        if args[0] not in self.commands:
            nearest = did_you_mean(args[0], _NAMES)
            raise UsageError(
                f"no experiment is named '{shortened(args[0])}'",
                hint=f"{nearest} the experiments: {', '.join(_NAMES)}",
            )
        return super().resolve_command(ctx, args)


reproduce = typer.Typer(
    name="reproduce",
    cls=_Experiments,
    subcommand_metavar="[NAME [OPTIONS]]",
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
)

_FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="RUN",
        autocompletion=complete_runs,
        help="Measure nothing: lay out a run of `isthmus bench` or of this command, such as one of "
        "another machine. A file, the id of a stored run, or last.",
    ),
]
_QuickOption = Annotated[
    bool, typer.Option("--quick", help="Fewer sizes: at most 10 seconds an experiment.")
]
_SizesOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIZES",
        help="Sizes to measure, such as 160MiB,320MiB or 4..1GiB.  [default: some of theirs]",
    ),
]
_AllSizesOption = Annotated[
    bool,
    typer.Option("--all-sizes", help="Measure all of their sizes: up to 8 minutes."),
]
_FormatOption = Annotated[PageFormat, typer.Option("--format", help="The output's format.")]
_OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Also write to a file: .txt, .md, .json or .csv decide its format.",
    ),
]
_ReportOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="With --all: write one report, in Markdown (.md)."
    ),
]
_PlotsOption = Annotated[
    Path | None,
    typer.Option(
        "--plots",
        metavar="FOLDER",
        help="Draw theirs beside ours into a folder, as SVG, PNG and HTML. Needs isthmus[report].",
    ),
]
_AllOption = Annotated[
    bool, typer.Option("--all", help="Reproduce every experiment, one after the other.")
]


@reproduce.callback()
def every(
    context: typer.Context,
    *,
    all_of_them: _AllOption = False,
    from_run: _FromOption = None,
    quick: _QuickOption = False,
    device: DeviceOption = None,
    plots: _PlotsOption = None,
    output: _ReportOption = None,
    no_save: NoSaveOption = False,
    debug: DebugOption = False,
) -> None:
    """
    Repeat published experiments: theirs beside ours.

    This project grew from them. Each has a name, and its own --help. Their figures are shipped,
    with their sources. Ours are measured here by tests of `isthmus bench`, and the run is kept like
    any other; on an emulated device they are modelled. --all with --quick leaves the simulations
    out.

    Exit codes: 0 ok, 1 error (the other results stand), 2 usage, 4 no device, 130 interrupted by
    Ctrl-C: finished points are kept.
    """
    del debug  # its callback has stored it
    given = any((from_run, quick, device, plots, output, no_save))
    if not all_of_them:
        if given:
            raise UsageError(
                "options before an experiment's name are for --all",
                hint=f"isthmus reproduce --all, or isthmus reproduce {_NAMES[0]} --quick",
            )
        if context.invoked_subcommand is None:
            print_data(f"{context.get_help()}\n")
        return
    if context.invoked_subcommand is not None:
        raise UsageError(f"--all and {context.invoked_subcommand}", hint="leave one of them out")
    from isthmus.cli.reproduce.all import reproduce_all
    from isthmus.cli.reproduce.wish import wish_of

    state = state_of(context)
    wish = wish_of(
        state, from_run=from_run, quick=quick, device=device, plots=plots, no_save=no_save
    )
    raise typer.Exit(reproduce_all(wish, output, debug=state.debug))


def _command(experiment: Experiment) -> Callable[..., None]:
    """Make the command of one experiment that is measured."""

    def command(
        context: typer.Context,
        *,
        from_run: _FromOption = None,
        quick: _QuickOption = False,
        sizes: _SizesOption = None,
        all_sizes: _AllSizesOption = False,
        device: DeviceOption = None,
        budget: BudgetOption = None,
        plots: _PlotsOption = None,
        output_format: _FormatOption = PageFormat.TEXT,
        output: _OutputOption = None,
        no_save: NoSaveOption = False,
        debug: DebugOption = False,
    ) -> None:
        del debug  # its callback has stored it
        from isthmus.cli.reproduce.one import reproduce_one
        from isthmus.cli.reproduce.wish import wish_of

        state = state_of(context)
        wish = wish_of(
            state,
            from_run=from_run,
            quick=quick,
            sizes=sizes,
            all_sizes=all_sizes,
            device=device,
            budget_s=budget,
            plots=plots,
            no_save=no_save,
        )
        raise typer.Exit(reproduce_one(experiment, wish, output_format, output, debug=state.debug))

    command.__doc__ = f"""
    Reproduce {experiment.about}.

    It runs these tests of `isthmus bench`, and keeps the run: {", ".join(experiment.tests)}.

    Exit codes: 0 ok, 1 error (the other results stand), 2 usage, 4 no device, 130 interrupted by
    Ctrl-C: finished points are kept.
    """
    return command


for _experiment in EXPERIMENTS:
    reproduce.command(_experiment.name, short_help=_experiment.about)(_command(_experiment))
reproduce.command(NAME, short_help=ABOUT)(partial_page_migration)
