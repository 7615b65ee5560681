"""The paper's results beside ours: every target, with a verdict and an explanation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from statistics import fmean
from typing import Final

from isthmus.sim.paper.evaluation import TLB_READINGS, Evaluation, means
from isthmus.sim.paper.studies import BANDWIDTHS, FAULT_UNITS, TLB_PAGES, UNITS, VARIANTS
from isthmus.sim.paper.targets import TARGETS, Target, Verdict, judge
from isthmus.sizes import parse_size

_B16, _B32, _B96 = BANDWIDTHS


@dataclass(frozen=True, kw_only=True)
class Score:
    """
    One target, judged.

    Attributes:
        target: The paper's result.
        ours: Our result, as it is shown.
        verdict: How ours compares with the paper's.
        why: The explanation of a verdict that isn't "matched".
        beside: Results by other readings, by name.
    """

    target: Target
    ours: str
    verdict: Verdict
    why: str
    beside: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class _Finding:
    values: list[float]
    shown: str
    beside: Mapping[str, str]
    compared: float | None = None
    axis: Sequence[float] = ()


def score_all(evaluation: Evaluation) -> list[Score]:
    """Judge every target, in the paper's order."""
    return [_score(target, _FINDERS[target.name](evaluation)) for target in TARGETS]


def _score(target: Target, found: _Finding) -> Score:
    verdict = judge(target, found.values, beside=found.compared, axis=found.axis)
    return Score(
        target=target,
        ours=found.shown,
        verdict=verdict,
        why="" if verdict is Verdict.MATCHED else target.argument,
        beside=found.beside,
    )


def _mean_of(series: str, bandwidth: str) -> Callable[[Evaluation], _Finding]:
    def find(evaluation: Evaluation) -> _Finding:
        arithmetic, geometric = means(evaluation.ratios(series, bandwidth))
        by_seed = evaluation.means_by_seed(series, bandwidth)
        beside = {}
        if len(by_seed) > 1:
            beside[f"over {len(by_seed)} seeds"] = f"{times(min(by_seed))} to {times(max(by_seed))}"
        beside["geometric mean"] = times(geometric)
        if evaluation.has("ideal", bandwidth):
            bound = means(evaluation.overlap_bounds(bandwidth))[0]
            beside["bound, if the programmer's copies overlapped perfectly"] = times(bound)
        for name, (policy, _) in VARIANTS.items():
            if policy == series and evaluation.has(name, bandwidth):
                beside[name] = times(means(evaluation.ratios(name, bandwidth))[0])
        compared = means(evaluation.ratios(series, _B16))[0]
        return _Finding(
            values=[arithmetic],
            shown=times_within(arithmetic, by_seed),
            beside=beside,
            compared=compared,
        )

    return find


def _of_program(program: str, series: str) -> Callable[[Evaluation], _Finding]:
    def find(evaluation: Evaluation) -> _Finding:
        if program not in evaluation.programs():
            return _Finding(values=[], shown="-", beside={})
        value = evaluation.ratio(program, series, _B16)
        beside = {
            name: times(evaluation.ratio(program, name, _B16))
            for name, (policy, _) in VARIANTS.items()
            if policy == series
        }
        return _Finding(values=[value], shown=times(value), beside=beside)

    return find


def _accessed(evaluation: Evaluation) -> _Finding:
    def shares(series: str) -> list[float]:
        return [
            evaluation.number("accessed_share", "matrix", program, series, _B16)
            for program in evaluation.programs()
        ]

    ours = shares("whole-page")
    merged = shares("whole-page, merged")
    return _Finding(
        values=ours,
        shown=f"{percent(min(ours))} to {percent(max(ours))}",
        beside={"whole-page, merged": f"{percent(min(merged))} to {percent(max(merged))}"},
    )


def _units(evaluation: Evaluation) -> _Finding:
    by_unit = evaluation.unit_means()
    values = [by_unit[unit] for unit in FAULT_UNITS]
    return _Finding(
        values=values,
        axis=[parse_size(unit) for unit in FAULT_UNITS],
        shown=f"{times(values[0])} to {times(values[-1])}",
        beside={"128 B": times(by_unit[UNITS[0]])},
    )


def _ranges(evaluation: Evaluation) -> _Finding:
    values = [
        evaluation.number("max_ranges", "ranges", program, "bitmap", _B16)
        for program in evaluation.programs()
    ]
    return _Finding(
        values=values,
        shown=f"{max(values):.0f} at most, mean over programs {fmean(values):.1f}",
        beside={},
    )


def _tlb(page: str) -> Callable[[Evaluation], _Finding]:
    def find(evaluation: Evaluation) -> _Finding:
        rates = evaluation.tlb_rates(page)
        ours = rates[next(iter(TLB_READINGS))]
        return _Finding(
            values=[ours],
            shown=percent(ours),
            beside={name: percent(rate) for name, rate in rates.items()},
        )

    return find


def _derived(evaluation: Evaluation) -> _Finding:
    whole = {one: means(evaluation.ratios("whole-page", one))[0] for one in (_B16, _B32)}
    shown = [
        times(whole[one] / means(evaluation.ratios(series, one))[0])
        for series, one in (
            ("single-range", _B16),
            ("ranges", _B16),
            ("single-range", _B32),
            ("ranges", _B32),
        )
    ]
    return _Finding(values=[], shown=", ".join(shown), beside={})


_FINDERS: Final[Mapping[str, Callable[[Evaluation], _Finding]]] = {
    "T1": _mean_of("whole-page", _B16),
    "T2": _mean_of("whole-page", _B32),
    "T3": _mean_of("whole-page", _B96),
    "T4": _mean_of("single-range", _B16),
    "T5": _mean_of("single-range", _B32),
    "T6": _mean_of("ranges", _B16),
    "T7": _mean_of("ranges", _B32),
    "T8": _mean_of("ranges", _B96),
    "T9a": _of_program("lps", "single-range"),
    "T9b": _of_program("lps", "ranges"),
    "T10": _of_program("mum-140k", "single-range"),
    "T11a": _of_program("lib", "whole-page"),
    "T11b": _of_program("wp", "whole-page"),
    "T12": _accessed,
    "T13": _units,
    "T14": _ranges,
    "T15a": _tlb(TLB_PAGES[0]),
    "T15b": _tlb(TLB_PAGES[1]),
    "T16": _derived,
}


def times(value: float) -> str:
    """Write a ratio: three decimals below 10, three digits or more above."""
    if value < 10:  # noqa: PLR2004 - as said
        return f"{value:.3f}x"
    return f"{value:.1f}x" if value < 100 else f"{value:.0f}x"  # noqa: PLR2004 - as said


def times_within(value: float, spread: Sequence[float]) -> str:
    """
    Write a ratio without the digits that its spread makes meaningless: up to the first digit of
    half of the spread.

    Args:
        value: The ratio.
        spread: The same with other inputs; of one value nothing is known.
    """
    half = (max(spread) - min(spread)) / 2
    if half == 0:
        return times(value)
    decimals = -floor(log10(half))
    digits = max(decimals, 0)
    shown = f"{round(value, decimals):.{digits}f}x"
    return min(shown, times(value), key=len)


def percent(share: float) -> str:
    """Write a share: three digits."""
    return f"{share * 100:.3g} %"
