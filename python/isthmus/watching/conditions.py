"""The conditions of `--fail-on`: what a program's copies must not do."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isthmus.errors import UsageError
from isthmus.ground.sizes import approximate_size, parse_size
from isthmus.ground.spelling import counted, did_you_mean, shortened
from isthmus.watching.counters import Calls, Process, Site
from isthmus.watching.model import Place, Violation
from isthmus.watching.places import source_line
from isthmus.watching.verdict import Cause, Verdict

_PLAIN = ("hidden-sync", "copy-wait", "pinning")
_LIMITED = ("pageable", "seconds", "avoidable")
_FORM = re.compile(r"(?P<name>[a-z-]+)(?:>(?P<limit>.+))?")
_HINT = (
    "conditions: hidden-sync, copy-wait, pinning, pageable>SIZE, seconds>N, avoidable>N; "
    "in quotes, as > is the shell's"
)


@dataclass(frozen=True)
class Condition:
    """One of them, as it was typed; the limit in bytes or seconds, 0 without one."""

    typed: str
    name: str
    limit: float = 0


def parse_conditions(typed: str) -> list[Condition]:
    """Read conditions such as "hidden-sync,pageable>1MiB,seconds>2"."""
    return [_parsed(one.strip()) for one in typed.split(",")]


def _parsed(typed: str) -> Condition:
    found = _FORM.fullmatch(typed)
    name, limit = (found["name"], found["limit"]) if found else (typed, None)
    if name in _PLAIN and limit is None:
        return Condition(typed, name)
    if name not in _LIMITED or limit is None:
        guess = did_you_mean(name, (*_PLAIN, *_LIMITED)) if name not in (*_PLAIN, *_LIMITED) else ""
        raise UsageError(
            f"--fail-on: '{shortened(typed)}' is no condition", hint=f"{guess} {_HINT}".strip()
        )
    return Condition(typed, name, parse_size(limit) if name == "pageable" else _seconds(limit))


def _seconds(typed: str) -> float:
    try:
        seconds = float(typed)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise UsageError(
            f"--fail-on: '{shortened(typed)}' is no number of seconds", hint="seconds>2.5"
        )
    return seconds


def violations_of(
    conditions: Sequence[Condition], rows: Iterable[tuple[Process, Calls]], verdict: Verdict
) -> list[Violation]:
    """List the conditions that don't hold, with the places, those that lost most first."""
    calls = sorted((row for _, row in rows), key=lambda row: -row.ns)
    found = (_violation(condition, calls, verdict) for condition in conditions)
    return [one for one in found if one is not None]


def _violation(asked: Condition, calls: Sequence[Calls], verdict: Verdict) -> Violation | None:
    if asked.name in {"hidden-sync", "copy-wait"}:
        kind = "copy" if asked.name == "hidden-sync" else "wait"
        hidden = [row for row in calls if row.kind == kind and row.hidden]
        number, seconds = (sum(getattr(row, n) for row in hidden) for n in ("hidden", "hidden_ns"))
        why = f"{counted(number, 'call')}, {seconds * 1e-9:.3g} s"
        return _violated(asked, why, [row.site for row in hidden]) if hidden else None
    if asked.name == "pageable":
        large = [
            row
            for row in calls
            if row.kind == "copy"
            and row.direction
            and row.host_memory == "pageable"
            and row.items
            and row.bytes / row.items > asked.limit
        ]
        size = max((row.bytes // row.items for row in large), default=0)
        why = f"pageable copies of up to {approximate_size(size)}"
        return _violated(asked, why, [row.site for row in large]) if large else None
    pinning = [one for one in verdict.findings if one.cause == Cause.PINNING]
    if asked.name == "pinning":
        sites = [share.site for one in pinning for share in one.shares]
        return _violated(asked, "memory is pinned in a loop", sites) if pinning else None
    seconds = verdict.seconds if asked.name == "seconds" else verdict.avoidable
    sites = [share.site for one in verdict.findings for share in one.shares]
    if asked.name == "seconds" and not sites:
        sites = [row.site for row in calls if row.kind == "copy"]
    word = "in copies" if asked.name == "seconds" else "avoidable"
    return _violated(asked, f"{seconds:.3g} s {word}", sites) if seconds > asked.limit else None


def _violated(asked: Condition, why: str, sites: Iterable[Site]) -> Violation:
    places = [
        Place(site=site.place, source_line=source_line(site)) for site in dict.fromkeys(sites)
    ]
    return Violation(condition=asked.typed, why=why, places=[one for one in places if one.site])
