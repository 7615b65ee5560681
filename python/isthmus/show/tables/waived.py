"""What was waived, and why: one line for each reason, across suites."""

from collections import Counter
from collections.abc import Iterable

from isthmus.measure.run.model import Result, Run, Status

# These are derived; notes of their own say why there is none.
_TOLD_ELSEWHERE = ("break_even_", "allocation_")


def waived_lines(run: Run) -> list[str]:
    """Count what wasn't measured, a line for each reason."""
    found: dict[str, list[Result]] = {}
    for result in _waived(run):
        found.setdefault(result.reason or "", []).append(result)
    return [f"not measured, {by_suite(results)}: {why}" for why, results in found.items()]


def waived_count(run: Run) -> list[str]:
    """Count what wasn't measured in one line; nothing if all was."""
    found = by_suite(_waived(run))
    return [f"not measured: {found}; `-v` says why"] if found else []


def by_suite(results: Iterable[Result]) -> str:
    """Count results by suite."""
    numbers = Counter(result.suite for result in results)
    return ", ".join(f"{suite} ({number})" for suite, number in numbers.items())


def _waived(run: Run) -> list[Result]:
    return [
        result
        for result in run.results
        if result.status == Status.WAIVED and not result.metric.startswith(_TOLD_ELSEWHERE)
    ]
