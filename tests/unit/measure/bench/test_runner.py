import pytest

from fakes.session import FakeMeasurement, FakeSamples, FakeSession, Watcher, usual
from isthmus.errors import (
    CODES_THAT_END_A_CONTEXT,
    CorruptTransfer,
    DriverError,
    OutOfDeviceMemory,
    Unavailable,
)
from isthmus.measure.bench.demand import StoppingRule
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.runner import Budget, Outcome, RunSettings, run_points
from isthmus.measure.bench.tests.catalogue import (
    BY_NAME,
    BenchTest,
    HostMemory,
    Residence,
    SmallCopyTest,
    Variation,
)
from isthmus.measure.run.model import Status

H2D = BY_NAME["host_to_device_memcpy_ce"]
D2H = BY_NAME["device_to_host_memcpy_ce"]
ASYNC = BY_NAME["host_to_device_small_copy_async"]
POINTS = [Point(H2D, 4), Point(H2D, 4096), Point(D2H, 4), Point(D2H, 4096)]


def run(session: FakeSession, points: list[Point] = POINTS, **settings: object) -> Outcome:
    return run_points(session, points, RunSettings(budget_s=1.0, **settings), Watcher())  # type: ignore[arg-type]


def rule_of(point: Point, *, emulated: bool) -> StoppingRule:
    return point.test.stopping(point.size_bytes, point.variation, 0.6, emulated=emulated)


def driver_error(code: int = 999, kind: type[DriverError] = DriverError) -> DriverError:
    return kind("cuMemcpy failed", code=code, code_name=f"CUDA_ERROR_{code}", symbol="cuMemcpy")


def fail_once(error: Exception, test: BenchTest = H2D, size: int = 4) -> FakeSession:
    def answer(asked: BenchTest, size_bytes: int) -> FakeMeasurement:
        if (asked, size_bytes) == (test, size):
            raise error
        return usual(asked, size_bytes)

    return FakeSession(answer)


def test_points_run_in_order_and_neighbours_share_buffers_of_the_largest_size() -> None:
    session = FakeSession()
    run(session, [*POINTS, Point(BY_NAME["device_to_host_memcpy_pageable"], 8), Point(ASYNC, 4)])
    assert session.calls == [
        "allocate pinned 4096",
        "measure host_to_device_memcpy_ce 4",
        "measure host_to_device_memcpy_ce 4096",
        "measure device_to_host_memcpy_ce 4",
        "measure device_to_host_memcpy_ce 4096",
        "allocate pageable 8",
        "measure device_to_host_memcpy_pageable 8",
        "measure host_to_device_small_copy_async 4",
    ]


def test_bandwidth_is_bytes_over_seconds_and_the_fastest_copy_is_the_maximum() -> None:
    session = FakeSession(lambda *_: FakeMeasurement([FakeSamples("copy_time", [2.0, 1.0, 4.0])]))
    (result,) = run(session, [Point(H2D, 4096)]).results
    assert (result.metric, result.unit) == ("bandwidth", "B/s")
    assert (result.min, result.median, result.max) == (1024.0, 2048.0, 4096.0)
    assert (result.n, result.copies_per_sample, result.stopped_by) == (3, 4, "noise")
    assert (result.first_call_s, result.verified_on) == (0.5, "device")
    assert result.host_pages_by_node == {0: 16}
    assert result.samples is None


def test_raw_samples_are_kept_on_request_in_the_result_s_unit() -> None:
    session = FakeSession(lambda *_: FakeMeasurement([FakeSamples("copy_time", [2.0, 1.0])]))
    (result,) = run(session, [Point(H2D, 4096)], keep_samples=True).results
    assert result.samples == [2048.0, 4096.0]


def test_a_small_copy_yields_every_metric_under_its_own_name() -> None:
    results = run(FakeSession(), [Point(ASYNC, 4)]).results
    assert [result.metric for result in results] == [
        "api_return",
        "completion",
        "event_delta",
        "event_floor",
        "reciprocal_throughput",
        "visible",
    ]
    assert {result.unit for result in results} == {"s"}


def test_a_metric_that_the_device_waives_is_waived_with_its_reason() -> None:
    def answer(test: BenchTest, size_bytes: int) -> FakeMeasurement:
        found = usual(test, size_bytes)
        return FakeMeasurement(found.samples[:-1], waived={"visible": "needs NVRTC"})

    last = run(FakeSession(answer), [Point(ASYNC, 4)]).results[-1]
    assert (last.metric, last.status, last.reason) == ("visible", Status.WAIVED, "needs NVRTC")


def test_a_metric_without_samples_is_never_silently_skipped() -> None:
    results = run(FakeSession(lambda *_: FakeMeasurement([])), [Point(H2D, 4)]).results
    assert [(result.status, result.reason) for result in results] == [
        (Status.WAIVED, "the measurement gave no samples")
    ]


def test_a_driver_error_is_that_point_s_result_and_the_rest_still_run() -> None:
    outcome = run(fail_once(driver_error()))
    statuses = [result.status for result in outcome.results]
    assert statuses == [Status.ERROR, Status.PASSED, Status.PASSED, Status.PASSED]
    error = outcome.results[0].error
    assert error is not None
    assert (error.symbol, error.code, error.code_name) == ("cuMemcpy", 999, "CUDA_ERROR_999")
    assert not outcome.interrupted


@pytest.mark.parametrize(
    "error",
    [CorruptTransfer("byte 17 differs"), RuntimeError("odd"), MemoryError(), OSError(12, "no")],
)
def test_other_failures_of_a_point_carry_no_code(error: Exception) -> None:
    result = run(fail_once(error)).results[0]
    assert result.status == Status.ERROR
    assert result.error is not None
    assert result.error.code is None
    assert result.error.message


@pytest.mark.parametrize("code", sorted(CODES_THAT_END_A_CONTEXT))
def test_after_an_error_that_kills_the_context_nothing_more_is_tried(code: int) -> None:
    session = fail_once(driver_error(code), H2D, 4096)
    results = run(session).results
    assert [result.status for result in results] == [Status.PASSED, *[Status.ERROR] * 3]
    assert session.calls[-1] == "measure host_to_device_memcpy_ce 4096"
    messages = [result.error.message for result in results[1:] if result.error]
    assert not messages[0].startswith("not run")
    assert all(message.startswith("not run, the device was lost") for message in messages[1:])


@pytest.mark.parametrize("code", [46, 100, 101, 304, 999])
def test_a_device_that_has_gone_answers_nothing_more_and_nothing_more_is_asked(code: int) -> None:
    class Gone(FakeSession):
        def free_device_bytes(self) -> int:
            raise driver_error(code)

    results = run(Gone(fail_once(driver_error(code), H2D, 4096).answer)).results
    assert [result.status for result in results] == [Status.PASSED, *[Status.ERROR] * 3]
    messages = [result.error.message for result in results[2:] if result.error]
    assert all(message.startswith("not run, the device was lost") for message in messages)


def test_each_result_says_what_held_the_clocks_down() -> None:
    assert {r.clock_reasons for r in run(FakeSession()).results} == {None}
    (result,) = run(FakeSession(clocks=["sw_power_cap"]), POINTS[:1]).results
    assert result.clock_reasons == ["sw_power_cap"]
    (result,) = run(FakeSession(clocks=[]), POINTS[:1]).results
    assert result.clock_reasons == []


def test_outliers_are_reported_and_not_dropped() -> None:
    seconds = [1.0, 1.01, 1.02, 1.03, 1.04, 9.0]
    session = FakeSession(lambda *_: FakeMeasurement([FakeSamples("copy_time", seconds)]))
    (result,) = run(session, POINTS[:1]).results
    assert (result.num_outliers, result.n) == (1, 6)
    assert result.min == pytest.approx(4 / 9.0)


def test_buffers_that_do_not_fit_fail_only_those_who_need_them() -> None:
    def refuse(memory: HostMemory) -> None:
        if memory == HostMemory.PINNED:
            raise driver_error(2, OutOfDeviceMemory)

    pageable = Point(BY_NAME["host_to_device_memcpy_pageable"], 4)
    results = run(FakeSession(refuse=refuse), [*POINTS[:2], pageable]).results
    assert [result.status for result in results] == [Status.ERROR, Status.ERROR, Status.PASSED]


def test_a_device_lost_while_allocating_fails_everything_after_it() -> None:
    def refuse(memory: HostMemory) -> None:
        del memory
        raise driver_error(719)

    session = FakeSession(refuse=refuse)
    results = run(session).results
    assert {result.status for result in results} == {Status.ERROR}
    assert session.calls == ["allocate pinned 4096"]


def test_what_is_unavailable_is_waived_not_failed() -> None:
    absent = Unavailable(capability="gate", reason="no wait", needs="a driver for CUDA 12.3")
    result = run(fail_once(absent)).results[0]
    assert result.status == Status.WAIVED
    assert result.reason is not None
    assert "CUDA 12.3" in result.reason


@pytest.mark.parametrize("impossible", [0.0, -1.0, float("nan"), float("inf")])
def test_a_clock_that_gives_impossible_times_is_an_error_not_a_number(impossible: float) -> None:
    session = FakeSession(lambda *_: FakeMeasurement([FakeSamples("copy_time", [1, impossible])]))
    (result,) = run(session, [Point(H2D, 4)]).results
    assert result.status == Status.ERROR
    assert result.error is not None
    assert "impossible times" in result.error.message


@pytest.mark.parametrize(
    ("seconds", "possible"),
    [
        (0.0, {"event_delta", "event_floor"}),
        (-1e-9, set()),
    ],
)
def test_no_latency_is_negative_and_only_events_may_see_nothing(
    seconds: float, possible: set[str]
) -> None:
    def answer(test: BenchTest, size_bytes: int) -> FakeMeasurement:
        del size_bytes
        return FakeMeasurement([FakeSamples(metric, [1e-6, seconds]) for metric in test.metrics])

    results = run(FakeSession(answer), [Point(ASYNC, 4)]).results
    assert {result.metric for result in results if result.status == Status.PASSED} == possible
    assert {result.status for result in results} <= {Status.PASSED, Status.ERROR}


@pytest.mark.parametrize(
    ("name", "clocks", "gated"),
    [
        ("host_to_device_memcpy_ce", {"bandwidth": "device"}, {"bandwidth"}),
        ("host_to_device_memcpy_pageable", {"bandwidth": "host"}, set()),
        (
            "device_to_host_small_copy_async",
            {"completion": "host", "visible": "host", "event_delta": "device"},
            {"event_delta", "event_floor"},
        ),
        (
            "device_to_host_small_copy_blocking",
            {"api_return": "host", "reciprocal_throughput": "host", "event_floor": "device"},
            set(),
        ),
    ],
)
def test_every_result_says_whose_clock_timed_it_and_whether_behind_a_gate(
    name: str, clocks: dict[str, str], gated: set[str]
) -> None:
    results = run(FakeSession(), [Point(BY_NAME[name], 4)]).results
    found = {result.metric: result.clock for result in results}
    assert found == found | clocks
    assert {result.metric for result in results if result.blocked} == gated


def test_every_small_copy_reports_every_latency_if_only_to_waive_it() -> None:
    small = [test for test in BY_NAME.values() if isinstance(test, SmallCopyTest)]
    assert len({test.metrics for test in small}) == 1
    assert len(small[0].metrics) == 6


def test_when_the_time_is_over_what_is_left_is_waived_and_nothing_is_allocated_for_it() -> None:
    session = FakeSession()
    outcome = run(session, latest_s=0.0)
    assert session.calls == []
    assert not outcome.interrupted
    assert {result.status for result in outcome.results} == {Status.WAIVED}
    assert {result.reason for result in outcome.results} == {
        "no time left within 0 s: a longer --budget, or fewer tests or sizes, measures it"
    }
    assert {r.status for r in run(FakeSession(), latest_s=1e9).results} == {Status.PASSED}


def test_a_reserve_that_is_used_up_is_not_called_a_time_that_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Budget, "share", lambda *_: None)
    [reason] = {result.reason for result in run(FakeSession(), latest_s=1e9).results}
    assert reason is not None
    assert reason.startswith("no time left, since earlier points")
    assert "used up the reserve" in reason


def test_so_many_samples_as_were_asked_for_are_taken_and_verified_unless_that_was_refused() -> None:
    session = FakeSession()
    run(session, num_samples=7, verify=False)
    assert {(r.min_samples, r.max_samples, r.verify) for r in session.rules} == {(7, 7, False)}
    usual_rules = FakeSession()
    run(usual_rules)
    assert all(rule.verify and rule.max_samples > 7 for rule in usual_rules.rules)


def test_a_stop_keeps_what_is_finished() -> None:
    session = FakeSession()

    def should_stop() -> bool:
        return len(session.rules) >= 2

    outcome = run(session, should_stop=should_stop)
    assert outcome.interrupted
    assert [result.bytes for result in outcome.results] == [4, 4096]


def test_a_stop_before_the_first_point_allocates_nothing() -> None:
    session = FakeSession()
    assert run(session, should_stop=lambda: True) == Outcome([], interrupted=True)
    assert session.calls == []


def test_an_observer_hears_of_every_point() -> None:
    watcher = Watcher()
    run_points(FakeSession(), POINTS, RunSettings(budget_s=1.0), watcher)
    assert watcher.started[0] == "0/4 host_to_device_memcpy_ce 4"
    assert len(watcher.started) == len(watcher.finished) == 4


WRITE = BY_NAME["window_write"]
COLD = Variation(cpu_cache="cold")
SHARED = Variation(num_threads=4)


def test_windows_bring_their_own_buffers() -> None:
    session = FakeSession()
    run(session, [Point(WRITE, 4), Point(WRITE, 64, COLD), Point(H2D, 4)])
    assert session.calls == [
        "measure window_write 4",
        "measure window_write 64, cold",
        "allocate pinned 4",
        "measure host_to_device_memcpy_ce 4",
    ]


def test_a_window_s_results_say_in_which_circumstances_they_were_measured() -> None:
    results = run(FakeSession(), [Point(WRITE, 64, COLD), Point(WRITE, 1024, SHARED)]).results
    found = [(r.metric, r.cpu_cache, r.num_threads, r.source, r.target) for r in results]
    assert found == [
        ("fenced", "cold", 1, "pageable", "device"),
        ("memcpy_pinned", "cold", 1, "pinned", "device"),
        ("memcpy_pageable", "cold", 1, "pageable", "device"),
        ("fenced", "warm", 4, "pageable", "device"),
    ]
    assert {(r.clock, r.blocked, r.verified_on) for r in results} == {("host", False, "host")}


def test_a_round_trip_s_ends_are_its_flags() -> None:
    variation = Variation(question=Residence.DEVICE, answer=Residence.PINNED, data=Residence.DEVICE)
    (result,) = run(FakeSession(), [Point(BY_NAME["window_ping_pong"], 64, variation)]).results
    assert (result.source, result.target, result.data) == ("device", "pinned", "device")
    assert result.direction is None


def test_the_bandwidth_of_a_window_is_bytes_over_seconds() -> None:
    test = BY_NAME["window_bandwidth_write"]
    session = FakeSession(
        answer_window=lambda *_: FakeMeasurement([FakeSamples("copy_time", [2.0, 1.0, 4.0])])
    )
    (result,) = run(session, [Point(test, 4096, Variation(cpu_node="near"))]).results
    assert (result.median, result.unit, result.cpu_node) == (2048.0, "B/s", "near")


def test_without_windows_every_metric_is_waived_with_the_reason_and_none_fails() -> None:
    def answer(*_: object) -> FakeMeasurement:
        raise Unavailable(capability="windows", reason="off", needs="ISTHMUS_WINDOW unset")

    outcome = run(FakeSession(answer_window=answer), [Point(WRITE, 4), Point(H2D, 4)])
    *windows, copy = outcome.results
    assert [result.metric for result in windows] == [metric.value for metric in WRITE.metrics]
    assert {result.status for result in windows} == {Status.WAIVED}
    assert all("windows unavailable: off" in (result.reason or "") for result in windows)
    assert copy.status == Status.PASSED


def test_every_point_is_sampled_at_least_three_times_and_within_its_share() -> None:
    for point in (*POINTS, Point(ASYNC, 4), Point(WRITE, 4), Point(WRITE, 1 << 24, COLD)):
        for emulated in (True, False):
            rule = rule_of(point, emulated=emulated)
            assert 3 <= rule.min_samples <= rule.max_samples
            assert rule.max_seconds * len(point.metrics) <= 0.6001


def test_a_window_s_life_gets_its_whole_share_since_each_is_a_sample_of_every_metric() -> None:
    rule = rule_of(Point(BY_NAME["window_lifecycle"], 1 << 16), emulated=False)
    assert rule.max_seconds == 0.6


def test_what_the_session_noted_is_handed_on() -> None:
    assert run(FakeSession(notes=["no kernels: odd"])).notes == ("no kernels: odd",)
