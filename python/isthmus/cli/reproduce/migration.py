"""`isthmus reproduce partial-page-migration`: the simulator's part."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isthmus.cli.failure import Stopped
from isthmus.cli.sim.runners import Runners, here
from isthmus.cli.stderr import say, say_lines
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of
from isthmus.errors import Error, UsageError
from isthmus.ground.spelling import counted
from isthmus.reproduce.catalogue import SIMULATED
from isthmus.show.format import Format, PageFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.sim.paper.evaluation import Evaluation
    from isthmus.sim.paper.grid_summary import Found
    from isthmus.sim.paper.scores import Score
    from isthmus.sim.points import SweepPoint
    from isthmus.sim.store import Row


def reproduce_migration(
    output: Path | None,
    plots: Path | None,
    *,
    num_seeds: int,
    details: bool,
    wanted: PageFormat,
) -> None:
    """
    Repeat the paper's evaluation: figures 4, 5 and 6, the TLB's miss rates, ranges on a page; and,
    beyond the paper, the best unit size for each fault latency. Raises Stopped after Ctrl-C.
    """
    output_format = _check(output, wanted)
    from isthmus.sim.paper.scores_text import scores_text

    found = evaluate(output / "runs.parquet" if output else None, num_seeds, details=details)
    if output is not None:
        _write(
            output,
            {
                f"targets{suffix}": scores_text(
                    found.scores, found.evaluation, one, details=details
                )
                for suffix, one in _SUFFIXES.items()
            },
        )
    draw(found.evaluation, plots)
    width = columns_of(sys.stdout)
    printed = scores_text(
        found.scores, found.evaluation, output_format, width=width, details=details
    )
    print_data(printed)


class Evaluated(NamedTuple):
    """The evaluation, run again."""

    scores: "list[Score]"
    evaluation: "Evaluation"


def evaluate(file: Path | None, num_seeds: int = 1, *, details: bool = False) -> Evaluated:
    """
    Run the paper's evaluation, and keep finished runs in `file`, if any; raises Stopped after
    Ctrl-C.
    """
    from isthmus.sim.paper.evaluation import Evaluation
    from isthmus.sim.paper.scores import score_all
    from isthmus.sim.paper.studies import evaluation

    runs = evaluation(_programs(), num_seeds, details=details)
    points = list({run.point.key: run.point for run in runs}.values())
    # No estimate: on two cores, idle or shared with others, these took 30 to 150 s.
    say(f"reproducing {SIMULATED}: {counted(len(points), 'simulation')}")
    rows = _run(points, file, here)
    found = Evaluation(runs, rows)
    return Evaluated(list(score_all(found)), found)


_SUFFIXES = {".txt": Format.TEXT, ".json": Format.JSON, ".csv": Format.CSV}


def _programs() -> list[str]:
    """List the paper's programs, and warn about those that don't exist here."""
    from isthmus.sim.paper.studies import PROGRAMS
    from isthmus.sim.running import workload_names

    known = workload_names()
    absent = [program for program in PROGRAMS if program not in known]
    if absent:
        say(f"warning: averages are without {', '.join(absent)}: there are no such workloads")
    return [program for program in PROGRAMS if program in known]


def _check(output: Path | None, wanted: PageFormat) -> Format:
    """Refuse what can't be, make the folder, and give the format."""
    if wanted is PageFormat.MARKDOWN:
        raise UsageError(f"--format md is not for {SIMULATED}", hint="text, json or csv")
    if output is not None:
        from isthmus.files.folder import make_folder
        from isthmus.sim.store import check_pyarrow

        check_pyarrow()
        make_folder(output, option="--output")
    return Format(wanted.value)


def _run(points: "Sequence[SweepPoint]", file: Path | None, runners: Runners) -> "dict[str, Row]":
    """Run points, except those that are in the file already; give each key's row."""
    from isthmus.cli.interrupt import stop_on_interrupt
    from isthmus.cli.sim.progress import sweep_progress
    from isthmus.sim.store import MemoryStore, SweepStore
    from isthmus.sim.sweep import run_sweep

    keys = [point.key for point in points]
    store = SweepStore(file, "the paper's evaluation", keys) if file else MemoryStore()
    begun = time.monotonic()
    with (
        stop_on_interrupt(say) as should_stop,
        runners() as runner,
        store,
        sweep_progress() as observer,
    ):
        outcome = run_sweep(
            points, store, runner=runner, observer=observer, should_stop=should_stop
        )
    seconds = time.monotonic() - begun
    num_run = outcome.num_finished - outcome.num_reused
    say(f"{counted(num_run, 'run')} in {seconds:.1f} s, {outcome.num_reused} existed already")
    if outcome.num_finished < outcome.num_points:
        say(
            f"{outcome.num_finished} of {counted(outcome.num_points, 'run')} finished"
            + (f" and in {file}: the same command continues" if file else "")
        )
        raise Stopped
    failed = [row for point in points if (row := store.row(point.key))["error"] is not None]
    if failed:
        raise Error(f"{counted(len(failed), 'run')} failed; the first: {failed[0]['error']}")
    return {point.key: store.row(point.key) for point in points}


def _write(folder: Path, texts: "dict[str, str]") -> None:
    from isthmus.files.whole import write_whole

    for name, text in texts.items():
        say_lines(f"written: {write_whole(folder / name, text, follow_link=False)}")


def draw(evaluation: "Evaluation", folder: Path | None) -> None:
    """Draw the paper's figures into a folder, if one was asked for."""
    if folder is None:
        return
    from isthmus.sim.paper.pictures import draw_all

    say(f"drawn: {counted(len(draw_all(evaluation, folder)), 'file')} in {folder}")


def run_grid(output: Path, runners: Runners) -> "Found":
    """
    Run every combination, and write them and their summary to files of a folder that exists; raises
    Stopped after Ctrl-C.
    """
    from isthmus.sim.paper.grid import combinations, grid_csv, grid_points
    from isthmus.sim.paper.grid_summary import summary_text

    points = grid_points()
    found = combinations(points, _run(points, output / "grid.parquet", runners))
    _write(output, {"grid.csv": grid_csv(found), "grid.txt": summary_text(found)})
    return found
