"""Workloads kept in memory: generated once, run many times, by many threads at once."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from isthmus.sim.points import Point
from isthmus.sim.running import is_workload, open_source, run

if TYPE_CHECKING:
    from isthmus import _native
    from isthmus.sim.result import SimulationResult

# A program of the paper takes at most some 100 MB.
_MOST_KEPT = 12


class Library:
    """
    Gives sources of workloads.

    What was used longest ago is forgotten when there are too many; runs over it go on.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._locks: dict[tuple[str, int], threading.Lock] = {}
        self._kept: dict[tuple[str, int], _native.TraceRecording] = {}

    def source(self, workload: str, seed: int) -> "_native.TraceSource":
        """
        Open a workload, or a trace's file.

        Raises:
            UsageError: It is neither.
        """
        if not is_workload(workload):
            # Mapped into memory, so a second one takes none.
            return open_source(workload)
        key = (workload, seed)
        with self._lock:
            making = self._locks.setdefault(key, threading.Lock())
        with making:
            recording = self._kept.get(key) or _record(workload, seed)
            with self._lock:
                self._kept.pop(key, None)
                self._kept[key] = recording
                while len(self._kept) > _MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
        return recording.replay()

    def run(self, point: Point, go_on: Callable[[], bool]) -> "SimulationResult":
        """Run a point of a sweep, until it ends or `go_on` says no."""
        return run(self.source(point.workload, point.seed), point.setup, poll=lambda _now: go_on())


def _record(workload: str, seed: int) -> "_native.TraceRecording":
    from isthmus import _native

    return _native.TraceRecording(open_source(workload, seed))
