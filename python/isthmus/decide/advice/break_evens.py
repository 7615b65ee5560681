"""Where one way becomes faster than another: over sizes, and over numbers of uses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from isthmus.decide.advice.interval import Interval
from isthmus.decide.advice.machine import MachineCosts
from isthmus.decide.advice.question import Question
from isthmus.decide.advice.ways import Name, Way, ways_of

# The grid in which a break-even is searched before it is halved, in steps for each power of two.
# Over the number of uses costs are straight lines, two of which cross once.
SIZE_STEPS, USE_STEPS = 8, 1
# A break-even is found to a hundredth of its value.
_PERCENT = 100


@dataclass(frozen=True, kw_only=True)
class BreakEven:
    """
    A break-even: here two ways take the same time.

    Attributes:
        at: The first value behind it: bytes, or uses.
        low: Where the spreads of both begin to meet; None: at or below the smallest value.
        high: Where they cease to meet; None: at or beyond the largest value.
        before: The faster way below.
        after: The faster way from here on.
    """

    at: int
    low: int | None
    high: int | None
    before: Name
    after: Name


@dataclass(frozen=True, kw_only=True)
class Range:
    """
    Values at which a way is faster than another.

    Attributes:
        first: Where they begin; None: at the smallest value.
        last: Where they end; None: they don't, up to the largest value.
    """

    first: BreakEven | None
    last: BreakEven | None


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


def ranges_faster(
    ranked: Ranked, first: int, last: int, challenger: Name, than: Name, steps: int = SIZE_STEPS
) -> list[Range]:
    """
    List the ranges, ascending, where `challenger` is faster than another way. Ranges between which
    the spreads of both meet are one; where they meet everywhere, there is none.
    """
    grid = _grid(first, last, steps)
    pair = _Pair(ranked=ranked, before=than, after=challenger)
    found: list[Range] = []
    for begin, end in _runs(grid, pair):
        opening = pair.break_even(grid, begin - 1) if begin > 0 else None
        back = replace(pair, before=challenger, after=than)
        closing = back.break_even(grid, end) if end + 1 < len(grid) else None
        found.append(Range(first=opening, last=closing))
    return found


def _runs(grid: Sequence[int], pair: "_Pair") -> list[tuple[int, int]]:
    """Give the first and last places of each run at which the later way is faster."""
    runs: list[tuple[int, int]] = []
    begin: int | None = None
    for index, value in enumerate(grid):
        if pair.is_faster(value):
            begin = index if begin is None else begin
        elif begin is not None:
            runs.append((begin, index - 1))
            begin = None
    if begin is not None:
        runs.append((begin, len(grid) - 1))
    joined: list[tuple[int, int]] = []
    for run in runs:
        between = grid[joined[-1][1] + 1 : run[0]] if joined else []
        if joined and all(pair.meet(value) for value in between):
            joined[-1] = (joined[-1][0], run[1])
        else:
            joined.append(run)
    return [
        run for run in joined if not all(pair.meet(value) for value in grid[run[0] : run[1] + 1])
    ]


def fastest_break_evens(ranked: Ranked, first: int, last: int) -> list[BreakEven]:
    """
    List where another way becomes the fastest, by more than the spread; one that is undone within
    an eighth of a power of two may be missed.
    """
    grid = [value for value in _grid(first, last, SIZE_STEPS) if ranked(value)]
    found: list[BreakEven] = []
    leader = ranked(grid[0])[0].name if grid else None
    since = 0
    for index, value in enumerate(grid):
        best = ranked(value)[0].name
        if leader is None or best == leader:
            continue
        pair = _Pair(ranked=ranked, before=leader, after=best)
        if pair.meet(value):
            continue
        slower = [place for place in range(since, index) if not pair.is_faster(grid[place])]
        found.append(pair.break_even(grid, slower[-1] if slower else max(since, index - 1)))
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

    def break_even(self, grid: Sequence[int], place: int) -> BreakEven:
        """Find the break-even behind a place of the grid, where the later way isn't faster yet."""
        at = _halved(grid[place], grid[place + 1], self.is_faster)
        return BreakEven(
            at=at,
            low=self._low(grid, place, at),
            high=self._high(grid, place + 1, at),
            before=self.before,
            after=self.after,
        )

    def _low(self, grid: Sequence[int], place: int, at: int) -> int | None:
        """Go down from a break-even, as long as the spreads meet."""
        while place >= 0 and self.meet(grid[place]):
            place -= 1
        above = at if place < 0 or grid[place + 1] > at else grid[place + 1]
        return None if place < 0 else _halved(grid[place], above, self.meet)

    def _high(self, grid: Sequence[int], place: int, at: int) -> int | None:
        """Go up from a break-even, as long as the spreads meet."""
        while place < len(grid) and self.meet(grid[place]):
            place += 1
        if place == len(grid):
            return None
        below = max(at, grid[place - 1])
        if not self.meet(below):
            return below
        return _halved(below, grid[place], lambda value: not self.meet(value))


def _halved(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Find the first value at which something holds, to a hundredth; it holds at `high`."""
    while high - low > max(1, low // _PERCENT):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _grid(first: int, last: int, steps: int) -> list[int]:
    values, value = {first, last}, float(first)
    while value < last:
        values.add(round(value))
        value *= 2 ** (1 / steps)
    return sorted(values)
