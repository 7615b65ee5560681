"""When a measurement has enough samples."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """
    When enough samples were taken.

    Attributes:
        min_samples: Take these in any case.
        max_samples: Take no more than these.
        max_seconds: After this time, stop as soon as there are `min_samples`.
        relative_iqr: Stop when the interquartile range is this part of the median.
    """

    min_samples: int
    max_samples: int
    max_seconds: float
    relative_iqr: float
