"""Journals of runs, as `isthmus runs show` reads what a killed process has left."""

import json
from functools import cache

from edits import Choices, edited
from fuzzing import fuzz, require, require_readable
from isthmus.errors import UsageError
from isthmus.measure.run.reading import parse_run
from isthmus.measure.run.store import FinishedPoint, Head, run_text, unfinished_run
from runs_fuzzer import example


@cache
def _lines() -> tuple[str, ...]:
    """Give the lines of a journal: its head, and two points."""
    run = example()
    identity = run.run.model_copy(update={"interrupted": True})
    begun = run.model_copy(update={"run": identity, "results": []})
    head = Head(run_journal=1, begun=begun)
    halves = (run.results[::2], run.results[1::2])
    points = [FinishedPoint(at=run.run.finished_at, results=half) for half in halves]
    return tuple(one.model_dump_json() for one in (head, *points))


def check(data: bytes) -> None:
    """
    See that a journal is refused in a line, or is a run that can be written and read.

    What begins with a brace is the journal. Of all else, the first byte chooses the line that is
    changed, the second where the journal is cut, and the others what is changed.
    """
    text = data
    if data[:1] != b"{":
        choices = Choices(data)
        lines = list(_lines())
        changed, cut = choices.number(len(lines)), choices.number(256)
        lines[changed] = json.dumps(edited(lines[changed], choices))
        text = "".join(f"{line}\n" for line in lines).encode()
        text = text[: len(text) - cut]
    try:
        run = unfinished_run(text, "a journal")
    except UsageError as error:
        require_readable(error)
        return
    require(run.run.interrupted, "an unfinished run is finished")
    require(parse_run(run_text(run).encode(), "again") == run, "a run is read again as another")


if __name__ == "__main__":
    fuzz(check)
