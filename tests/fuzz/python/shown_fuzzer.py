"""Runs with names, circumstances and numbers of no version, as every command shows them."""

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from edits import Choices
from fuzzing import fuzz, require, require_readable
from isthmus.errors import UsageError
from isthmus.measure.compare.comparison import compare
from isthmus.measure.expected.judging import judge
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import parse_run
from isthmus.reproduce.catalogue import EXPERIMENTS
from isthmus.reproduce.publication import read_publication
from isthmus.reproduce.side_by_side import page_of, reproduced
from isthmus.show.answers.comparison import comparison_text
from isthmus.show.answers.expectation import expectation_text
from isthmus.show.document.as_markdown import as_markdown
from isthmus.show.document.collecting import document_of
from isthmus.show.document.comparing import comparison_chapter
from isthmus.show.document.history import history_chapter
from isthmus.show.document.specifications import narrow, wide
from isthmus.show.format import RunFormat, TableLayout
from isthmus.show.formats.as_rich import as_renderable
from isthmus.show.formats.render import render_as

_MEASURED = Path(__file__).resolve().parents[3] / "benchmarks" / "link"
_MOST_TESTS, _MOST_RESULTS = 4, 24
_COPIED = ("source", "target", "direction", "clock", "unit", "bytes", "data", "suite", "test")
_NUMBERS = ("median", "min", "max", "mean", "iqr", "cov", "n", "first_call_s", "samples", "repeats")
_ENDS = ("x", "_new", "_2", "\x01", "\x1b[2J", "\u202e", "\n", "[red]", "|", "<b>", "")
_AXES = ("gpu", "peer", "streams", "way", "unit", "memory", "node", "pieces", "rows", "row_bytes")
_SET: tuple[Any, ...] = (
    *(None, 0, 1, -1, 3, 1 << 62, 0.0, -1.0, 5e-324, 1e30, 1e308),
    *("", "x", "9", "-1", "\x00", "\u2028", "\ufffe", "=1+1", "13.x", "²", [], [0.0], [None]),
)
# What XML, and so a picture, can't have, in JSON's spelling.
_ENDS_DRAWING = re.compile(r"(?<!\\)(?:\\\\)*\\(u00[01][0-9a-f]|[bf]|ufff[ef])")


@cache
def _runs() -> list[dict[str, Any]]:
    """Give real runs with every test: of one GPU, and of two."""
    return [
        json.loads((_MEASURED / name / "run.json").read_text("utf-8"))
        for name in ("h100", "two_h200")
    ]


def _some(choices: Choices) -> dict[str, Any]:
    """Give a run with a few results of a few tests."""
    whole = choices.one_of(_runs())
    tests = list(dict.fromkeys(result["test"] for result in whole["results"]))
    chosen = {choices.one_of(tests) for _ in range(1 + choices.number(_MOST_TESTS))}
    results = [result for result in whole["results"] if result["test"] in chosen]
    results = results[:: 1 + len(results) // _MOST_RESULTS]
    return copy.deepcopy({**whole, "results": results})


def _change(document: dict[str, Any], choices: Choices) -> None:
    results = document["results"]
    result, other = choices.one_of(results), choices.one_of(results)
    action = choices.number(6)
    if action <= 1:
        result[("test", "metric")[action]] += choices.one_of(_ENDS)
    elif action == 2:
        name = choices.one_of(_COPIED)
        result[name] = other.get(name, "")
    elif action == 3:
        result[choices.one_of(_NUMBERS)] = choices.one_of(_SET)
    elif action == 4:
        axes = result.setdefault("axes", {})
        name = choices.one_of([*axes, *_AXES])
        axes.pop(name, None) if choices.number(2) else axes.update({name: choices.one_of(_SET)})
    else:
        part = choices.one_of([document["run"], *_parts(document["machine"])])
        part[choices.one_of(list(part))] = choices.one_of(_SET)


def _parts(machine: dict[str, Any]) -> list[dict[str, Any]]:
    return [machine, *(part for part in machine.values() if isinstance(part, dict) and part)]


def check(data: bytes) -> None:
    """See that a run that can be read is shown by every command, and that a picture can draw it."""
    choices = Choices(data)
    document = _some(choices)
    unchanged = json.dumps(document).encode()
    while choices:
        _change(document, choices)
    try:
        run = parse_run(json.dumps(document).encode(), "a run")
    except UsageError as error:
        require_readable(error)
        return
    _show(run)
    _report(parse_run(unchanged, "a run"), run)


def _show(run: Run) -> None:
    for wanted in RunFormat:
        for other in (False, True):
            try:
                render_as(run, TableLayout(wanted=wanted, verbose=other))
            except UsageError as error:
                # A run may have nothing for GDRCopy's tables.
                require(wanted is RunFormat.GDRCOPY, f"{wanted} shows every run")
                require_readable(error)
    drawn = as_renderable(run, width=80, pictures=True)
    require(drawn.plain.replace("\n", "").isprintable(), "a terminal would obey it")
    expectation_text(run, judge(run), width=80)
    tests = {result.test for result in run.results}
    for experiment in EXPERIMENTS:
        if tests.intersection(experiment.tests):
            page_of(reproduced(read_publication(experiment.name), run), pictures=True)


def _report(before: Run, run: Run) -> None:
    chapters = [history_chapter([run, run], with_pictures=True)]
    if run.machine.emulated == before.machine.emulated:
        try:
            comparison_text([before, run], [compare(before, run)], every=True)
            chapters.append(comparison_chapter([before, run]))
        except UsageError as error:
            require_readable(error)
    as_markdown(document_of([run], chapters, with_pictures=False))
    for text in _pictures(run):
        require(not _ENDS_DRAWING.search(text), "drawing it would end the process")


def _pictures(run: Run) -> Iterator[str]:
    for chapter in document_of([run], [], with_pictures=True).chapters:
        for figure in (*chapter.figures, *chapter.more):
            yield wide(figure, emulated=False)
            yield narrow(figure, emulated=False)


if __name__ == "__main__":
    fuzz(check)
