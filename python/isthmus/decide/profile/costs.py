"""What a profile predicts, and which path is the cheapest up to which size."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isthmus.decide.profile.model import Cost, CostPoint, Path, Profile
from isthmus.decide.profile.plan import cheapest

# The resolution of crossovers: steps of 2 %.
_STEP = 1.02


@dataclass(frozen=True, kw_only=True)
class Reign:
    """Sizes at which one path is the cheapest."""

    path: Path
    last_bytes: int
    seconds: float


def seconds_at(points: Sequence[CostPoint], size_bytes: int) -> float:
    """
    Predict one copy, as the native core does: straight lines between points of one curve, the first
    cost below the first, and beyond the last the last line's slope, but at least in proportion to
    the last.
    """
    return on_line(
        [point.bytes for point in points], [point.seconds for point in points], size_bytes
    )


def on_line(sizes: Sequence[int], seconds: Sequence[float], size_bytes: int) -> float:
    """Predict one copy, as `seconds_at` does, from the sizes and the times of a curve."""
    after = bisect_right(sizes, size_bytes)
    if after == 0 or len(sizes) == 1:
        return seconds[0]
    beyond = after == len(sizes)
    last = after - 1 if beyond else after
    first = last - 1
    slope = (seconds[last] - seconds[first]) / (sizes[last] - sizes[first])
    line = seconds[first] + slope * (size_bytes - sizes[first])
    return max(seconds[last] * size_bytes / sizes[last], line) if beyond else line


def reigns(profile: Profile, direction: str, host_memory: str) -> list[Reign]:
    """List the cheapest paths by ascending size; none if nothing was measured."""
    curves = {
        cost.path: cost
        for cost in profile.costs
        if (cost.direction, cost.host_memory) == (direction, host_memory)
    }
    found: list[Reign] = []
    for size in _sizes(curves.values()):
        # A path that wasn't measured at small sizes isn't worthwhile there.
        costs = {
            path: seconds_at(cost.points, size)
            for path, cost in curves.items()
            if cost.points[0].bytes <= size
        }
        path = cheapest(costs, direction)
        if path is None:
            continue
        reign = Reign(path=path, last_bytes=size, seconds=costs[path])
        if found and found[-1].path == path:
            found[-1] = reign
        else:
            found.append(reign)
    return found


def _sizes(costs: Iterable[Cost]) -> list[int]:
    measured = {point.bytes for cost in costs for point in cost.points}
    if not measured:
        return []
    size, between = float(min(measured)), set[int]()
    while size < max(measured):
        between.add(round(size))
        size *= _STEP
    return sorted(measured | between)


def lower_of(point: CostPoint, before: list[CostPoint]) -> CostPoint:
    """Keep the lower of two measurements, with a spread that covers both."""
    both = [point, *before]
    lows = [one.low_seconds for one in both if one.low_seconds is not None]
    highs = [one.high_seconds for one in both if one.high_seconds is not None]
    spread = {"low_seconds": min(lows, default=None), "high_seconds": max(highs, default=None)}
    return min(both, key=lambda one: one.seconds).model_copy(update=spread)
