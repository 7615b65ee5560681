"""Workloads kept in memory: generated once, run many times, by many threads at once."""

import json
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from isthmus.sim.points import SweepPoint
from isthmus.sim.policy import Kind
from isthmus.sim.running import check_setup, is_workload, open_source, run

if TYPE_CHECKING:
    from isthmus import _native
    from isthmus.sim.result import SimulationResult

# A program of Zhang 2019 takes at most some 100 MB; one of other sizes may take more.
_MAX_KEPT = 12
_MAX_KEPT_BYTES = 2 << 30
_Key = tuple[str, int, tuple[tuple[str, int], ...]]


class Library:
    """
    Provides sources of workloads.

    When there are too many, the least recently used is removed; runs that use it continue.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._locks: dict[_Key, threading.Lock] = {}
        self._kept: dict[_Key, _native.TraceRecording] = {}
        self._without_link: dict[str, SimulationResult] = {}

    def source(
        self, workload: str, seed: int, sizes: Mapping[str, int] | None = None
    ) -> "_native.TraceSource":
        """
        Open a workload, or a trace's file.

        Args:
            workload: The name of either.
            seed: Of a workload's inputs.
            sizes: A workload's sizes that aren't the usual ones.

        Raises:
            UsageError: It is neither, or doesn't have such sizes.
        """
        sizes = sizes or {}
        if not is_workload(workload):
            # Mapped into memory, so a second one takes no memory.
            return open_source(workload, sizes=sizes)
        key = (workload, seed, tuple(sorted(sizes.items())))
        with self._lock:
            making = self._locks.setdefault(key, threading.Lock())
        with making:
            recording = self._kept.get(key) or _record(workload, seed, sizes)
            with self._lock:
                self._kept.pop(key, None)
                self._kept[key] = recording
                self._remove_oldest()
        return recording.replay()

    def _remove_oldest(self) -> None:
        def is_too_much() -> bool:
            total_bytes = sum(one.size_bytes for one in self._kept.values())
            return len(self._kept) > _MAX_KEPT or total_bytes > _MAX_KEPT_BYTES

        while len(self._kept) > 1 and is_too_much():
            del self._kept[next(iter(self._kept))]

    def run(self, point: SweepPoint, go_on: Callable[[], bool]) -> "SimulationResult":
        """
        Run a point of a sweep, until it ends or `go_on` returns False.

        A run that differs from an earlier one only in a link that neither uses reuses its result.
        """
        name = _name_without_link(point)
        if name is not None and (earlier := self._without_link.get(name)) is not None:
            check_setup(point.setup)
            return earlier
        source = self.source(point.workload, point.seed, point.setup.sizes)
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


def _record(workload: str, seed: int, sizes: Mapping[str, int]) -> "_native.TraceRecording":
    from isthmus import _native

    return _native.TraceRecording(open_source(workload, seed, sizes))
