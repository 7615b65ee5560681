"""A diagnosis as text: a line for each check, and under it what to do."""

import textwrap
from collections.abc import Sequence

from isthmus.ground.spelling import counted
from isthmus.measure.doctor.check import Check, Diagnosis, Status

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
