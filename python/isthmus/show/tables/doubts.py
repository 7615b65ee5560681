"""Reasons to doubt the numbers: outliers, reduced clocks, errors on the link."""

from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import counted
from isthmus.measure.run.model import Result, Run

# From this part on the machine is at fault, not a result.
_NOISY = 0.25


def doubt_notes(run: Run) -> list[str]:
    """Say which results have outliers or reduced clocks, and which errors the link had."""
    return [*_outlier_lines(run), *_clock_lines(run), *_link_lines(run)]


def _outlier_lines(run: Run) -> list[str]:
    with_outliers = [result for result in run.results if result.num_outliers]
    if not with_outliers:
        return []
    num_looked_at = sum(result.num_outliers is not None for result in run.results)
    how_many = f"{len(with_outliers)} of {counted(num_looked_at, 'result')}"
    verb = "has" if len(with_outliers) == 1 else "have"
    noisy = "noisy machine: " if len(with_outliers) > _NOISY * num_looked_at else ""
    return [f"{noisy}{how_many} {verb} outliers (none removed)"]


def _clock_lines(run: Run) -> list[str]:
    slowed: dict[str, list[Result]] = {}
    for result in run.results:
        for reason in result.clock_reasons or ():
            slowed.setdefault(reason, []).append(result)
    return [
        f"the GPU's clocks were reduced ({reason}) during {counted(len(results), 'result')}, "
        f"first {_name(results[0])}"
        for reason, results in slowed.items()
    ]


def _link_lines(run: Run) -> list[str]:
    errors = run.machine.link_errors
    if errors is None or not errors.in_words:
        return []
    means = "packets arrived damaged and were sent again, which costs bandwidth"
    if errors.nonfatal or errors.fatal:
        means = "an uncorrected error loses transactions; see dmesg for AER lines"
    happened = f"the PCIe link had {errors.in_words} during this run"
    return [f"{happened}: {means}; isthmus doctor says what to do"]


def _name(result: Result) -> str:
    return f"{result.test} {result.metric} {format_size(result.bytes)}"
