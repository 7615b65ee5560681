"""Reproduces every experiment, and writes one report in Markdown."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.cli.failure import ExitCode, Stopped, report_failure
from isthmus.cli.output import check_output, print_page
from isthmus.cli.reproduce.migration import draw as draw_simulated
from isthmus.cli.reproduce.migration import evaluate
from isthmus.cli.reproduce.one import draw, obtain
from isthmus.cli.stderr import say, say_lines
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of, draws_characters
from isthmus.errors import Error, Unavailable, UsageError
from isthmus.ground.spelling import counted
from isthmus.reproduce.as_markdown import document, page_markdown, preformatted
from isthmus.reproduce.catalogue import EXPERIMENTS, SIMULATED, Experiment
from isthmus.reproduce.side_by_side import page_of
from isthmus.show.format import Format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.cli.reproduce.options import Options
    from isthmus.reproduce.side_by_side import Reproduced


def reproduce_all(options: "Options", path: Path | None, *, debug: bool) -> ExitCode:
    """
    Reproduce every experiment; with --from, those that the run has. Raises Stopped after Ctrl-C,
    when what was finished has been printed, kept and written.
    """
    if path is not None and path.suffix.lower() != ".md":
        raise UsageError(
            f"--output {path}: the report of all is Markdown",
            hint=f"name it {path.with_suffix('.md').name}",
        )
    check_output(path)
    chosen = EXPERIMENTS if options.from_run is None else _in_run(options.from_run)
    _say_how_long(chosen, options)
    chapters: list[str] = []
    codes = [ExitCode.OK]
    stopped = False
    for experiment in chosen:
        one = obtain(experiment, options, started_s=time.monotonic())
        codes.append(_show(one, options, debug=debug))
        chapters.append(page_markdown(experiment.name, page_of(one, pictures=False), level=2))
        stopped = one.run.run.interrupted and options.from_run is None
        if stopped:
            break
    if not stopped and _simulates(options):
        try:
            chapters.append(_simulated(options.plots))
        except Stopped:
            stopped = True
        except Unavailable as error:
            codes.append(report_failure(error, debug=debug))
    _write(path, chapters)
    if stopped:
        raise Stopped
    return max(codes)


def _simulates(options: "Options") -> bool:
    return options.from_run is None and not options.quick


def _in_run(named: str) -> "Sequence[Experiment]":
    """Choose the experiments that a run has tests of, and say which it doesn't have."""
    from isthmus.measure.run.reading import read_run

    run = read_run(named)
    tests = {result.test for result in run.results}
    found = [experiment for experiment in EXPERIMENTS if tests.intersection(experiment.tests)]
    if not found:
        raise UsageError(
            f"run {run.run.id} has no test of any experiment",
            hint="measure: isthmus reproduce all",
        )
    for experiment in EXPERIMENTS:
        if experiment not in found:
            say(f"note: run {run.run.id} has no test of {experiment.name}")
    return found


def _say_how_long(chosen: "Sequence[Experiment]", options: "Options") -> None:
    if options.from_run is not None:
        return
    on_gpu, on_emulated = (
        sum(one.budget_s(emulated=emulated, quick=options.quick) for one in chosen)
        for emulated in (False, True)
    )
    same = on_gpu == on_emulated
    emulated = "" if same else f", {on_emulated:g} s on an emulated device"
    after = f", then {SIMULATED} (simulated)" if _simulates(options) else ""
    say(f"{counted(len(chosen), 'experiment')}: at most {on_gpu:g} s{emulated}{after}")


def _show(one: "Reproduced", options: "Options", *, debug: bool) -> ExitCode:
    print_data(f"== {one.publication.name} ==\n\n")
    print_page(page_of(one, pictures=draws_characters(sys.stdout)))
    print_data("\n")
    try:
        draw(one, options.plots)
    except Error as error:
        return report_failure(error, debug=debug)
    return ExitCode.ERROR if one.run.failed else ExitCode.OK


def _simulated(plots: Path | None) -> str:
    """Run the simulator's experiment, print and draw it, and give its chapter."""
    from isthmus.sim.paper.scores_text import scores_text

    found = evaluate(None)
    draw_simulated(found.evaluation, plots)
    print_data(f"== {SIMULATED} ==\n\n")
    width = columns_of(sys.stdout)
    print_data(scores_text(found.scores, found.evaluation, Format.TEXT, width=width))
    return preformatted(SIMULATED, scores_text(found.scores, found.evaluation, Format.TEXT))


def _write(path: Path | None, chapters: "Sequence[str]") -> None:
    if path is None or not chapters:
        return
    from isthmus.files.whole import write_whole

    say_lines(f"written: {write_whole(path, document(chapters))}")
