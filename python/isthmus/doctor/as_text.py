"""A diagnosis as text: a line for each check, and under it what to do."""

import textwrap
from collections.abc import Sequence

from isthmus.doctor.check import Check, Diagnosis, Status

_ADVICE_WIDTH = 100
# Text that is pasted into a shell stays on one line.
_COMMAND = "export "
_STATUS_WIDTH = max(len(status) for status in Status)


def text_lines(diagnosis: Diagnosis) -> list[str]:
    """
    Write a diagnosis.

    Returns:
        Lines like "ok       driver  CUDA 13.0, ...", each followed by its advice, indented, and a
        last line with the totals.
    """
    width = max((len(check.name) for check in diagnosis.checks), default=0)
    lines = [line for check in diagnosis.checks for line in _lines(check, width)]
    return [*lines, "", summary(diagnosis.checks)]


def summary(checks: Sequence[Check]) -> str:
    """Count the checks by status: "17 checks: 14 ok, 2 notes, 1 problem"."""
    counts = {status: sum(check.status == status for check in checks) for status in Status}
    others = ", ".join(
        f"{counts[status]} {status}{'' if counts[status] == 1 else 's'}"
        for status in (Status.NOTE, Status.PROBLEM)
    )
    return f"{len(checks)} checks: {counts[Status.OK]} ok, {others}"


def _lines(check: Check, name_width: int) -> list[str]:
    head = f"{check.status:<{_STATUS_WIDTH}}  {check.name:<{name_width}}  "
    lines = [head + check.finding]
    if not check.advice:
        return lines
    indent = " " * len(head)
    if check.advice.startswith(_COMMAND):
        lines.append(f"{indent}-> {check.advice}")
    else:
        lines += textwrap.wrap(
            check.advice,
            width=_ADVICE_WIDTH,
            initial_indent=f"{indent}-> ",
            subsequent_indent=f"{indent}   ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines
