"""What copies have cost so far."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus import _native


@dataclass(frozen=True, kw_only=True)
class PathUse:
    """
    One path's use so far.

    Attributes:
        calls: The number of copies.
        bytes: Their bytes.
        seconds: The total time of these calls.
        predicted_seconds: Their total time by the profile, whatever copies took before.
    """

    calls: int
    bytes: int
    seconds: float
    predicted_seconds: float

    @property
    def predicted_per_actual(self) -> float | None:
        """Give the quality of the profile: 1 is right; None without a copy."""
        return self.predicted_seconds / self.seconds if self.seconds > 0 else None


@dataclass(frozen=True, kw_only=True)
class CopyStats:
    """
    All copies so far, by path. The numbers only grow: take differences.

    Attributes:
        paths: From a path's name to its use.
    """

    paths: dict[str, PathUse]

    @property
    def calls(self) -> int:
        """The number of copies."""
        return sum(use.calls for use in self.paths.values())

    @property
    def bytes(self) -> int:
        """The number of copied bytes."""
        return sum(use.bytes for use in self.paths.values())

    def __str__(self) -> str:
        """Write it as a table."""
        rows = [f"{'path':<16}{'calls':>10}{'bytes':>18}{'seconds':>12}{'predicted/actual':>18}"]
        for name, use in self.paths.items():
            ratio = use.predicted_per_actual
            said = "-" if ratio is None else f"{ratio:.2f}"
            rows.append(f"{name:<16}{use.calls:>10}{use.bytes:>18}{use.seconds:>12.6f}{said:>18}")
        return "\n".join(rows)


def stats_of(native: Sequence[_native.PathUse]) -> CopyStats:
    """Convert the native module's numbers."""
    return CopyStats(
        paths={
            use.path: PathUse(
                calls=use.num_copies,
                bytes=use.num_bytes,
                seconds=use.seconds,
                predicted_seconds=use.predicted_seconds,
            )
            for use in native
        }
    )
