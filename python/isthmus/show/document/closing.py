"""The last lines of a run on a terminal: the report's verdict in a few lines."""

from isthmus.measure.run.model import Run
from isthmus.show.document.health import verdict_of
from isthmus.show.document.parts import Gain, Mark
from isthmus.show.document.sentences import rates_of


def closing_lines(run: Run) -> tuple[str, ...]:
    """Say what the link does, what limits copies, what to do, and what comes next."""
    verdict = verdict_of(run)
    bad = next((one for one in verdict.findings if one.mark is Mark.BAD), None)
    if bad is None:
        parts = {
            "link": rates_of(run, "ce") or rates_of(run, "pageable"),
            "limits": "".join(verdict.limits[:1]),
            "to do": "".join(map(_in_short, verdict.gains[:1])),
        }
    else:
        # The advice says what was seen.
        parts = {"to do": bad.advice[0]} if bad.advice else {"problem": bad.text}
    parts["next"] = _next(run)
    said = [f"{name:8}{text}" for name, text in parts.items() if text]
    # The page of an emulated run begins with its headline.
    return tuple(said if run.machine.emulated else [verdict.headline, *said])


def _in_short(gain: Gain) -> str:
    most = max(gain.pairs, key=lambda pair: pair.factor)
    return f"{gain.change}: {most.before} -> {most.after} ({most.factor:.1f}x)"


def _next(run: Run) -> str:
    kept = "--no-save" not in run.run.command
    several = len({result.suite for result in run.results}) > 1
    report = [f"`isthmus report {run.run.id}`"] if kept else []
    suite = ["`isthmus bench SUITE` for one suite"] if several else []
    return ", ".join([*report, *suite])
