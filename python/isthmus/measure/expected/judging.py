"""Compares a run with the values expected of its machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from isthmus.errors import UsageError
from isthmus.measure.expected.values import GpuValues, Value, expected_values
from isthmus.measure.run.model import Run
from isthmus.measure.run.result import Result, Status


class Judgement(StrEnum):
    """How a result compares with its expected value."""

    AS_EXPECTED = "as expected"
    BETTER = "better"
    SHORT = "short"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """
    One expected value, and the result.

    Attributes:
        result: The best result to which the value applies; if it is one of pairs, the worst's.
    """

    value: Value
    result: Result
    judgement: Judgement

    @property
    def ratio(self) -> float:
        """Measured over expected."""
        return (self.result.median or 0.0) / self.value.typical


def judge(run: Run, own: GpuValues | None = None) -> list[Finding]:
    """
    Compare a run with the values expected of its machine, or with `own`; a finding for each value
    for which the run has a result.
    """
    refuse_emulated(own, emulated=run.machine.emulated)
    findings = []
    values = own.values if own else expected_values(run.machine)
    # A run has hundreds of results, of which the values are about few.
    tests = {value.test for value in values}
    known = [result for result in run.results if result.test in tests]
    for value in values:
        results = _results(known, value)
        if results:
            best = best_of_worst(results, value.unit)
            judgement = judgement_of((best.median or 0.0) / value.typical, value)
            findings.append(Finding(value=value, result=best, judgement=judgement))
    return findings


def refuse_emulated(own: GpuValues | None, *, emulated: bool) -> None:
    """Refuse to compare modelled numbers with real hardware's, or the reverse."""
    if own is not None and own.emulated and not emulated:
        raise UsageError(
            f"the values of {own.gpu} are modelled, and the run is a real device's",
            hint="write values of a real device: `isthmus runs expect RUN`",
        )
    if own is not None and emulated and not own.emulated:
        raise UsageError(
            f"the values of {own.gpu} are a real device's, and the emulated device's are modelled",
            hint="choose a GPU with --device, or write values of this one: `isthmus runs expect`",
        )
    if emulated and own is None:
        raise UsageError(
            "--expect is for real devices: the emulated device's numbers are modelled",
            hint="leave --expect out, or choose a GPU with --device",
        )


def _results(results: Sequence[Result], value: Value) -> list[Result]:
    return [
        result
        for result in results
        if result.status == Status.PASSED
        and result.median is not None
        and (result.test, result.metric, result.unit) == (value.test, value.metric, value.unit)
        and value.from_bytes <= result.bytes <= (value.to_bytes or result.bytes)
        and is_plain(result)
    ]


def is_plain(result: Result) -> bool:
    """Whether it was measured in the usual circumstances, as the values were."""
    near = result.cpu_node in {None, "near"}
    usual = result.cpu_cache == "warm" and result.num_threads == 1
    return usual and near and not result.axes.keys() - {"gpu", "peer"}


def best_of(results: Sequence[Result], unit: str) -> Result:
    """Give the result with the highest rate, or the shortest time."""
    best = max if unit == "B/s" else min
    return best(results, key=lambda result: result.median or 0.0)


def best_of_worst(results: Sequence[Result], unit: str) -> Result:
    """Give the best result of each GPU or pair that results name, and of these the worst."""
    by_pair: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        by_pair.setdefault(tuple(result.axes.items()), []).append(result)
    best = [best_of(own, unit) for own in by_pair.values()]
    return best_of(best, "s" if unit == "B/s" else "B/s")


def judgement_of(ratio: float, value: Value) -> Judgement:
    """Judge a measured over an expected value."""
    if abs(ratio - 1) <= value.tolerance:
        return Judgement.AS_EXPECTED
    better = (ratio > 1) == (value.unit == "B/s")
    return Judgement.BETTER if better else Judgement.SHORT
