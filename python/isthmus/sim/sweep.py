"""Runs many points, in any order and anywhere, and keeps each as soon as it is finished."""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from isthmus.errors import Error
from isthmus.ground.spelling import writable
from isthmus.sim.axes import Axis
from isthmus.sim.points import Base, SweepPoint
from isthmus.sim.store import Row, SweepStore

if TYPE_CHECKING:
    from isthmus.sim.result import SimulationResult

# The longest time until Ctrl-C is noticed while points run.
_POLL_S = 0.1
RunPoint = Callable[[SweepPoint, Callable[[], bool]], "SimulationResult"]
"""Runs a point; the function returns whether to continue."""


class PointRunner(Protocol):
    """Runs points: here or elsewhere, several at a time."""

    def finished(
        self, points: Sequence[SweepPoint], should_stop: Callable[[], bool]
    ) -> Iterator[tuple[SweepPoint, Row]]:
        """
        Yield points with their numbers, or their error, as they finish, until all have or
        `should_stop` is true. They depend on nothing but the point.
        """


class Observer(Protocol):
    """Is told about the points of a sweep as they finish."""

    def point_finished(self, num_finished: int, total: int, point: SweepPoint, row: Row) -> None:
        """Take one."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a sweep."""

    num_finished: int
    num_reused: int
    num_failed: int
    num_points: int


def num_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0))


def sweep_identity(base: Base, axes: Sequence[Axis]) -> str:
    """Identify a sweep; two that differ in columns or base may not share a file."""
    names = sorted(axis.name for axis in axes)
    described = {**vars(base), "settings": dict(base.settings), "axes": names}
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def run_sweep(
    points: Sequence[SweepPoint],
    store: SweepStore,
    *,
    runner: PointRunner,
    observer: Observer,
    should_stop: Callable[[], bool],
) -> Outcome:
    """
    Run the points that the store lacks; if one fails, its row has the error, and the others
    continue. The calling thread tells the observer, and `should_stop` abandons those that are
    running.
    """
    todo = [point for point in points if point.key not in store]
    num_reused = len(points) - len(todo)
    num_finished = num_reused
    for point, numbers in runner.finished(todo, should_stop):
        row = {**columns_of(point), **numbers}
        store.add(point.key, row)
        num_finished += 1
        observer.point_finished(num_finished, len(points), point, row)
    rows = [store.row(point.key) for point in points if point.key in store]
    return Outcome(
        num_finished=num_finished,
        num_reused=num_reused,
        num_failed=sum(row["error"] is not None for row in rows),
        num_points=len(points),
    )


class Threads:
    """
    Runs points in threads of this process. The simulator releases the GIL, so they use all cores;
    and they share the traces.
    """

    def __init__(self, run: RunPoint, num_threads: int) -> None:
        """Use some threads."""
        self._run = run
        self._num_threads = num_threads

    def finished(
        self, points: Sequence[SweepPoint], should_stop: Callable[[], bool]
    ) -> Iterator[tuple[SweepPoint, Row]]:
        """Yield points with their numbers as they finish, until all have or it should stop."""
        stopped = threading.Event()
        waiting = iter(points)
        under_way: dict[Future[SimulationResult], SweepPoint] = {}

        def begin() -> None:
            for point in waiting:
                under_way[pool.submit(self._run, point, lambda: not stopped.is_set())] = point
                # One more than threads, so that no thread waits for this one.
                if len(under_way) > self._num_threads:
                    return

        with ThreadPoolExecutor(self._num_threads) as pool:
            try:
                begin()
                while under_way and not should_stop():
                    done, _ = wait(under_way, _POLL_S, FIRST_COMPLETED)
                    for future in done:
                        yield under_way.pop(future), _numbers_of(future)
                    begin()
            finally:
                stopped.set()
                for future in under_way:
                    future.cancel()


def columns_of(point: SweepPoint) -> Row:
    """Write a point's place as columns; quantities as numbers of B, B/s, ps and Hz."""
    columns: dict[str, str | int] = {
        "workload": writable(point.workload),
        "machine": point.setup.machine.name,
        "policy": point.setup.policy.name,
        "seed": point.seed,
    }
    for name, text in point.place.items():
        if "." in name:
            value = point.setup.value(name)
            columns[name] = value if isinstance(value, int) else writable(text)
    return columns


def _numbers_of(future: "Future[SimulationResult]") -> Row:
    """Give a point's numbers; or its error, if the point itself caused it."""
    try:
        return {"modelled": True, "error": None, **future.result().flat()}
    except Error as error:
        return {"modelled": True, "error": str(error)}
