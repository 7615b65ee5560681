"""When a measurement has enough samples."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """
    The rule for enough samples.

    Attributes:
        max_seconds: After this time, stop as soon as there are `min_samples`.
        relative_iqr: Stop when the interquartile range is this part of the median.
    """

    min_samples: int
    max_samples: int
    max_seconds: float
    relative_iqr: float
    verify: bool = True

    def asked(self, num_samples: int | None, *, verify: bool) -> "StoppingRule":
        """
        Change the rule to what a user asked for; `num_samples` are taken however long it takes, and
        None keeps the rule.
        """
        if num_samples is None:
            return replace(self, verify=verify)
        return replace(self, min_samples=num_samples, max_samples=num_samples, verify=verify)
