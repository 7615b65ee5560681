"""The paper's results beside ours: every target, with a verdict and an explanation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import floor, log10
from statistics import fmean
from typing import Final

from isthmus.ground.sizes import parse_size
from isthmus.sim.paper.evaluation import TLB_READINGS, Evaluation, means
from isthmus.sim.paper.studies import BANDWIDTHS, FAULT_UNITS, TLB_PAGES, UNITS, VARIANTS
from isthmus.sim.paper.targets import TARGETS, Target, Verdict, judge

BOUND: Final = "lower bound (perfect overlap)"

_B16, _B32, _B96 = BANDWIDTHS
_AS_LONG = 0.01
_ACCIDENT = (
    "an accident: one range and several take equally long here (T9a), and differ in the paper"
)


@dataclass(frozen=True, kw_only=True)
class Score:
    """
    One target, judged.

    Attributes:
        why: The explanation of a verdict that isn't "matched", or that means nothing.
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
    remark: str = ""


def score_all(evaluation: Evaluation) -> list[Score]:
    """Judge every target, in the paper's order."""
    return [_score(target, _FINDERS[target.name](evaluation)) for target in TARGETS]


def _score(target: Target, found: _Finding) -> Score:
    verdict = judge(target, found.values, beside=found.compared, axis=found.axis)
    return Score(
        target=target,
        ours=found.shown,
        verdict=verdict,
        why=found.remark or ("" if verdict is Verdict.MATCHED else target.argument),
        beside=found.beside,
    )


def _mean_of(series: str, bandwidth: str) -> Callable[[Evaluation], _Finding]:
    def find(evaluation: Evaluation) -> _Finding:
        seeds = evaluation.by_seed()
        arithmetic, _ = means(evaluation.ratios(series, bandwidth))
        by_seed = [one.mean(series, bandwidth) for one in seeds]
        geometric_by_seed = [means(one.ratios(series, bandwidth))[1] for one in seeds]
        beside = {
            **_over_seeds(by_seed),
            "geometric mean": _with_spread(geometric_by_seed),
        }
        beside[BOUND] = _with_spread([one.overlap_bound(bandwidth) for one in seeds])
        for name in _variants(series, evaluation, bandwidth):
            beside[name] = _with_spread([one.mean(name, bandwidth) for one in seeds])
        return _Finding(
            values=[arithmetic],
            shown=times_within(arithmetic, by_seed),
            beside=beside,
            compared=evaluation.mean(series, _B16),
        )

    return find


def _variants(series: str, evaluation: Evaluation, bandwidth: str) -> list[str]:
    return [
        name
        for name, (policy, _) in VARIANTS.items()
        if policy == series and evaluation.has(name, bandwidth)
    ]


def _over_seeds(
    by_seed: Sequence[float], of: str = "", shown: Callable[[float], str] | None = None
) -> dict[str, str]:
    """Say how far inputs take a number; of one input, nothing is known."""
    if len(by_seed) == 1:
        return {}
    least, most = (shown or times)(min(by_seed)), (shown or times)(max(by_seed))
    return {f"{of}{', ' if of else ''}over {len(by_seed)} seeds": f"{least} to {most}"}


def _with_spread(by_seed: Sequence[float]) -> str:
    """Write the ratio of seed 0, and how far other inputs take it."""
    shown = times_within(by_seed[0], by_seed)
    return " ".join([shown, *(f"({spread})" for spread in _over_seeds(by_seed).values())])


def _of_program(program: str, series: str) -> Callable[[Evaluation], _Finding]:
    def find(evaluation: Evaluation) -> _Finding:
        if program not in evaluation.programs():
            return _Finding(values=[], shown="-", beside={})
        by_seed = [one.ratio(program, series, _B16) for one in evaluation.by_seed()]
        beside = _over_seeds(by_seed)
        for name in _variants(series, evaluation, _B16):
            beside[name] = _with_spread(
                [one.ratio(program, name, _B16) for one in evaluation.by_seed()]
            )
        return _Finding(values=[by_seed[0]], shown=times_within(by_seed[0], by_seed), beside=beside)

    return find


def _lps_with_ranges(evaluation: Evaluation) -> _Finding:
    """Find T9b, and say that it tells nothing if one range takes as long as several."""
    found = _of_program("lps", "ranges")(evaluation)
    [one_range] = _of_program("lps", "single-range")(evaluation).values or [0.0]
    if not found.values or abs(one_range / found.values[0] - 1) > _AS_LONG:
        return found
    return replace(found, remark=_ACCIDENT)


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
    by_seed = [one.unit_means() for one in evaluation.by_seed()]
    shown = {
        unit: times_within(by_seed[0][unit], [means_of[unit] for means_of in by_seed])
        for unit in UNITS
    }
    return _Finding(
        values=[by_seed[0][unit] for unit in FAULT_UNITS],
        axis=[parse_size(unit) for unit in FAULT_UNITS],
        shown=f"{shown[FAULT_UNITS[0]]} to {shown[FAULT_UNITS[-1]]}",
        beside={
            "128 B": _with_spread([units[UNITS[0]] for units in by_seed]),
            **_over_seeds([units[FAULT_UNITS[0]] for units in by_seed], "1 KiB"),
            **_over_seeds([units[FAULT_UNITS[-1]] for units in by_seed], "2 MiB"),
            BOUND: _with_spread([one.overlap_bound(_B16) for one in evaluation.by_seed()]),
        },
    )


def _ranges(evaluation: Evaluation) -> _Finding:
    def most(one: Evaluation) -> list[float]:
        return [
            one.number("max_ranges", "ranges", program, "bitmap", _B16)
            for program in one.programs()
        ]

    values = most(evaluation)
    averages = [fmean(most(one)) for one in evaluation.by_seed()]
    mean = times_within(averages[0], averages).removesuffix("x")
    return _Finding(
        values=values,
        shown=f"{max(values):.0f} at most, mean over programs {mean}",
        beside=_over_seeds(averages, "mean", "{:.3g}".format),
    )


def _tlb(page: str) -> Callable[[Evaluation], _Finding]:
    def find(evaluation: Evaluation) -> _Finding:
        by_seed = [one.tlb_rates(page) for one in evaluation.by_seed()]
        ours = next(iter(TLB_READINGS))
        shown = {
            name: percent_within(by_seed[0][name], [rates[name] for rates in by_seed])
            for name in by_seed[0]
        }
        beside = {}
        for name, rate in shown.items():
            spread = _over_seeds([rates[name] for rates in by_seed], shown=percent)
            beside[name] = " ".join([rate, *(f"({one})" for one in spread.values())])
        return _Finding(values=[by_seed[0][ours]], shown=shown[ours], beside=beside)

    return find


def _derived(evaluation: Evaluation) -> _Finding:
    def ratio(one: Evaluation, series: str, bandwidth: str) -> float:
        return one.mean("whole-page", bandwidth) / one.mean(series, bandwidth)

    shown, spreads = [], []
    for bandwidth, series in product((_B16, _B32), ("single-range", "ranges")):
        by_seed = [ratio(one, series, bandwidth) for one in evaluation.by_seed()]
        shown.append(times_within(by_seed[0], by_seed))
        spreads.append(_over_seeds(by_seed))
    beside = {name: ", ".join(spread[name] for spread in spreads) for name in spreads[0]}
    return _Finding(values=[], shown=", ".join(shown), beside=beside)


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
    "T9b": _lps_with_ranges,
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
    Write a ratio without the digits that its spread with other inputs makes meaningless: up to the
    first digit of half of it. Of one input two digits are left, or two decimals near 1.
    """
    if len(spread) == 1:
        decimals = 2 if 0.1 <= value < 10 else _decimals_of_two_digits(value)  # noqa: PLR2004
    elif (half := (max(spread) - min(spread)) / 2) == 0:
        return times(value)
    else:
        decimals = -floor(log10(half))
    return min(f"{_rounded(value, decimals)}x", times(value), key=len)


def percent_within(share: float, spread: Sequence[float]) -> str:
    """Write a share without the digits that its spread makes meaningless, as times_within."""
    if len(spread) == 1:
        return f"{share * 100:.2g} %"
    half = (max(spread) - min(spread)) / 2 * 100
    if half == 0:
        return percent(share)
    shown = f"{_rounded(share * 100, -floor(log10(half)))} %"
    return min(shown, percent(share), key=len)


def _rounded(value: float, decimals: int) -> str:
    return f"{round(value, decimals):.{max(decimals, 0)}f}"


def _decimals_of_two_digits(value: float) -> int:
    return 1 - floor(log10(value)) if value > 0 else 2


def percent(share: float) -> str:
    """Write a share: three digits."""
    return f"{share * 100:.3g} %"
