"""A result that is derived from others: it has their circumstances, not their times."""

from dataclasses import dataclass

from isthmus.measure.run.result import Result, Status

NOT_MEASURED = dict.fromkeys(
    ("median", "min", "max", "p99", "iqr", "cov", "n", "copies_per_sample", "stopped_by")
)
_FORGOTTEN = dict.fromkeys(
    ("first_call_s", "verified_on", "samples", "mean", "num_outliers", "clock_reasons")
)


@dataclass(frozen=True)
class Spread:
    """
    A derived number, with its lower and upper bound.

    Attributes:
        high: Its upper bound; None if it has none.
    """

    middle: float
    low: float
    high: float | None


def derived_result(
    like: Result, metric: str, unit: str, spread: Spread, *, num_points: int = 1
) -> Result:
    """
    Make a result of a number, with the test, size and circumstances of another; the number's bounds
    become min and max.
    """
    numbers = {
        "median": spread.middle,
        "min": spread.low,
        "max": spread.high,
        "p99": spread.high,
        "iqr": None if spread.high is None else spread.high - spread.low,
        "n": num_points,
    }
    named = {"metric": str(metric), "unit": unit, "blocked": False}
    return like.model_copy(update=NOT_MEASURED | _FORGOTTEN | named | numbers)


def no_derived_result(like: Result, metric: str, unit: str, reason: str) -> Result:
    """Make a result that says why there is no number."""
    named = {"metric": str(metric), "unit": unit, "status": Status.WAIVED, "reason": reason}
    return like.model_copy(update=NOT_MEASURED | _FORGOTTEN | named | {"blocked": False})
