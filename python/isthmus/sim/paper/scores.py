"""The paper's results beside ours: every target, with a verdict and an explanation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import floor, log10
from statistics import fmean
from typing import Final

from isthmus.ground.sizes import parse_size
from isthmus.sim.paper.evaluation import TLB_READINGS, Evaluation, means
from isthmus.sim.paper.studies import BANDWIDTHS, FIRST, READINGS, TLB_PAGES, UNITS, series_of
from isthmus.sim.paper.targets import TARGETS, Target, Verdict, judge

BOUND: Final = "lower bound (perfect overlap)"

_B16, _B32, _B96 = BANDWIDTHS
_AS_LONG = 0.01
_ALL = 0.995
_ACCIDENT = (
    "an accident: one range and several take equally long here (T9a), and differ in the paper"
)


@dataclass(frozen=True, kw_only=True)
class Score:
    """
    One target, judged.

    Attributes:
        why: The explanation of a verdict that isn't "matched".
        beside: Other results, by name.
        note: What must stand beside the number.
    """

    target: Target
    ours: str
    verdict: Verdict
    why: str
    beside: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class _Finding:
    values: list[float]
    shown: str
    beside: Mapping[str, str]
    compared: float | None = None
    axis: Sequence[float] = ()
    note: str = ""


def score_all(evaluation: Evaluation) -> list[Score]:
    """Judge every target under the first reading, in the paper's order."""
    return [_score(target, _found(target.name, evaluation)) for target in TARGETS]


def _found(name: str, evaluation: Evaluation) -> _Finding:
    by_reading = _BY_READING.get(name)
    return by_reading(evaluation, FIRST) if by_reading else _ONCE[name](evaluation)


def score_readings(evaluation: Evaluation) -> dict[str, dict[str, Score]]:
    """Judge the targets that readings differ in, by reading and target, for all that were run."""
    targets = [target for target in TARGETS if target.name in _BY_READING]
    return {
        reading: {
            target.name: _score(target, _BY_READING[target.name](evaluation, reading))
            for target in targets
        }
        for reading in READINGS
        if evaluation.has_reading(reading)
    }


def _score(target: Target, found: _Finding) -> Score:
    verdict = judge(target, found.values, beside=found.compared, axis=found.axis)
    return Score(
        target=target,
        ours=found.shown,
        verdict=verdict,
        why="" if verdict is Verdict.MATCHED else target.argument,
        beside=found.beside,
        note=found.note,
    )


def _mean_of(policy: str, bandwidth: str, evaluation: Evaluation, reading: str) -> _Finding:
    series = series_of(reading, policy)
    seeds = evaluation.by_seed()
    by_seed = [one.mean(series, bandwidth) for one in seeds]
    return _Finding(
        values=[by_seed[0]],
        shown=times_within(by_seed[0], by_seed),
        beside={
            **_over_seeds(by_seed),
            "geometric mean": with_spread(
                [means(one.ratios(series, bandwidth))[1] for one in seeds]
            ),
            BOUND: with_spread([one.overlap_bound(bandwidth) for one in seeds]),
        },
        compared=evaluation.mean(series, _B16),
    )


def _ratio_to(policy: str, bandwidth: str, evaluation: Evaluation, reading: str) -> _Finding:
    whole, other = (series_of(reading, one) for one in ("whole-page", policy))
    by_seed = [
        one.mean(whole, bandwidth) / one.mean(other, bandwidth) for one in evaluation.by_seed()
    ]
    return _Finding(
        values=[by_seed[0]], shown=times_within(by_seed[0], by_seed), beside=_over_seeds(by_seed)
    )


def _over_seeds(
    by_seed: Sequence[float], of: str = "", shown: Callable[[float], str] | None = None
) -> dict[str, str]:
    """Say how far inputs take a number; of one input, nothing is known."""
    if len(by_seed) == 1:
        return {}
    least, most = (shown or times)(min(by_seed)), (shown or times)(max(by_seed))
    return {f"{of}{', ' if of else ''}over {len(by_seed)} seeds": f"{least} to {most}"}


def with_spread(by_seed: Sequence[float]) -> str:
    """Write the ratio of seed 0, and how far other inputs take it."""
    shown = times_within(by_seed[0], by_seed)
    return " ".join([shown, *(f"({spread})" for spread in _over_seeds(by_seed).values())])


def _of_program(program: str, policy: str, evaluation: Evaluation, reading: str) -> _Finding:
    if program not in evaluation.programs():
        return _Finding(values=[], shown="-", beside={})
    series = series_of(reading, policy)
    by_seed = [one.ratio(program, series, _B16) for one in evaluation.by_seed()]
    return _Finding(
        values=[by_seed[0]], shown=times_within(by_seed[0], by_seed), beside=_over_seeds(by_seed)
    )


def _lps_with_ranges(evaluation: Evaluation, reading: str) -> _Finding:
    """Find T9b, and say that it tells nothing if one range takes as long as several."""
    found = _of_program("lps", "ranges", evaluation, reading)
    [one_range] = _of_program("lps", "single-range", evaluation, reading).values or [0.0]
    if not found.values or abs(one_range / found.values[0] - 1) > _AS_LONG:
        return found
    return replace(found, note=_ACCIDENT)


def _accessed(evaluation: Evaluation, reading: str) -> _Finding:
    def shares(series: str) -> list[float]:
        return [
            evaluation.number("accessed_share", "matrix", program, series, _B16)
            for program in evaluation.programs()
        ]

    ours = shares(series_of(reading, "whole-page"))
    uploads = shares("programmer")
    some = ", ".join(
        f"{program} {share:.0%}"
        for program, share in zip(evaluation.programs(), uploads, strict=True)
        if 0 < share < _ALL
    )
    return _Finding(
        values=ours,
        shown=f"{min(ours) * 100:.2g} to {max(ours) * 100:.2g} %",
        beside={one: _named_shares(evaluation, shares(one)) for one in ("programmer", "ranges")},
        note=f"of {sum(share > 0 for share in uploads)} programs that upload, "
        f"{sum(share > _ALL for share in uploads)} touch all that they upload"
        f"{'; ' * bool(some)}{some}",
    )


def _named_shares(evaluation: Evaluation, shares: Sequence[float]) -> str:
    pairs = zip(evaluation.programs(), shares, strict=True)
    return ", ".join(f"{program} {share:.0%}" for program, share in pairs)


def _units(evaluation: Evaluation) -> _Finding:
    by_seed = [one.unit_means() for one in evaluation.by_seed()]
    shown = {
        unit: times_within(by_seed[0][unit], [means_of[unit] for means_of in by_seed])
        for unit in UNITS
    }
    return _Finding(
        values=[by_seed[0][unit] for unit in UNITS],
        axis=[parse_size(unit) for unit in UNITS],
        shown=f"{shown[UNITS[0]]} to {shown[UNITS[-1]]}",
        beside={unit: with_spread([units[unit] for units in by_seed]) for unit in UNITS},
    )


def _ranges(evaluation: Evaluation) -> _Finding:
    def of(column: str) -> dict[str, float]:
        return {
            program: evaluation.number(column, "ranges", program, "bitmap", _B16)
            for program in evaluation.programs()
        }

    most, mean = of("max_ranges"), of("mean_ranges")
    others = "".join(
        f"; {name} {value:.0f} at most, {mean[name]:.3g} in the mean"
        for name, value in most.items()
        if value != 1
    )
    return _Finding(
        values=list(most.values()),
        shown=f"{min(most.values()):.0f} to {max(most.values()):.0f}",
        beside={"mean of the programs' most": f"{fmean(most.values()):.3g}"},
        note=f"{sum(value == 1 for value in most.values())} of {len(most)} programs have one range "
        f"on every page{others}",
    )


def _tlb(page: str, evaluation: Evaluation) -> _Finding:
    by_seed = [one.tlb_rates(page) for one in evaluation.by_seed()]
    beside = {}
    for name in by_seed[0]:
        rates = [of[name] for of in by_seed]
        spread = "".join(f" ({one})" for one in _over_seeds(rates, shown=percent).values())
        beside[name] = f"{percent_within(rates[0], rates)}{spread}"
    first = by_seed[0]
    usual, others = first[next(iter(TLB_READINGS))], first.values()
    return _Finding(
        values=[usual],
        shown=percent_within(usual, [usual]),
        beside=beside,
        note=f"{percent(min(others))} to {percent(max(others))} by other definitions of a miss",
    )


_BY_READING: Final[Mapping[str, Callable[[Evaluation, str], _Finding]]] = {
    "T1": partial(_mean_of, "whole-page", _B16),
    "T2": partial(_mean_of, "whole-page", _B32),
    "T3": partial(_mean_of, "whole-page", _B96),
    "T4": partial(_mean_of, "single-range", _B16),
    "T5": partial(_mean_of, "single-range", _B32),
    "T6": partial(_mean_of, "ranges", _B16),
    "T7": partial(_mean_of, "ranges", _B32),
    "T8": partial(_mean_of, "ranges", _B96),
    "T9a": partial(_of_program, "lps", "single-range"),
    "T9b": _lps_with_ranges,
    "T10": partial(_of_program, "mum-140k", "single-range"),
    "T11a": partial(_of_program, "lib", "whole-page"),
    "T11b": partial(_of_program, "wp", "whole-page"),
    "T12": _accessed,
    "T16a": partial(_ratio_to, "single-range", _B16),
    "T16b": partial(_ratio_to, "ranges", _B16),
    "T16c": partial(_ratio_to, "single-range", _B32),
    "T16d": partial(_ratio_to, "ranges", _B32),
}
_ONCE: Final[Mapping[str, Callable[[Evaluation], _Finding]]] = {
    "T13": _units,
    "T14": _ranges,
    "T15a": partial(_tlb, TLB_PAGES[0]),
    "T15b": partial(_tlb, TLB_PAGES[1]),
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
