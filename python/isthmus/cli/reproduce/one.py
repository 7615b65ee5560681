"""Reproduces one experiment: measures it, or reads a run, and writes theirs beside ours."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.cli import STARTED_S
from isthmus.cli.bench.keeping import Keeping
from isthmus.cli.bench.measuring import measure
from isthmus.cli.failure import ExitCode, Stopped, report_failure
from isthmus.cli.output import check_output, print_page
from isthmus.cli.stderr import say, say_lines
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import draws_characters
from isthmus.errors import Error, UsageError
from isthmus.reproduce.publication import Publication, read_publication
from isthmus.reproduce.side_by_side import Reproduced, page_of, reproduced
from isthmus.show.format import PageFormat, page_format_of_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from isthmus.cli.reproduce.options import Options
    from isthmus.measure.bench.invocation import Request
    from isthmus.measure.bench.opening import Opened
    from isthmus.measure.run.model import Run
    from isthmus.reproduce.catalogue import Experiment

# With a time in proportion to their number, an H100 had none left for 15 of 76 points.
_TIMES_PROPORTION = 1.6


def reproduce_one(
    experiment: "Experiment",
    options: "Options",
    wanted: PageFormat,
    path: Path | None,
    *,
    debug: bool,
) -> ExitCode:
    """
    Reproduce an experiment, and print it; raises Stopped after Ctrl-C, when finished points have
    been printed and kept.
    """
    check_output(path)
    one = obtain(experiment, options)
    codes = [ExitCode.ERROR if one.run.failed else ExitCode.OK]
    # The file first: then a stdout that fails loses nothing.
    gifts: tuple[Callable[[], None], ...] = (
        partial(_write, path, one, wanted),
        partial(_print, one, wanted),
        partial(draw, one, options.plots),
    )
    for give in gifts:
        try:
            give()
        except Error as error:
            codes.append(report_failure(error, debug=debug))
    if one.run.run.interrupted and options.from_run is None:
        raise Stopped
    return max(codes)


def obtain(
    experiment: "Experiment", options: "Options", *, started_s: float = STARTED_S
) -> Reproduced:
    """
    Measure an experiment, or read its run, and put theirs beside ours; `started_s` is by
    `time.monotonic`.
    """
    publication = read_publication(experiment.name)
    run = (
        _measured(experiment, publication, options, started_s)
        if options.from_run is None
        else _read(options.from_run)
    )
    known = {result.test for result in run.results}
    if options.from_run is not None and not known.intersection(experiment.tests):
        raise UsageError(
            f"run {run.run.id} has no test of {experiment.name}",
            hint=f"it needs some of {', '.join(experiment.tests)}: isthmus bench -t "
            f"{experiment.tests[0]}",
        )
    return reproduced(publication, run)


def _read(named: str) -> "Run":
    from isthmus.measure.run.reading import read_run

    return read_run(named)


def _measured(
    experiment: "Experiment", publication: Publication, options: "Options", started_s: float
) -> "Run":
    from isthmus.measure.bench.invocation import Request
    from isthmus.measure.bench.plan import select_tests

    def prepare(request: "Request", surroundings: "Opened") -> "Request":
        emulated = surroundings.session.emulated
        largest_bytes = surroundings.limits().largest_bytes
        sizes = experiment.sizes_within(largest_bytes, emulated=emulated, quick=options.quick)
        budget_s = experiment.budget_s(emulated=emulated, quick=options.quick)
        if options.all_sizes:
            published = (figure.bytes for figure in publication.figures())
            every = experiment.all_sizes(published, largest_bytes)
            budget_s *= _TIMES_PROPORTION * max(len(every) / len(sizes or every), 1)
            sizes = every
        budget_s = round(budget_s)
        say(f"reproducing {experiment.name}: at most {budget_s:g} s")
        return replace(request, sizes=options.sizes or sizes, budget_s=budget_s)

    keeping = Keeping(wanted=True)
    request = Request(
        tests=select_tests(experiment.tests),
        device=options.device,
        quick=options.quick,
        command=options.command,
    )
    run, _ = measure(request, keeping, prepare, started_s=started_s)
    keeping.end(run)
    return run


def _print(one: Reproduced, wanted: PageFormat) -> None:
    if wanted is PageFormat.TEXT:
        print_page(page_of(one, pictures=draws_characters(sys.stdout)))
    else:
        print_data(_text(one, wanted))


def _write(path: Path | None, one: Reproduced, otherwise: PageFormat) -> None:
    if path is None:
        return
    from isthmus.files.whole import write_whole

    say_lines(f"written: {write_whole(path, _text(one, page_format_of_file(path, otherwise)))}")


def _text(one: Reproduced, wanted: PageFormat) -> str:
    from isthmus.reproduce.as_data import as_csv, as_json
    from isthmus.reproduce.as_markdown import page_markdown
    from isthmus.show.formats.as_text import page_text

    title = one.publication.name
    texts = {
        PageFormat.TEXT: lambda: page_text(page_of(one, pictures=True)),
        PageFormat.MARKDOWN: lambda: page_markdown(title, page_of(one, pictures=False), level=1),
        PageFormat.JSON: lambda: as_json([one]),
        PageFormat.CSV: lambda: as_csv([one]),
    }
    return texts[wanted]()


def draw(one: Reproduced, folder: Path | None) -> None:
    """Draw theirs beside ours into a folder, if one was asked for."""
    if folder is None:
        return
    from isthmus.reproduce.pictures import chart_of
    from isthmus.show.pictures.drawing import write_chart

    chart = chart_of(one)
    if chart is None:
        say(f"not drawn: {one.publication.name}: no published number was compared")
        return
    files = write_chart(chart, folder / one.publication.name)
    say_lines(*(f"drawn: {file}" for file in files))
