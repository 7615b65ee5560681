"""How a copy would be made, in readable form, and what copies have cost so far."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from isthmus import _native
from isthmus.ground.sizes import approximate_size, format_size
from isthmus.ground.spelling import counted


@dataclass(frozen=True, kw_only=True)
class PathCost:
    """
    The cost of one path.

    Attributes:
        path: "window", "window_threads", "driver", "staged" or "registered".
        usable: Whether it could be taken.
        seconds: Predicted, of copies that follow each other; None if it isn't usable.
        pause_seconds: What a copy takes longer after a pause, as far as is known; None likewise.
        reason: Why it isn't usable, or the origin of the figure.
    """

    path: str
    usable: bool
    seconds: float | None
    pause_seconds: float | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class CopyPlan:
    """
    How a copy would be made, and why.

    Attributes:
        path: The path that would be taken if copies follow each other.
        path_after_pause: The path after a pause, when helper threads sleep and caches are cold.
        source: The kind of the source's memory: "pageable", "pinned", "device" or "managed".
        target: The same for the target.
        device: The GPU's number; -1 if none is involved.
        size_bytes: How much would be copied.
        packed: The host's array has gaps, or another memory order than the other array: NumPy packs
            it into a contiguous one, or unpacks it from there; `seconds` don't include this.
        costs: The cost of every path, in the order in which they are preferred.
        measured: False if the figures are defaults, because there is no profile of this machine.
        profile: The origin of the figures.
    """

    path: str
    path_after_pause: str
    source: str
    target: str
    device: int
    size_bytes: int
    packed: bool
    costs: tuple[PathCost, ...]
    measured: bool
    profile: str

    def __str__(self) -> str:
        """Write it as a table: the chosen path has an arrow."""
        crossing = self.device >= 0
        heading = (
            f"{format_size(self.size_bytes)} from {self.source} to {self.target} memory: "
            f"{self.path if crossing else 'by the CPU'}"
        )
        if self.path_after_pause != self.path:
            heading += f", after a pause {self.path_after_pause}"
        if self.packed:
            heading += ", with the host's array packed by NumPy"
        if not crossing:
            return f"{heading}; no GPU is involved, and nothing is predicted"
        rows = [f"{heading} ({self.profile})" if self.profile else heading]
        width = max((len(cost.path) for cost in self.costs), default=0)
        for cost in self.costs:
            mark = "->" if cost.path == self.path else "  "
            seconds = _time_of(cost.seconds)
            rows.append(f"{mark} {cost.path:<{width}} {seconds:>14}  {cost.reason}".rstrip())
        return "\n".join(rows)


def _time_of(seconds: float | None) -> str:
    """Write a prediction: of copies that cross no link there is none."""
    if not seconds:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def plan_of(native: _native.CopyPlan, *, size_bytes: int, packed: bool) -> CopyPlan:
    """Convert the native module's plan."""
    costs = tuple(
        PathCost(
            path=cost.path,
            usable=cost.usable,
            seconds=cost.seconds if cost.usable else None,
            pause_seconds=cost.pause_seconds if cost.usable else None,
            reason=cost.reason,
        )
        for cost in native.costs
    )
    same = _members_of(native, CopyPlan) | {"costs": costs}
    return CopyPlan(size_bytes=size_bytes, packed=packed, **same)


def _members_of(native: object, kind: type[Any]) -> dict[str, Any]:
    """Give what a native object has of a class's members."""
    names = [field.name for field in fields(kind) if hasattr(native, field.name)]
    return {name: getattr(native, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class PathShare:
    """
    The copies of a call that take one path.

    Attributes:
        path: As in `CopyPlan`, or "kernel": small copies, made together by one launch of a kernel;
            or "cpu": no GPU is involved.
        num_copies: How many they are.
        size_bytes: Their bytes.
        seconds: Predicted, one after the other; copies that cross no link count as nothing.
    """

    path: str
    num_copies: int
    size_bytes: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class ManyPlan:
    """
    How one call would copy the arrays of two structures.

    Attributes:
        shares: For each path that is taken, the copies that take it.
        num_packed: How many of them have a host array that NumPy packs or unpacks.
        num_layouts: How many arrays are copied after the others, item by item: GPU arrays with
            gaps, or in another memory order, and host arrays that lie differently.
    """

    shares: tuple[PathShare, ...]
    num_packed: int
    num_layouts: int

    def __str__(self) -> str:
        """Write it as a table, with a line for each path."""
        num_copies = sum(share.num_copies for share in self.shares)
        size_bytes = sum(share.size_bytes for share in self.shares)
        heading = {1: "1 copy"}.get(num_copies, f"{num_copies} copies")
        rows = [f"{heading}, {approximate_size(size_bytes)} in all"]
        width = max((len(share.path) for share in self.shares), default=0)
        rows += [
            f"   {share.path:<{width}} {share.num_copies:>7}  "
            f"{approximate_size(share.size_bytes):>10} {_time_of(share.seconds):>15}"
            for share in self.shares
        ]
        if self.num_packed:
            rows.append(f"   of these {self.num_packed} with the host's array packed by NumPy")
        if self.num_layouts:
            rows.append(f"and {counted(self.num_layouts, 'array')} item by item, after the others")
        return "\n".join(rows)


def many_plan_of(native: list[_native.PathShare], *, num_packed: int, num_layouts: int) -> ManyPlan:
    """Convert the native module's shares."""
    shares = tuple(PathShare(**_members_of(share, PathShare)) for share in native)
    return ManyPlan(shares=shares, num_packed=num_packed, num_layouts=num_layouts)


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
