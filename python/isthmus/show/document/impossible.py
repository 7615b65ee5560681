"""Results whose number can't be right, whatever the machine: a negative time, a rate of zero."""

from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import counted
from isthmus.measure.run.model import Result, Run
from isthmus.show.document.parts import Finding, Mark

_LEFT_OUT = "The verdict is made without such results. Measure again, and report it if it recurs."


def possible(run: Run) -> Run:
    """Leave out the results that nothing can be judged by: negative times, rates not above zero."""
    kept = [result for result in run.results if not _is_impossible(result)]
    return run if len(kept) == len(run.results) else run.model_copy(update={"results": kept})


def impossible_findings(run: Run) -> list[Finding]:
    """Say how many results `possible` leaves out, and which is the first; nothing if none is."""
    found = [result for result in run.results if _is_impossible(result)]
    if not found:
        return []
    which = "It is" if len(found) == 1 else "The first is"
    text = (
        f"{counted(len(found), 'result')} can't be right, because no time is negative and no rate "
        f"is zero or less. {which} `{found[0].test}` ({found[0].metric}) of "
        f"{format_size(found[0].bytes)}."
    )
    return [Finding(mark=Mark.BAD, text=text, advice=(_LEFT_OUT,))]


def _is_impossible(result: Result) -> bool:
    if result.median is None:
        return False
    is_rate, is_time = result.unit == "B/s", result.unit == "s"
    return (is_rate and result.median <= 0) or (is_time and result.median < 0)
