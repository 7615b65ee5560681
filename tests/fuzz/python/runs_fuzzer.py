"""Runs of `isthmus bench`, as `isthmus compare` reads and compares them."""

import json
from functools import cache

from edits import Choices, edited
from fuzzing import Finding, fuzz, require, require_readable
from isthmus.errors import UsageError
from isthmus.measure.compare.comparison import compare
from isthmus.measure.compare.judging import Verdict
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import parse_run
from isthmus.measure.run.store import run_text
from isthmus.show.answers.comparison import comparison_text
from isthmus.show.answers.comparison_data import comparison_csv, comparison_json


@cache
def example() -> Run:
    """Give a run with a result of each kind."""
    from fakes import runs

    run = runs.run(keep_samples=True)
    kinds = {(one.status, one.unit, bool(one.axes), one.stopped_by): one for one in run.results}
    return run.model_copy(update={"results": list(kinds.values())})


@cache
def _text() -> str:
    return run_text(example())


def check(data: bytes) -> None:
    """
    See that a text is refused in a line, or is a run that can be compared and written again.

    What begins with a brace is the text. Of all else, the bytes choose what is changed in a run.
    """
    text = data
    if data[:1] != b"{":
        text = json.dumps(edited(_text(), Choices(data))).encode()
    try:
        run = parse_run(text, "a run")
    except UsageError as error:
        require_readable(error)
        return
    require(parse_run(run_text(run).encode(), "again") == run, "a run is read again as another")
    _compare(run, run)
    if run.machine.emulated == example().machine.emulated:
        _compare(example(), run)
        _compare(run, example())


def _compare(before: Run, after: Run) -> None:
    try:
        found = compare(before, after)
    except UsageError as error:
        require_readable(error)
        return
    if before is after:
        require(found.verdict != Verdict.SLOWER, "a run is slower than itself")
        require(found.verdict != Verdict.LOST, "a run has lost what it has")
    every_run = [before, after]
    comparison_text(every_run, [found], every=True)
    json.loads(comparison_json(every_run, [found]), parse_constant=_no_constant)
    comparison_csv(every_run, [found])


def _no_constant(name: str) -> None:
    raise Finding(f"{name} is no JSON")


if __name__ == "__main__":
    fuzz(check)
