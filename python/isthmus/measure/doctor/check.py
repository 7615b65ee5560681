"""One line of a diagnosis, the whole of it, and both as text."""

import textwrap
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, JsonValue

from isthmus.ground.spelling import counted
from isthmus.measure.run.record import Record


class Status(StrEnum):
    """What a fact means for moving data."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing; nothing is broken."""
    PROBLEM = "problem"
    """Something is broken, or slower than this hardware allows."""


class Check(Record):
    """What was checked, what was found, and what to do about it."""

    name: str
    """The same on every machine: "driver", "gpu 0 link"."""
    status: Status
    finding: str
    """One line of text."""
    advice: str | None = None
    """What to do; null if there is nothing to do."""
    facts: dict[str, JsonValue] = Field(default_factory=dict)
    """The same for programs: bytes, numbers, names."""


def judged(
    name: str,
    finding: str,
    advice: str | None = None,
    facts: Mapping[str, Any] | None = None,
    status: Status | None = None,
) -> Check:
    """Make a check: by default a note if it has advice, otherwise ok."""
    usual = Status.NOTE if advice else Status.OK
    told = dict(facts or {})
    return Check(name=name, status=status or usual, finding=finding, advice=advice, facts=told)


class Diagnosis(Record):
    """The output of `isthmus doctor`."""

    schema_version: Literal[1] = 1
    emulated: bool
    """True: the devices are emulated."""
    checks: list[Check]

    @property
    def has_problem(self) -> bool:
        """Whether anything is broken or slower than it should be."""
        return any(check.status == Status.PROBLEM for check in self.checks)


_PAGE_WIDTH = 120
# Text that is pasted into a shell stays on one line.
_COMMAND = "export "
# In narrower columns, text begins further to the left.
_LEAST_TEXT = 40
_NARROWEST = 40
_STATUS_WIDTH = max(len(status) for status in Status)


def text_lines(diagnosis: Diagnosis, *, width: int = _PAGE_WIDTH) -> list[str]:
    """
    Write a diagnosis, each check with its advice below it, and a last line with the totals;
    commands to paste stay on one line.
    """
    names = max((len(check.name) for check in diagnosis.checks), default=0)
    lines = [line for check in diagnosis.checks for line in _lines(check, names, width)]
    return [*lines, "", summary(diagnosis.checks)]


def summary(checks: Sequence[Check]) -> str:
    """Count the checks by status: "17 checks: 14 ok, 2 notes, 1 problem"."""
    counts = {status: sum(check.status == status for check in checks) for status in Status}
    others = ", ".join(
        counted(counts[status], status.value) for status in (Status.NOTE, Status.PROBLEM)
    )
    return f"{len(checks)} checks: {counts[Status.OK]} ok, {others}"


def _lines(check: Check, name_width: int, width: int) -> list[str]:
    head = f"{check.status:<{_STATUS_WIDTH}}  {check.name:<{name_width}}  "
    indent = " " * len(head) if len(head) + _LEAST_TEXT <= width else " " * _STATUS_WIDTH
    lines = _wrapped(head + check.finding, width, "", indent)
    if not check.advice:
        return lines
    if check.advice.startswith(_COMMAND):
        return [*lines, f"{indent}-> {check.advice}"]
    return [*lines, *_wrapped(check.advice, width, f"{indent}-> ", f"{indent}   ")]


def _wrapped(text: str, width: int, first: str, following: str) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, _NARROWEST),
        initial_indent=first,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    )
