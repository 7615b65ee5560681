from collections.abc import Callable
from math import log
from statistics import stdev

import pytest

from fakes import runs
from fakes.session import Watcher
from isthmus.measure.bench.fresh_process import ProcessEnded
from isthmus.measure.bench.invocation import Request
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.repeats import carry_out_repeatedly, drift_of, merged_result, merged_run
from isthmus.measure.bench.runner import Observer
from isthmus.measure.bench.tests.catalogue import TESTS
from isthmus.measure.run.machine import LinkErrors
from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.store import run_text

REQUEST = Request(tests=TESTS, repeat=3, command=["isthmus", "bench", "--repeat", "3"])
PASSED = next(r for r in runs.run().results if r.status == Status.PASSED and r.stopped_by)


def scaled(result: Result, factor: float) -> Result:
    numbers = {name: (getattr(result, name) or 0.0) * factor for name in ("median", "min", "max")}
    return result.model_copy(update=numbers)


def run_times(factor: float) -> Run:
    run = runs.run()
    results = [scaled(r, factor) if r.stopped_by else r for r in run.results]
    return run.model_copy(update={"results": results})


def test_a_result_has_the_medians_of_all_processes_in_their_order_and_their_drift() -> None:
    median = PASSED.median or 0.0
    found = merged_result([scaled(PASSED, factor) for factor in (1.0, 1.2, 1.1)])
    assert found.repeats == pytest.approx([median, 1.2 * median, 1.1 * median])
    assert found.median == pytest.approx(1.1 * median)
    assert found.min == pytest.approx(PASSED.min)
    assert found.max == pytest.approx(1.2 * (PASSED.max or 0.0))
    assert found.n == 3 * (PASSED.n or 0)
    assert found.drift == pytest.approx(stdev([log(1.0), log(1.2), log(1.1)]))


def test_a_process_without_the_result_has_null_in_its_place() -> None:
    waived = PASSED.model_copy(update={"status": Status.WAIVED, "median": None, "reason": "late"})
    found = merged_result([PASSED, None, waived])
    assert found.repeats == [PASSED.median, None, None]
    assert found.drift is None
    assert merged_result([None, waived]) is waived


def test_an_error_in_one_process_is_the_result() -> None:
    error = next(r for r in runs.run().results if r.status == Status.ERROR)
    assert merged_result([PASSED, error, PASSED]) is error


def test_drift_is_of_ratios_and_needs_two() -> None:
    assert drift_of([1.0]) is None
    assert drift_of([None, 0.0, 2.0]) is None
    assert drift_of([1.0, 1.0]) == 0.0
    assert drift_of([1e9, 1.01e9]) == pytest.approx(drift_of([1e-6, 1.01e-6]))


def test_a_merged_run_has_the_id_of_the_first_process_under_which_its_journal_was_begun() -> None:
    second = run_times(1.1)
    identity = second.run.model_copy(update={"id": "0badcafe"})
    run = merged_run(REQUEST, [run_times(1.0), second.model_copy(update={"run": identity})])
    assert run.run.id == runs.run().run.id


def test_a_merged_run_has_each_result_once_and_can_be_written_and_read() -> None:
    run = merged_run(REQUEST, [run_times(factor) for factor in (1.0, 1.1, 0.9)])
    assert len(run.results) == len(runs.run().results)
    assert run.options.repeat == 3
    assert run.run.command == list(REQUEST.command)
    assert not run.run.interrupted
    sampled = [r for r in run.results if r.stopped_by]
    assert {len(r.repeats or ()) for r in sampled} == {3}
    assert Run.model_validate_json(run_text(run)) == run


def test_what_is_derived_is_derived_from_the_merged_results() -> None:
    run = merged_run(REQUEST, [run_times(1.0), run_times(1.1)])
    derived = [r for r in run.results if r.metric.startswith("crossover")]
    assert derived
    assert {r.repeats for r in derived} == {None}


def test_the_link_s_errors_of_all_processes_are_counted() -> None:
    errors = LinkErrors(replays=2, correctable=None, nonfatal=0, fatal=None)
    run = runs.run()
    machine = run.machine.model_copy(update={"link_errors": errors})
    merged = merged_run(REQUEST, [run.model_copy(update={"machine": machine})] * 3)
    assert merged.machine.link_errors == LinkErrors(
        replays=6, correctable=None, nonfatal=0, fatal=None
    )


class Processes:
    """Measures in place of fresh processes; raises what it is given."""

    def __init__(self, *outcomes: Run | ProcessEnded) -> None:
        self.outcomes = list(outcomes)
        self.num_started = 0

    def __call__(self, request: Request, observer: Observer, stop: Callable[[], bool]) -> Run:
        assert request is REQUEST
        assert not stop()
        outcome = self.outcomes[self.num_started]
        self.num_started += 1
        point = Point(TESTS[0], 4)
        observer.point_started(0, 2, point)
        observer.point_finished(point, [])
        if isinstance(outcome, ProcessEnded):
            raise outcome
        return outcome


def test_all_processes_are_one_row_of_points_to_those_who_follow() -> None:
    watcher = Watcher()
    carry_out_repeatedly(REQUEST, watcher, in_process=Processes(*[runs.run()] * 3))
    assert [line.split()[0] for line in watcher.started] == ["0/6", "2/6", "4/6"]


def test_a_process_that_ends_after_others_loses_nothing_and_is_noted() -> None:
    processes = Processes(run_times(1.0), run_times(1.1), ProcessEnded("it was killed"))
    warnings: list[str] = []
    run = carry_out_repeatedly(REQUEST, Watcher(), in_process=processes, warn=warnings.append)
    assert warnings == ["warning: process 3 of 3: it was killed; the others are kept"]
    assert "process 3 of 3: it was killed" in run.machine.notes
    assert run.run.interrupted
    assert {len(r.repeats or ()) for r in run.results if r.stopped_by} == {2}


def test_a_first_process_that_ends_is_an_error() -> None:
    with pytest.raises(ProcessEnded, match="it was killed"):
        carry_out_repeatedly(
            REQUEST, Watcher(), in_process=Processes(ProcessEnded("it was killed"))
        )


def test_no_process_begins_after_one_that_was_interrupted() -> None:
    processes = Processes(runs.run(), runs.run(interrupted=True))
    run = carry_out_repeatedly(REQUEST, Watcher(), in_process=processes)
    assert processes.num_started == 2
    assert run.run.interrupted
