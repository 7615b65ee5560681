"""Workloads kept in memory: generated once, run many times, by many threads at once."""

import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from isthmus.sim.points import SweepPoint
from isthmus.sim.policy import Kind
from isthmus.sim.running import check_setup, is_workload, open_source, run

if TYPE_CHECKING:
    from isthmus import _native
    from isthmus.sim.result import SimulationResult

# A program of Zhang 2019 takes at most some 100 MB.
_MAX_KEPT = 12


class Library:
    """
    Provides sources of workloads.

    When there are too many, the least recently used is removed; runs that use it continue.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._locks: dict[tuple[str, int], threading.Lock] = {}
        self._kept: dict[tuple[str, int], _native.TraceRecording] = {}
        self._without_link: dict[str, SimulationResult] = {}

    def source(self, workload: str, seed: int) -> "_native.TraceSource":
        """
        Open a workload, or a trace's file.

        Raises:
            UsageError: It is neither.
        """
        if not is_workload(workload):
            # Mapped into memory, so a second one takes no memory.
            return open_source(workload)
        key = (workload, seed)
        with self._lock:
            making = self._locks.setdefault(key, threading.Lock())
        with making:
            recording = self._kept.get(key) or _record(workload, seed)
            with self._lock:
                self._kept.pop(key, None)
                self._kept[key] = recording
                while len(self._kept) > _MAX_KEPT:
                    del self._kept[next(iter(self._kept))]
        return recording.replay()

    def run(self, point: SweepPoint, go_on: Callable[[], bool]) -> "SimulationResult":
        """
        Run a point of a sweep, until it ends or `go_on` returns False.

        A run that differs from an earlier one only in a link that neither uses reuses its result.
        """
        name = _name_without_link(point)
        if name is not None and (earlier := self._without_link.get(name)) is not None:
            check_setup(point.setup)
            return earlier
        source = self.source(point.workload, point.seed)
        result = run(source, point.setup, poll=lambda _now: go_on())
        if name is not None:
            self._without_link[name] = result
        return result


def _name_without_link(point: SweepPoint) -> str | None:
    """
    Identify a run by everything that decides its result; None if that includes the link.

    Nothing is copied in the ideal mode. A file may change before the next run, so it has no name.
    """
    if point.setup.policy.kind is not Kind.IDEAL or not is_workload(point.workload):
        return None
    described = point.setup.model_dump(mode="json")
    del described["machine"]["link"]
    return json.dumps([point.workload, point.seed, described], sort_keys=True)


def _record(workload: str, seed: int) -> "_native.TraceRecording":
    from isthmus import _native

    return _native.TraceRecording(open_source(workload, seed))
