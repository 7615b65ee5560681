"""What copies cost after a pause."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from isthmus.decide.profile.lifetimes import timing_of
from isthmus.decide.profile.model import CostPoint, Path, Way
from isthmus.decide.profile.plan import FIRST_COPIES, GROUPS, HOPELESS, Effort, Group
from isthmus.ground.sizes import format_size

TimesAfterPause = Callable[[Sequence[Way], int, Effort], Mapping[Way, Sequence[float]]]
"""Measures copies of one size by several paths of one group, each after a pause, in turns."""
Guesses = Callable[[Group, int], Mapping[Way, float]]
"""Predicts one copy by each path of a group; 0: unknown."""


def measure_pauses(
    times: TimesAfterPause,
    guesses: Guesses,
    effort: Effort,
    left: Callable[[], float],
    watch: Callable[[str, float], None],
) -> dict[Way, list[CostPoint]]:
    """
    Measure copies after a pause, by ascending size, where copies without one (`guesses`) were
    measured. What a pause costs on a shared machine changes within a second, so each size is
    visited several times, unless a visit would take more than the time that is left.
    """
    seconds: dict[tuple[Way, int], list[float]] = defaultdict(list)
    for _ in range(effort.pause_visits):
        for size in effort.pause_sizes:
            for group in GROUPS:
                ways = _worth_it(guesses(group, size))
                turns = effort.pause_turns + FIRST_COPIES + 1  # the comparison in the end
                wall_s = turns * (len(ways) * effort.pause_s + sum(ways.values()))
                if not ways or wall_s > left():
                    continue
                what = f"{group.direction.upper()} {group.host_memory} {format_size(size)}"
                watch(what + " after pauses", left())
                for way, found in times(list(ways), size, effort).items():
                    seconds[way, size] += found
    curves: dict[Way, list[CostPoint]] = {}
    for (way, size), each in sorted(seconds.items(), key=lambda one: one[0][1]):
        point = CostPoint(bytes=size, **timing_of(each).model_dump())
        curves.setdefault(way, []).append(point)
    return curves


def _worth_it(guesses: Mapping[Way, float]) -> dict[Way, float]:
    """Choose the driver's path, and those that pauses may make the cheapest."""
    # Pinning is used only by name.
    known = {way: one for way, one in guesses.items() if one > 0 and way.path != Path.REGISTERED}
    most = HOPELESS * min(known.values(), default=0)
    return {way: one for way, one in known.items() if one <= most or way.path == Path.DRIVER}
