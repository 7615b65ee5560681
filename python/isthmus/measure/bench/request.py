"""The request of one invocation of `isthmus bench`."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.measure.bench.tests.catalogue import BenchTest


@dataclass(frozen=True, kw_only=True)
class Request:
    """
    What to measure, and how.

    Attributes:
        tests: What to run, in order.
        sizes: Sizes of the bandwidth tests in bytes, ascending; None for the default sweep.
        max_bytes: The most memory a measurement may allocate on each side; None: what is free.
        repeat: Measure everything in so many fresh processes; None: once, in this process.
        budget_s: Seconds for the measurements, of each process; None for the default.
        num_samples: The number of samples of each metric; None for each test's rule.
        spent_s: Seconds of the promised time that the start of the program has taken.
    """

    tests: Sequence[BenchTest]
    sizes: Sequence[int] | None = None
    device: str | None = None
    quick: bool = False
    managed: bool = False
    max_bytes: int | None = None
    repeat: int | None = None
    budget_s: float | None = None
    keep_samples: bool = False
    num_samples: int | None = None
    verify: bool = True
    command: Sequence[str] = ()
    spent_s: float = 0.0
