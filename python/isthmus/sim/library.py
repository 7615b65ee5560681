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
    from isthmus.sim.settings import Setup

# A program of Zhang 2019 takes at most some 100 MB; one of other sizes may take more.
_MAX_KEPT = 12
_MAX_KEPT_BYTES = 2 << 30
# Some 10 KB each: more than the runs of an evaluation with one input.
_MAX_RESULTS = 1024
_Key = tuple[str, int, tuple[tuple[str, int], ...]]


class Library:
    """
    Runs points of sweeps; equal runs once. Workloads are generated once. When there are too many,
    the least recently used is removed; runs that use it continue. Runs of traces' files are never
    taken for equal: a file may change.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._locks: dict[_Key, threading.Lock] = {}
        self._kept: dict[_Key, _native.TraceRecording] = {}
        self._results: dict[str, SimulationResult] = {}

    def run(self, point: SweepPoint, go_on: Callable[[], bool]) -> "SimulationResult":
        """
        Run a point of a sweep, until it ends or `go_on` returns False; a run that differs from an
        earlier one only in what can't change the result reuses it.
        """

        def poll(_now: int) -> bool:
            return go_on()

        setup = point.setup
        if not is_workload(point.workload):
            # Mapped into memory, so a second one takes no memory.
            return run(open_source(point.workload, sizes=setup.sizes), setup, poll=poll)
        recording = self.recording(point.workload, point.seed, setup.sizes)
        name = _identity(recording, setup, with_link=True)
        without_link = _identity(recording, setup, with_link=False)
        if earlier := self._results.get(name) or self._results.get(without_link):
            check_setup(setup)
            return earlier
        result = run(recording.replay(), setup, poll=poll)
        with self._lock:
            self._results[without_link if _ignores_link(setup, result) else name] = result
            if len(self._results) > _MAX_RESULTS:
                del self._results[next(iter(self._results))]
        return result

    def recording(
        self, workload: str, seed: int, sizes: Mapping[str, int] | None = None
    ) -> "_native.TraceRecording":
        """Give a workload's trace in memory, of its usual sizes but those given."""
        sizes = sizes or {}
        key = (workload, seed, tuple(sorted(sizes.items())))
        with self._lock:
            making = self._locks.setdefault(key, threading.Lock())
        with making:
            recording = self._kept.get(key) or _record(workload, seed, sizes)
            with self._lock:
                self._kept.pop(key, None)
                self._kept[key] = recording
                self._remove_oldest()
        return recording

    def _remove_oldest(self) -> None:
        def is_too_much() -> bool:
            total_bytes = sum(one.size_bytes for one in self._kept.values())
            return len(self._kept) > _MAX_KEPT or total_bytes > _MAX_KEPT_BYTES

        while len(self._kept) > 1 and is_too_much():
            del self._kept[next(iter(self._kept))]


# Only copies use the link under these, and no part of the machine asks what it would take.
_LINK_FOR_COPIES = {Kind.IDEAL, Kind.PROGRAMMER, Kind.OVERLAPPED}


def _ignores_link(setup: "Setup", result: "SimulationResult") -> bool:
    """Whether any other link of the same latency, which even a copy of nothing takes, gives it."""
    return setup.policy.kind in _LINK_FOR_COPIES and result.link_busy_ps == (0, 0)


def _identity(recording: "_native.TraceRecording", setup: "Setup", *, with_link: bool) -> str:
    """Identify a run by everything that decides its result, or by all of that but the link."""
    described = setup.model_dump(mode="json", exclude={"sizes"})
    link = described["machine"]["link"]
    if not with_link:
        # No copy is made in the ideal mode, not even one of nothing.
        is_ideal = setup.policy.kind is Kind.IDEAL
        described["machine"]["link"] = None if is_ideal else {"latency": link["latency"]}
    return json.dumps([recording.digest, described], sort_keys=True)


def _record(workload: str, seed: int, sizes: Mapping[str, int]) -> "_native.TraceRecording":
    from isthmus import _native

    return _native.TraceRecording(open_source(workload, seed, sizes))
