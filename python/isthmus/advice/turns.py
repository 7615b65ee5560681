"""At which size, and from how many uses on, another way becomes the fastest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from isthmus.advice.interval import Interval
from isthmus.advice.machine import MachineCosts
from isthmus.advice.question import Question
from isthmus.advice.ways import Name, Way, ways_of

# The grid in which a turn is searched before it is halved: eight steps for each power of two.
_STEPS = 8
# A turn is found to a hundredth of its value.
_PERCENT = 100


@dataclass(frozen=True, kw_only=True)
class Turn:
    """
    A break-even: from here on another way takes less time.

    Attributes:
        at: The first value at which it does: bytes, or uses.
        low: The first value at which the spreads of both meet.
        high: The last one.
        before: The fastest way below.
        after: The fastest way from here on.
    """

    at: int
    low: int
    high: int
    before: Name
    after: Name


Ranked = Callable[[int], Sequence[Way]]
"""Gives all ways at a size or a number of uses, the fastest first."""


def by_size(question: Question, costs: MachineCosts) -> Ranked:
    """Rank the ways of a question with another size; each size is worked out once."""

    @cache
    def ranked(size: int) -> Sequence[Way]:
        result = min(question.result_bytes, size)
        return ways_of(replace(question, size_bytes=size, result_bytes=result), costs)[0]

    return ranked


def by_uses(question: Question, costs: MachineCosts) -> Ranked:
    """Rank the ways of a question with another number of uses; each is worked out once."""

    @cache
    def ranked(uses: int) -> Sequence[Way]:
        return ways_of(replace(question, uses=uses), costs)[0]

    return ranked


def first_faster(
    ranked: Ranked, first: int, last: int, challenger: Name, than: Name
) -> Turn | None:
    """
    Find from which value on one way is faster than another, up to the last value.

    Args:
        ranked: Gives all ways at a value.
        first: The smallest value, at least 1.
        last: The largest one.
        challenger: The way that is to be faster.
        than: The way that it is compared with.

    Returns:
        The last change to its advantage: `first` if it is always faster; None if it isn't faster at
        `last`, or either isn't possible.
    """
    pair = _Pair(ranked=ranked, before=than, after=challenger)
    grid = _grid(first, last)
    if not pair.is_faster(last):
        return None
    slower = [value for value in grid if not pair.is_faster(value)]
    if not slower:
        return Turn(at=first, low=first, high=first, before=than, after=challenger)
    return pair.turn(grid, slower[-1])


def fastest_turns(ranked: Ranked, first: int, last: int) -> list[Turn]:
    """
    List where another way becomes the fastest, by more than the spread.

    Args:
        ranked: Gives all ways at a value.
        first: The smallest value, at least 1.
        last: The largest one.

    Returns:
        The changes, by ascending value. One that is undone within an eighth of a power of two
        may be missed.
    """
    grid = _grid(first, last)
    leader = ranked(first)[0].name
    found: list[Turn] = []
    since = 0
    for index, value in enumerate(grid):
        best = ranked(value)[0].name
        pair = _Pair(ranked=ranked, before=leader, after=best)
        if best == leader or pair.meet(value):
            continue
        slower = [one for one in grid[since:index] if not pair.is_faster(one)]
        found.append(pair.turn(grid, slower[-1] if slower else grid[max(since, index - 1)]))
        leader, since = best, index
    return found


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """Two ways that are compared at values."""

    ranked: Ranked
    before: Name
    after: Name

    def costs(self, value: int) -> tuple[Interval, Interval] | None:
        """Give the costs of both; None if one isn't possible."""
        costs = {way.name: way.cost for way in self.ranked(value)}
        if self.before not in costs or self.after not in costs:
            return None
        return costs[self.before], costs[self.after]

    def is_faster(self, value: int) -> bool:
        """Whether the later way takes less time."""
        costs = self.costs(value)
        return costs is not None and costs[1].seconds < costs[0].seconds

    def meet(self, value: int) -> bool:
        """Whether their spreads have a time in common."""
        costs = self.costs(value)
        return costs is not None and costs[0].overlaps(costs[1])

    def turn(self, grid: Sequence[int], slower: int) -> Turn:
        """Find the turn behind a value of the grid at which the later way is slower."""
        low, high = slower, grid[min(grid.index(slower) + 1, len(grid) - 1)]
        while high - low > max(1, low // _PERCENT):
            middle = (low + high) // 2
            low, high = (low, middle) if self.is_faster(middle) else (middle, high)
        first, last = self._meeting(grid, slower)
        return Turn(
            at=high,
            low=min(first, high),
            high=max(last, high),
            before=self.before,
            after=self.after,
        )

    def _meeting(self, grid: Sequence[int], around: int) -> tuple[int, int]:
        """Give the ends of the values around a turn at which the spreads meet."""
        index = grid.index(around)
        first, last = index + 1, index
        while first > 0 and self.meet(grid[first - 1]):
            first -= 1
        while last + 1 < len(grid) and self.meet(grid[last + 1]):
            last += 1
        return grid[min(first, len(grid) - 1)], grid[last]


def _grid(first: int, last: int) -> list[int]:
    values, value = {first, last}, float(first)
    while value < last:
        values.add(round(value))
        value *= 2 ** (1 / _STEPS)
    return sorted(values)
