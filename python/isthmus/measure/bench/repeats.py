"""Measures a request in several fresh processes, and makes one run of their results."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from isthmus.measure.bench.derived.catalogue import derived
from isthmus.measure.bench.fresh_process import ProcessEnded, measure_in_fresh_process
from isthmus.measure.bench.invocation import Recorder, Request
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.runner import Observer
from isthmus.measure.compare.families import Subject, subject_of
from isthmus.measure.run.machine import LinkErrors, Machine
from isthmus.measure.run.model import Run
from isthmus.measure.run.result import Result, Status

# Fewer have no spread.
_FEWEST = 2
InProcess = Callable[[Request, Observer, Callable[[], bool]], Run]


def carry_out_repeatedly(
    request: Request,
    observer: Observer,
    should_stop: Callable[[], bool] = lambda: False,
    in_process: InProcess = measure_in_fresh_process,
    recorder: Recorder | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Run:
    """
    Measure a request in as many fresh processes as it asks for, one after the other, each with the
    whole budget, and merge them. If one fails after others had finished, the run is marked as
    interrupted and `warn` is told; of the first one, ProcessEnded is raised.
    """
    wanted = request.repeat or 1
    runs: list[Run] = []
    notes: list[str] = []
    for number in range(wanted):
        try:
            runs.append(in_process(request, _Numbered(observer, number, wanted), should_stop))
        except ProcessEnded as error:
            if not runs:
                raise
            notes.append(f"process {number + 1} of {wanted}: {error}")
            warn(f"warning: {notes[-1]}; the others are kept")
        if number == 0 and recorder is not None:
            _record(runs[0], recorder)
        if notes or runs[-1].run.interrupted:
            break
    return merged_run(request, runs, notes)


def _record(run: Run, recorder: Recorder) -> None:
    identity = run.run.model_copy(update={"interrupted": True})
    begun = run.model_copy(update={"run": identity, "results": []})
    recorder.begin(begun)
    recorder.add(run.results)


def merged_run(request: Request, runs: Sequence[Run], notes: Sequence[str] = ()) -> Run:
    """Make one run, with the first's id, of runs of one request in several processes."""
    first, last = runs[0], runs[-1]
    ended_early = bool(notes) or any(run.run.interrupted for run in runs)
    identity = first.run.model_copy(
        update={
            "finished_at": last.run.finished_at,
            "command": list(request.command),
            "interrupted": ended_early,
        }
    )
    results = _merged_results(request, runs)
    return first.model_copy(
        update={
            "run": identity,
            "machine": _merged_machine([run.machine for run in runs], notes),
            "options": first.options.model_copy(update={"repeat": request.repeat}),
            "results": [*results, *derived(results)],
        }
    )


@dataclass(frozen=True)
class _Numbered:
    """Tells an observer the place of a point among those of all processes."""

    observer: Observer
    number: int
    num_processes: int

    def point_started(self, index: int, total: int, point: Point) -> None:
        place = self.number * total + index
        self.observer.point_started(place, self.num_processes * total, point)

    def point_finished(self, point: Point, results: Sequence[Result]) -> None:
        self.observer.point_finished(point, results)


def _merged_results(request: Request, runs: Sequence[Run]) -> list[Result]:
    derived_metrics = {test.name: {m.value for m in test.derived} for test in request.tests}
    by_run: list[dict[Subject, Result]] = [
        {
            subject_of(result): result
            for result in run.results
            if result.metric not in derived_metrics.get(result.test, ())
        }
        for run in runs
    ]
    subjects = dict.fromkeys(subject for found in by_run for subject in found)
    return [merged_result([found.get(subject) for found in by_run]) for subject in subjects]


def merged_result(results: Sequence[Result | None]) -> Result:
    """
    Make one result of those of several processes, None where one has none: the first error, else
    the medians of those that passed, else the first waived one.
    """
    known = [result for result in results if result is not None]
    failed = next((result for result in known if result.status == Status.ERROR), None)
    passed = [result for result in known if result.status == Status.PASSED]
    if failed is not None or not passed:
        return failed or known[0]
    repeats = [result.median if result is not None else None for result in results]
    return passed[0].model_copy(
        update={**_statistics(passed), "repeats": repeats, "drift": drift_of(repeats)}
    )


def drift_of(medians: Iterable[float | None]) -> float | None:
    """Give the standard deviation of logarithms of positive numbers; None for fewer than two."""
    logarithms = [log(value) for value in medians if value is not None and value > 0]
    return statistics.stdev(logarithms) if len(logarithms) >= _FEWEST else None


def _statistics(passed: Sequence[Result]) -> dict[str, Any]:
    middle = ("median", "p99", "iqr", "mean", "cov", "first_call_s")
    found: dict[str, Any] = {name: _middle(passed, name) for name in middle}
    least, most = _values(passed, "min"), _values(passed, "max")
    sums = {name: sum(_values(passed, name)) for name in ("n", "num_outliers")}
    endings = [result.stopped_by for result in passed]
    reasons = [result.clock_reasons for result in passed if result.clock_reasons is not None]
    samples = [sample for result in passed for sample in result.samples or ()]
    return found | {
        "min": min(least, default=None),
        "max": max(most, default=None),
        "n": sums["n"],
        "num_outliers": sums["num_outliers"] if _values(passed, "num_outliers") else None,
        "stopped_by": next((end for end in endings if end != "noise"), endings[0]),
        "clock_reasons": sorted({r for own in reasons for r in own}) if reasons else None,
        "samples": samples or None,
    }


def _middle(passed: Sequence[Result], name: str) -> float | None:
    values = _values(passed, name)
    return statistics.median(values) if values else None


def _values(passed: Sequence[Result], name: str) -> list[Any]:
    return [value for result in passed if (value := getattr(result, name)) is not None]


def _merged_machine(machines: Sequence[Machine], notes: Sequence[str]) -> Machine:
    counted = [machine.link_errors for machine in machines if machine.link_errors is not None]
    windows = next((machine.windows for machine in machines if machine.windows is not None), None)
    every = dict.fromkeys(note for machine in machines for note in machine.notes)
    return machines[0].model_copy(
        update={
            "notes": [*every, *notes],
            "windows": windows,
            "link_errors": _summed(counted) if counted else None,
        }
    )


def _summed(counted: Sequence[LinkErrors]) -> LinkErrors:
    sums: dict[str, int | None] = {}
    for name in LinkErrors.model_fields:
        values = [value for errors in counted if (value := getattr(errors, name)) is not None]
        sums[name] = sum(values) if values else None
    return LinkErrors(**sums)
