"""
Spreads works over workers that come and go, until each is done once.

What a worker had when it was lost is done again, after the rest if it was under way. A worker that
gives something else than an answer is asked no more. Knows neither Dask nor what the works are.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from isthmus.errors import Error, UsageError
from isthmus.fleet.asking import words_of
from isthmus.fleet.waiting import Waiting
from isthmus.ground.spelling import MOST_SAID, counted, shortened

MAX_LOSSES = 4
"""A work that was under way so often when its worker was lost is given up: it may be the cause."""
WORKER_TIMEOUT_S = 60.0
"""So long there may be no worker: one that was lost may be started again."""
_LOOK_S = 1.0
# The longest time until Ctrl-C is noticed.
_POLL_S = 0.1
_GOES_ON = "what is finished is kept: the same command continues"
T = TypeVar("T")


class Workers(Protocol):
    """Workers that answer a list of texts, as JSON, with the list of their answers, as JSON."""

    def threads(self) -> Mapping[str, int]:
        """Give the workers that can be asked now, and how many questions each answers at once."""

    def ask(self, worker: str, text: str) -> int:
        """Ask a worker, and return at once; gives a number for the question."""

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        """Wait for answers, for so long if there are none; each with its question's number."""

    def forget(self, question: int) -> None:
        """Stop waiting for an answer."""


@dataclass(frozen=True)
class Work:
    """
    Something to be done by any worker, any number of times with the same answer.

    Attributes:
        kin: Works with the same one are best done by one worker, as far as there are others.
    """

    label: str
    text: str
    kin: str = ""


@dataclass
class _OpenQuestion:
    """
    A question that has no answer yet: where, and the works' places in the list.

    Attributes:
        begun_s: When the worker began it; None if it waits there for another one to end.
    """

    worker: str
    indices: tuple[int, ...]
    begun_s: float | None


@dataclass(kw_only=True)
class Spread:
    """
    Spreads works over some workers.

    Attributes:
        say: Gets a line about each worker that is lost or asked no more.
    """

    workers: Workers
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _here: Mapping[str, int] = field(default_factory=dict)
    _bad: dict[str, str] = field(default_factory=dict)
    """Worker that is asked no more -> why."""
    _asked: dict[int, _OpenQuestion] = field(default_factory=dict)
    """In the order in which they were asked."""
    _waiting: Waiting = field(default_factory=lambda: Waiting(()))
    _losses: Counter[int] = field(default_factory=Counter)
    _given_up: list[int] = field(default_factory=list)
    _looked_s: float | None = None
    _last_here_s: float = 0.0

    def results(
        self, works: Sequence[Work], read: Callable[[str], T], should_stop: Callable[[], bool]
    ) -> Iterator[tuple[int, T]]:
        """
        Do every work once, and yield each result as it comes, with its work's place in the list;
        raises Error if no worker is left. `read` raises UsageError for what is no answer.
        """
        self._waiting = Waiting([work.kin for work in works])
        self._last_here_s = self.clock()
        try:
            while (self._waiting or self._asked) and not should_stop():
                self._look()
                self._ask(works)
                for question, answer in self.workers.answers(_POLL_S):
                    asked = self._asked.get(question)
                    if asked is None:
                        continue
                    try:
                        found = [read(one) for one in _texts_of(answer, len(asked.indices))]
                    except UsageError as error:
                        self._trouble(asked, str(error))
                        continue
                    self._learn(question, asked)
                    yield from zip(asked.indices, found, strict=True)
        finally:
            for question in self._asked:
                self.workers.forget(question)
        if self._given_up and not should_stop():
            self._refuse_given_up(works)

    def _look(self, *, now: bool = False) -> None:
        """Learn which workers are here, and take back the work of those that were lost."""
        time_s = self.clock()
        if not now and self._looked_s is not None and time_s - self._looked_s < _LOOK_S:
            return
        self._looked_s = time_s
        here = self.workers.threads()
        for worker in {asked.worker: None for asked in self._asked.values()}:
            if worker not in here:
                self.say(f"lost: the worker at {worker}; its work is done again")
                self._take_back(worker, self._here.get(worker, 1))
        self._here = {worker: number for worker, number in here.items() if worker not in self._bad}
        if self._here:
            self._last_here_s = time_s
        elif here:
            last = list(self._bad.values())[-1]
            raise Error(f"no worker can be used; the last: {last}", hint=_GOES_ON)
        elif time_s - self._last_here_s > WORKER_TIMEOUT_S:
            raise Error(f"no worker was there for {WORKER_TIMEOUT_S:g} s", hint=_GOES_ON)

    def _ask(self, works: Sequence[Work]) -> None:
        under_way = Counter(asked.worker for asked in self._asked.values())
        for worker, number in self._here.items():
            # One more than it answers at once, so that it never waits for this process.
            for place in range(under_way[worker], number + 1):
                if not self._waiting:
                    return
                indices = self._waiting.take(worker, self._here)
                text = json.dumps([works[index].text for index in indices])
                begun_s = self.clock() if place < number else None
                self._asked[self.workers.ask(worker, text)] = _OpenQuestion(
                    worker, indices, begun_s
                )

    def _learn(self, question: int, asked: _OpenQuestion) -> None:
        """Note how long a question took, and that its worker begins the next one that it has."""
        now = self.clock()
        del self._asked[question]
        self._waiting.done(asked.indices, now - (now if asked.begun_s is None else asked.begun_s))
        for one in self._asked.values():
            if one.worker == asked.worker and one.begun_s is None:
                one.begun_s = now
                break

    def _trouble(self, asked: _OpenQuestion, why: str) -> None:
        """Ask a worker no more, unless it was lost, which is no fault of its answers."""
        self._look(now=True)
        if asked.worker not in self._here:
            return
        reason = shortened(why, most=MOST_SAID)
        self._bad[asked.worker] = reason
        self.say(f"asked no more: the worker at {asked.worker}: {reason}")
        self._take_back(asked.worker, 0)
        self._look(now=True)

    def _take_back(self, worker: str, num_under_way: int) -> None:
        """
        Let others do what a worker had; what was under way may be why it was lost, so it comes
        after all others.
        """
        had = {question: one for question, one in self._asked.items() if one.worker == worker}
        for place, (question, asked) in enumerate(had.items()):
            del self._asked[question]
            self.workers.forget(question)
            for index in reversed(asked.indices):
                self._losses[index] += place < num_under_way
                if not self._losses[index]:
                    self._waiting.put_back(index)
                elif self._losses[index] < MAX_LOSSES:
                    self._waiting.put_last(index)
                else:
                    self._given_up.append(index)

    def _refuse_given_up(self, works: Sequence[Work]) -> None:
        first = works[self._given_up[0]].label
        raise Error(
            f"{counted(len(self._given_up), 'point')} lost {MAX_LOSSES} workers each, and was given"
            f" up; the first: {first}",
            hint="a worker may need more memory for it; what is finished is kept",
        )


def _texts_of(answer: str | BaseException, number: int) -> list[str]:
    """Read the answers to some texts."""
    if isinstance(answer, BaseException):
        raise UsageError(words_of(answer))
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or len(found) != number:
        raise UsageError("what came back is no list of answers")
    return [str(one) for one in found]
