"""
Works that wait for a worker: which of them a worker is to get next, and how many at a time.

Works of one kin share what a worker makes for them once, such as a program's trace. So a worker
goes on with the kin that it has begun, then begins one that nobody has, and in the end helps others
with theirs.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import chain

# Of one question. Dask takes some 5 ms of CPU time for each (benchmarks/fleet).
_TOGETHER_S = 2.0
_MOST_TOGETHER = 64
# Near the end a question is this part of what each thread has left, so that all end together.
_PART = 0.25
# Of a kin that nobody has timed, for its works may take much longer than others.
_UNKNOWN = 0.25


class Waiting:
    """Works by their places in a list, until each was taken."""

    def __init__(self, kins: Sequence[str]) -> None:
        """Let all works wait, each with its kin."""
        self._kins = kins
        # The works that wait, by kin: of those that nobody has begun, and of the others.
        self._new: dict[str, deque[int]] = {}
        self._open: dict[str, deque[int]] = {}
        for index, kin in enumerate(kins):
            self._new.setdefault(kin, deque()).append(index)
        # Who has begun a kin, and perhaps has ended since.
        self._begun: dict[str, set[str]] = {}
        self._last: deque[int] = deque()
        self._number = len(kins)
        # Of the works of each kin that are done, and of all.
        self._num_done: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}
        self._all_seconds = 0.0

    def __len__(self) -> int:
        """Count the works that wait."""
        return self._number

    def take(self, worker: str, here: Mapping[str, int]) -> tuple[int, ...]:
        """
        Take works for one question: as many of one kin as take two seconds, near the end fewer, and
        of the next only if a kin has no more. At least one must wait; `here` says how many
        questions each worker answers at once.
        """
        room_s = min(_TOGETHER_S, _PART * self._left_s() / sum(here.values()))
        taken: list[int] = []
        while (kin := self._kin_for(worker, here)) is not None:
            number = min(self._fitting(kin, room_s), _MOST_TOGETHER - len(taken))
            if taken and number < 1:
                break
            some = self._taken_of(kin, worker, max(number, 1))
            taken += some
            room_s -= self._each_s(kin) * len(some)
            if kin in self._open:
                break
        if not taken:
            taken.append(self._last.popleft())
        self._number -= len(taken)
        return tuple(taken)

    def done(self, indices: Sequence[int], seconds: float) -> None:
        """Learn how long some works took that were taken together."""
        for index in indices:
            kin = self._kins[index]
            self._num_done[kin] += 1
            self._seconds[kin] = self._seconds.get(kin, 0.0) + seconds / len(indices)
        self._all_seconds += seconds

    def put_back(self, index: int) -> None:
        """Let a work wait again, before the others of its kin."""
        self._open.setdefault(self._kins[index], deque()).appendleft(index)
        self._number += 1

    def put_last(self, index: int) -> None:
        """Let a work wait until all others were taken; it is taken alone."""
        self._last.append(index)
        self._number += 1

    def _kin_for(self, worker: str, here: Mapping[str, int]) -> str | None:
        """Give a kin that has works: the worker's own, nobody's, or the one with most to do."""
        own = (kin for kin in self._open if worker in self._begun[kin])
        left = (kin for kin in self._open if self._begun[kin].isdisjoint(here))
        most = max(self._open, key=self._left_s_of, default=None)
        return next(chain(own, left, self._new), most)

    def _fitting(self, kin: str, room_s: float) -> int:
        """Give how many works fit into some seconds; of a kin that nobody has timed fewer."""
        if not self._seconds:
            return 0
        each_s = self._each_s(kin)
        if kin not in self._seconds:
            room_s *= _UNKNOWN
        return _MOST_TOGETHER if room_s >= each_s * _MOST_TOGETHER else int(room_s / each_s)

    def _taken_of(self, kin: str, worker: str, most: int) -> list[int]:
        if kin in self._new:
            self._open[kin] = self._new.pop(kin)
        self._begun.setdefault(kin, set()).add(worker)
        works = self._open[kin]
        taken = [works.popleft() for _ in range(min(most, len(works)))]
        if not works:
            del self._open[kin]
        return taken

    def _left_s(self) -> float:
        """Give what all works that wait take together, as far as that is known."""
        num_open = sum(map(len, self._open.values()))
        return sum(map(self._left_s_of, self._open)) + self._usual_s() * (self._number - num_open)

    def _left_s_of(self, kin: str) -> float:
        return len(self._open[kin]) * self._each_s(kin)

    def _each_s(self, kin: str) -> float:
        """Give what a work takes; of a kin that nobody has timed, what others take."""
        number = self._num_done[kin]
        return self._seconds[kin] / number if number else self._usual_s()

    def _usual_s(self) -> float:
        return self._all_seconds / max(self._num_done.total(), 1)
