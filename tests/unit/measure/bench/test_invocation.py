import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from fakes import runs
from fakes.session import FakeMeasurement, FakeSession, Watcher, usual
from isthmus.errors import UsageError
from isthmus.measure.bench import invocation
from isthmus.measure.bench.demand import Limits
from isthmus.measure.bench.invocation import (
    EMULATED,
    REAL,
    Request,
    carry_out,
    plan_request,
    time_limits,
)
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.runner import Observer, Outcome, RunSettings, run_points
from isthmus.measure.bench.session import Session
from isthmus.measure.bench.tests.catalogue import TESTS, BenchTest
from isthmus.measure.run.machine import LinkErrors, Machine, WindowFacts
from isthmus.measure.run.model import Result, Run


@dataclass
class FakeSurroundings:
    session: FakeSession = field(default_factory=FakeSession)
    largest_bytes: int = 1 << 30
    window_setting: str | None = None

    def limits(self) -> Limits:
        return Limits(device_bytes=self.largest_bytes, host_bytes=self.largest_bytes)

    def check_windows(self) -> None:
        if self.window_setting is not None:
            raise UsageError(f"ISTHMUS_WINDOW is '{self.window_setting}'")

    def read_machine(self) -> Machine:
        return runs.machine(emulated=self.session.emulated)


REQUEST = Request(tests=TESTS, sizes=[4, 4096], command=["isthmus", "bench"])


def test_a_run_has_exactly_one_result_for_each_metric_of_each_point() -> None:
    surroundings = FakeSurroundings()
    plan = plan_request(REQUEST, surroundings)
    run = carry_out(REQUEST, plan, surroundings, Watcher())
    found = [(result.test, result.bytes, result.metric) for result in run.results]
    wanted = [
        (point.test.name, point.size_bytes, metric.value)
        for point in plan.points
        for metric in point.metrics
    ]
    assert found[: len(wanted)] == wanted
    derived = {metric for test in TESTS for metric in test.derived}
    assert {metric for _, _, metric in found[len(wanted) :]} <= derived
    assert not run.failed
    assert not run.run.interrupted


def test_a_run_says_when_with_what_and_how_it_was_asked_for() -> None:
    surroundings = FakeSurroundings()
    request = Request(tests=TESTS[:1], sizes=[4], device="0", budget_s=5.0, command=["isthmus"])
    run = carry_out(request, plan_request(request, surroundings), surroundings, Watcher())
    assert run.run.started_at <= run.run.finished_at
    assert run.run.command == ["isthmus"]
    assert (run.options.device, run.options.sizes, run.options.budget_s) == ("0", [4], 5.0)
    assert run.options.tests == ["host_to_device_memcpy_ce"]
    assert run.schema_version == 1


@pytest.mark.parametrize(
    ("emulated", "budget_s"), [(False, REAL.budget_s), (True, EMULATED.budget_s)]
)
def test_the_default_budget_is_that_of_the_device(emulated: bool, budget_s: float) -> None:
    surroundings = FakeSurroundings(FakeSession(emulated=emulated))
    run = carry_out(REQUEST, plan_request(REQUEST, surroundings), surroundings, Watcher())
    assert run.options.budget_s == budget_s


def test_two_runs_have_two_names() -> None:
    surroundings = FakeSurroundings()
    plan = plan_request(REQUEST, surroundings)
    names = {carry_out(REQUEST, plan, surroundings, Watcher()).run.id for _ in range(2)}
    assert len(names) == 2


def test_a_size_that_does_not_fit_is_refused_before_anything_runs() -> None:
    surroundings = FakeSurroundings(largest_bytes=1024)
    with pytest.raises(UsageError, match="4 KiB"):
        plan_request(REQUEST, surroundings)
    assert surroundings.session.calls == []


def test_a_setting_of_windows_that_cannot_be_is_refused_before_anything_runs() -> None:
    surroundings = FakeSurroundings(window_setting="nonsense")
    with pytest.raises(UsageError, match="nonsense"):
        plan_request(REQUEST, surroundings)
    assert surroundings.session.calls == []


def test_without_tests_of_windows_nobody_asks_for_their_settings() -> None:
    copies = [test for test in TESTS if "window" not in test.name]
    request = Request(tests=copies, sizes=[4], command=["isthmus"])
    assert plan_request(request, FakeSurroundings(window_setting="nonsense")).points


def test_an_interrupted_run_is_marked_and_whole_as_far_as_it_goes() -> None:
    surroundings = FakeSurroundings()
    plan = plan_request(REQUEST, surroundings)

    def should_stop() -> bool:
        return len(surroundings.session.rules) >= 3

    run = carry_out(REQUEST, plan, surroundings, Watcher(), should_stop)
    assert run.run.interrupted
    assert len(run.results) == 3


def test_a_run_with_an_error_has_failed_and_is_complete() -> None:
    def answer(test: BenchTest, size_bytes: int) -> FakeMeasurement:
        if size_bytes == 4096:
            raise RuntimeError("odd")
        return usual(test, size_bytes)

    surroundings = FakeSurroundings(FakeSession(answer))
    run = carry_out(REQUEST, plan_request(REQUEST, surroundings), surroundings, Watcher())
    assert run.failed
    copies = [result for result in run.results if not result.test.startswith("window")]
    assert {result.bytes for result in copies} >= {4, 4096}


def test_crossovers_are_results_too_and_follow_the_others() -> None:
    surroundings = FakeSurroundings()
    tests = [test for test in TESTS if test.name in {"window_write", "window_push"}]
    request = Request(tests=tests, sizes=[4, 1 << 20])
    run = carry_out(request, plan_request(request, surroundings), surroundings, Watcher())
    *_, pinned, pageable = [result for result in run.results if result.cpu_cache == "warm"]
    assert (pinned.metric, pageable.metric) == ("crossover_pinned", "crossover_pageable")
    assert {pinned.unit, pageable.unit} == {"B"}


def test_how_windows_were_opened_is_a_fact_of_the_machine() -> None:
    facts = WindowFacts(backend="rm", instructions="avx512")
    surroundings = FakeSurroundings(FakeSession(window_facts=facts))
    run = carry_out(REQUEST, plan_request(REQUEST, surroundings), surroundings, Watcher())
    assert run.machine.windows == facts


def test_what_went_wrong_on_the_link_between_a_run_s_beginning_and_end_is_kept() -> None:
    errors = LinkErrors(replays=12, correctable=None, nonfatal=None, fatal=None)
    surroundings = FakeSurroundings(FakeSession(errors=errors))
    run = carry_out(REQUEST, plan_request(REQUEST, surroundings), surroundings, Watcher())
    assert run.machine.link_errors == errors
    calls = surroundings.session.calls
    assert [calls[0], calls[-1], calls.count("link errors")] == ["link errors", "link errors", 2]


def test_without_a_link_nothing_is_said_of_its_errors() -> None:
    surroundings = FakeSurroundings(FakeSession(emulated=True))
    run = carry_out(REQUEST, plan_request(REQUEST, surroundings), surroundings, Watcher())
    assert run.machine.link_errors is None


def test_what_was_noted_on_the_way_is_in_the_machine_s_notes() -> None:
    surroundings = FakeSurroundings(FakeSession(notes=["no kernels: odd"]), largest_bytes=1 << 20)
    request = Request(tests=TESTS)
    run = carry_out(request, plan_request(request, surroundings), surroundings, Watcher())
    assert any("ends at 1 MiB" in note for note in run.machine.notes)
    assert "no kernels: odd" in run.machine.notes


@pytest.mark.parametrize(
    ("options", "emulated", "promised_s"),
    [
        ({}, False, 240.0),
        ({}, True, 30.0),
        ({"quick": True}, False, 15.0),
        ({"quick": True}, True, 15.0),
        ({"quick": True, "budget_s": 5.0}, False, 5.0),
        ({"budget_s": 5.0}, True, 5.0),
        ({"num_samples": 3}, False, None),
        ({"num_samples": 3, "budget_s": 5.0}, True, None),
    ],
)
def test_a_run_begins_no_point_after_the_promised_time_unless_its_samples_are_counted(
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, object],
    emulated: bool,
    promised_s: float | None,
) -> None:
    seen: list[RunSettings] = []

    def remember(
        session: Session, points: Sequence[Point], settings: RunSettings, observer: Observer
    ) -> Outcome:
        seen.append(settings)
        return run_points(session, points[:1], settings, observer)

    monkeypatch.setattr(invocation, "run_points", remember)
    request = dataclasses.replace(REQUEST, **options)  # type: ignore[arg-type]
    limits = time_limits(request, emulated=emulated)
    assert limits.promised_s == promised_s
    surroundings = FakeSurroundings(FakeSession(emulated=emulated))
    carry_out(request, plan_request(request, surroundings), surroundings, Watcher())
    (settings,) = seen
    assert (settings.budget_s, settings.latest_s) == (limits.budget_s, limits.latest_s)
    if promised_s is None:
        assert settings.latest_s is None
        assert "however long" in limits.words
    else:
        assert settings.budget_s < (settings.latest_s or 0.0) <= promised_s
        assert limits.words == f"at most {promised_s:g} s"


class Recorder:
    def __init__(self) -> None:
        self.begun: list[Run] = []
        self.added: list[Sequence[Result]] = []

    def begin(self, begun: Run) -> None:
        self.begun.append(begun)

    def add(self, results: Sequence[Result]) -> None:
        self.added.append(results)


def test_a_run_is_recorded_point_by_point_while_it_is_measured() -> None:
    surroundings, recorder = FakeSurroundings(), Recorder()
    plan = plan_request(REQUEST, surroundings)
    run = carry_out(REQUEST, plan, surroundings, Watcher(), recorder=recorder)
    (begun,) = recorder.begun
    assert len(recorder.added) == len(plan.points)
    assert (begun.run.id, begun.run.started_at) == (run.run.id, run.run.started_at)
    assert (begun.run.interrupted, begun.results) == (True, [])
    recorded = [result for results in recorder.added for result in results]
    assert recorded == run.results[: len(recorded)]


def test_a_slow_start_of_the_program_is_taken_off_the_time_of_the_measurements() -> None:
    usual = time_limits(REQUEST, emulated=True)
    late = time_limits(dataclasses.replace(REQUEST, spent_s=5.0), emulated=True)
    assert (usual.latest_s, late.latest_s) == (26.0, 21.0)
    assert late.budget_s == pytest.approx(21 / 26 * usual.budget_s)
    assert late.promised_s == usual.promised_s
    assert late.left_s(5.0) == 25.0
    very_late = time_limits(dataclasses.replace(REQUEST, spent_s=500.0), emulated=True)
    assert very_late.latest_s == 13.0
    assert very_late.left_s(500.0) == 0.0
