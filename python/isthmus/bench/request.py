"""What one invocation of `isthmus bench` was asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.bench.tests import BenchTest


@dataclass(frozen=True, kw_only=True)
class Request:
    """
    What was asked for.

    Attributes:
        tests: What to run, in order.
        sizes: Sizes of the bandwidth tests in bytes, ascending; None for the default sweep.
        device: As typed; None for whichever there is.
        quick: Fewer sizes and circumstances, in seconds.
        managed: Managed memory may be measured.
        max_bytes: The most memory of each side that a measurement may have; None for what is free.
        budget_s: Seconds for the measurements; None for the default.
        keep_samples: Keep raw samples.
        command: The command line.
    """

    tests: Sequence[BenchTest]
    sizes: Sequence[int] | None = None
    device: str | None = None
    quick: bool = False
    managed: bool = False
    max_bytes: int | None = None
    budget_s: float | None = None
    keep_samples: bool = False
    command: Sequence[str] = ()
