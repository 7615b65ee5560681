"""What was waived, and why: one line for each reason, across suites."""

from collections.abc import Mapping, Sequence

from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import counted
from isthmus.measure.run.model import Result, Run, Status

# At most this many tests are named; others are counted.
_MAX_NAMED = 3
# These are derived; notes of their own say why there is none.
_TOLD_ELSEWHERE = ("break_even_", "allocation_")


def waived_lines(run: Run) -> list[str]:
    """Name what was waived and at which sizes, a line for each reason."""
    return [
        f"waived: {_what(results)}, {_sizes(results)}: {reason}"
        for reason, results in _by_reason(run).items()
    ]


def waived_counts(run: Run) -> list[str]:
    """Count what was waived, a line for each reason."""
    return [f"waived, {how_many(results)}: {reason}" for reason, results in _by_reason(run).items()]


def how_many(results: Sequence[Result]) -> str:
    """Count results, and name their suites."""
    return f"{_number(results)} of {_suites(results)}"


def _by_reason(run: Run) -> Mapping[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in run.results:
        if result.status == Status.WAIVED and not result.metric.startswith(_TOLD_ELSEWHERE):
            found.setdefault(result.reason or "", []).append(result)
    return found


def _what(results: Sequence[Result]) -> str:
    """Name metrics and their tests; tests that lack the same metrics together."""
    metrics_of: dict[str, dict[str, None]] = {}
    for result in results:
        metrics_of.setdefault(result.test, {})[result.metric] = None
    tests_of: dict[tuple[str, ...], list[str]] = {}
    for test, metrics in metrics_of.items():
        tests_of.setdefault(tuple(metrics), []).append(test)
    if len(tests_of) > 1 and len(metrics_of) > _MAX_NAMED:
        return f"{_number(results)} of {_tests(results)}"
    return "; ".join(
        f"{', '.join(metrics)} of {_tests([r for r in results if r.test in tests])}"
        for metrics, tests in tests_of.items()
    )


def _tests(results: Sequence[Result]) -> str:
    tests = list(dict.fromkeys(result.test for result in results))
    if len(tests) <= _MAX_NAMED:
        return ", ".join(tests)
    return f"{len(tests)} tests of {_suites(results)}"


def _suites(results: Sequence[Result]) -> str:
    suites = list(dict.fromkeys(result.suite for result in results))
    return f"suite {suites[0]}" if len(suites) == 1 else f"suites {', '.join(suites)}"


def _number(results: Sequence[Result]) -> str:
    return counted(len(results), "result")


def _sizes(results: Sequence[Result]) -> str:
    sizes = sorted({result.bytes for result in results})
    if len(sizes) == 1:
        return format_size(sizes[0])
    return f"{format_size(sizes[0])}..{format_size(sizes[-1])} ({counted(len(sizes), 'size')})"
