"""One result: one metric of one test at one size, measured or derived from others."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal, Self

from pydantic import Field, model_serializer, model_validator

from isthmus.measure.run.naming import Kind, kind_and_way
from isthmus.measure.run.record import (
    Integer,
    Name,
    NonNegativeInteger,
    Number,
    PositiveInteger,
    Record,
)

Memory = Literal[
    "pinned",
    "pageable",
    "registered",
    "write_combined",
    "mapped",
    "huge_pinned",
    "managed",
    "host",
    "device",
    "pool",
    "peer",
]


# The reason for waiving a result begins with this if the run's time was used up before it.
NO_TIME_LEFT = "no time left"


class Status(StrEnum):
    """How a measurement ended."""

    PASSED = "passed"
    WAIVED = "waived"
    ERROR = "error"


class Failure(Record):
    """Why a measurement ended in an error."""

    symbol: str | None
    """The driver function that failed; null if it wasn't the driver."""
    code: Integer | None
    """Its CUresult."""
    code_name: str | None
    message: str


# Whether a result has a median, a reason and an error.
_FIELDS_OF = {
    Status.PASSED: (True, False, False),
    Status.WAIVED: (False, True, False),
    Status.ERROR: (False, False, True),
}
# As for `Number`: what is divided by it stays finite.
_LEAST = 1e-30
# Axes that are computed with: positive numbers, and the numbers of GPUs.
_COUNTS = frozenset({"unit", "row_bytes", "rows", "slices", "pieces", "chunks", "streams"})
_ORDINALS = frozenset({"gpu", "peer"})
_ORDINAL = re.compile("[0-9]{1,9}")
_ONLY_WHEN_SET = ("reason", "error", "samples", "repeats", "drift")


class Result(Record):
    """
    One metric of one test at one size.

    copies. They are null unless `status` is "passed".
    copies. They are null unless `status` is "passed".
    """

    test: Name
    suite: Name = ""
    """Its suites; empty in files of older versions."""
    status: Status
    source: Memory | None
    """The memory that is read; for a round trip, the memory of the flag that the CPU sets."""
    target: Memory | None
    """The memory that is written; for a round trip, that of the flag that the kernel sets."""
    direction: Literal["h2d", "d2h"] | None
    """Null for both directions, or none."""
    bytes: PositiveInteger
    """The size of one copy; for a crossover, the largest size compared."""
    metric: Name
    clock: Literal["device", "host"]
    """Whose clock timed it: the GPU's, between two events, or the CPU's."""
    blocked: bool
    """Whether the copies waited behind a gate until all were enqueued, so that the numbers don't
    include the CPU's time to enqueue them."""
    unit: Literal["B/s", "s", "B", "1"]
    """"1": a ratio."""
    median: Number | None
    min: Number | None
    max: Number | None
    p99: Number | None
    """The 99th percentile of the values; for a bandwidth that is its fast end."""
    iqr: Number | None
    mean: Number | None = None
    """Of all samples, so it depends on outliers. Comparisons use the median."""
    cov: Number | None
    """Standard deviation over mean, a ratio."""
    n: NonNegativeInteger | None
    """The number of samples."""
    num_outliers: NonNegativeInteger | None = None
    """The number of samples far from the rest: more than three times the interquartile range beyond
    the quartiles, and at least 5 % of the median. All statistics include them; null for fewer
    than five samples."""
    clock_reasons: list[Name] | None = None
    """Reasons for reduced GPU clocks during this measurement, as NVML names them; empty if there
    were none, null if unknown."""
    copies_per_sample: PositiveInteger | None
    first_call_s: Number | None
    """How long the very first copy of this measurement took, which no sample contains."""
    stopped_by: Name | None
    """What ended the sampling: "noise" (quiet enough), "time" or "max_samples"."""
    verified_on: Literal["device", "host"] | None
    """Who compared the bytes that arrived with those sent; null if they weren't compared."""
    cpu_cache: Literal["warm", "cold"]
    """Whether the host's bytes were in the CPU's caches, as far as they fit, or were evicted."""
    num_threads: PositiveInteger = 1
    """The most threads that could share one copy."""
    cpu_node: Literal["near", "far"] | None = None
    """The NUMA node of threads and host memory, relative to the device; null if the test doesn't
    choose one."""
    data: Literal["pinned", "device"] | None = None
    """For a round trip with data, their memory; `bytes` is their size."""
    axes: dict[Name, Name | Integer] = Field(default_factory=dict)
    """Other circumstances by name, such as {"streams": 4}."""
    host_pages_by_node: dict[Integer, Integer] | None
    """Where the pages of the host's buffer are: NUMA node to pages looked at."""
    reason: str | None = Field(default=None, description="Why it was waived. Only then present.")
    error: Failure | None = Field(default=None, description="Only present after an error.")
    samples: list[Number] | None = Field(default=None, description="Only present on request.")
    repeats: list[Number | None] | None = None
    """With `--repeat`: the median of each process, null where it has none. The other numbers are
    then medians over the processes, `min` and `max` the extremes, `n` the sum. Otherwise not
    present."""
    drift: Number | None = None
    """With `--repeat`: the standard deviation of the logarithms of `repeats`, a ratio: 0.01 if
    processes differ by about 1 %. Not present for fewer than two."""

    @property
    def kind(self) -> Kind | None:
        """The kind of test; None if no other test is of its kind."""
        return kind_and_way(self.test)[0]

    @property
    def way(self) -> str:
        """The way of its kind: "ce", "blocking"; the test's name if it is of no kind."""
        return kind_and_way(self.test)[1]

    @property
    def ran_out_of_time(self) -> bool:
        """Whether it was waived only because the run's time was used up."""
        return self.status == Status.WAIVED and (self.reason or "").startswith(NO_TIME_LEFT)

    @property
    def variation(self) -> str:
        """The unusual circumstances: "cold, 4 threads, 2 streams"; may be empty."""
        axes = tuple(self.axes.items()) if self.axes else ()
        return _variation(self.cpu_cache, self.num_threads, self.cpu_node, self.data, axes)

    @property
    def host_memory(self) -> Memory | None:
        """The memory at the host's end of a copy."""
        return self.target if self.source == "device" else self.source

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        # A run has hundreds of results, and a fleet thousands of runs: this is fast.
        found = (self.median is not None, self.reason is not None, self.error is not None)
        wanted = _FIELDS_OF[self.status]
        if found != wanted:
            wrong = next(index for index in range(len(wanted)) if found[index] != wanted[index])
            needs = "needs" if wanted[wrong] else "has no"
            raise ValueError(
                f"a result that is {self.status} {needs} {('median', 'reason', 'error')[wrong]}"
            )
        if any(number and abs(number) < _LEAST for number in (self.median, self.mean)):
            raise ValueError(f"a median or mean is below {_LEAST:g}: no clock measures that")
        for name, value in self.axes.items():
            if name in _COUNTS and (isinstance(value, str) or value <= 0):
                raise ValueError(f"the axis {name} needs a positive number")
            if name in _ORDINALS and not _ORDINAL.fullmatch(str(value)):
                raise ValueError(f"the axis {name} needs the number of a GPU")
        return self

    @model_serializer(mode="wrap")
    def _leave_out_unset(self, serialize: Callable[[Self], dict[str, Any]]) -> dict[str, Any]:
        return {
            key: value
            for key, value in serialize(self).items()
            if value is not None or key not in _ONLY_WHEN_SET
        }


@lru_cache(maxsize=4096)
def _variation(
    cpu_cache: str,
    num_threads: int,
    cpu_node: str | None,
    data: str | None,
    axes: tuple[tuple[str, str | int], ...],
) -> str:
    """Few of the results of a fleet differ in this, and all are asked for it."""
    parts = [
        "cold" if cpu_cache == "cold" else "",
        f"{num_threads} threads" if num_threads > 1 else "",
        f"{cpu_node} node" if cpu_node else "",
        f"{data} data" if data else "",
        *(_axis(name, str(value)) for name, value in sorted(axes)),
    ]
    return ", ".join(filter(None, parts))


def _axis(name: str, value: str) -> str:
    spoken = name.replace("_", " ")
    if not value.isdecimal():
        return f"{spoken} {value}"
    return f"{value} {spoken.removesuffix('s') if value == '1' else spoken}"


NOT_MEASURED = dict.fromkeys(
    ("median", "min", "max", "p99", "iqr", "cov", "n", "copies_per_sample", "stopped_by")
)
# Of the result whose test, size and circumstances a derived number has.
NOT_DERIVED = NOT_MEASURED | dict.fromkeys(
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
    return like.model_copy(update=NOT_DERIVED | named | numbers)


def no_derived_result(like: Result, metric: str, unit: str, reason: str) -> Result:
    """Make a result that says why there is no number."""
    named = {"metric": str(metric), "unit": unit, "status": Status.WAIVED, "reason": reason}
    return like.model_copy(update=NOT_DERIVED | named | {"blocked": False})
