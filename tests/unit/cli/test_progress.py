"""What is shown of a run while it is measured: lines in pipes, two lines that stay on terminals."""

import io
from collections.abc import Sequence

import pytest
from rich.console import Console
from rich.progress import Progress

from fakes.session import FakeSession, Watcher
from isthmus.cli.bench.bar import BenchBar
from isthmus.cli.bench.progress import Lines
from isthmus.cli.progress_bar import ProgressBar, bar_display, duration
from isthmus.errors import Unavailable
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.runner import RunSettings, run_points
from isthmus.measure.bench.tests.catalogue import BY_NAME, TESTS
from isthmus.measure.run.model import Result


class Clock:
    def __init__(self, step_s: float = 0.0) -> None:
        self.now = 100.0
        self.step_s = step_s

    def __call__(self) -> float:
        self.now += self.step_s
        return self.now


def follow(
    points: Sequence[Point],
    clock: Clock,
    seconds: float,
    session: FakeSession,
    num_processes: int = 1,
) -> None:
    """Measure points with lines, each of which takes so long, in each of several processes."""
    lines = Lines(points, num_processes, clock)
    for index, point in enumerate([*points] * num_processes):
        lines.point_started(index, num_processes * len(points), point)
        clock.now += seconds
        lines.point_finished(point, results_of(point, session))
    lines.end()


def results_of(point: Point, session: FakeSession) -> list[Result]:
    return run_points(session, [point], RunSettings(budget_s=1.0), Watcher()).results


def refusing(test: object, size_bytes: int) -> object:
    del test, size_bytes
    reason = "there is one here"
    raise Unavailable(capability="several GPUs", reason=reason, needs="two GPUs or more")


FEW = [Point(BY_NAME["host_to_device_memcpy_ce"], 4 << power) for power in range(3)]
BANDWIDTH = [Point(BY_NAME["host_to_device_memcpy_ce"], 4 << power) for power in range(20)]
LATENCY = [Point(BY_NAME["host_to_device_small_copy_async"], 4) for _ in range(15)]
MULTI = [Point(test, 4) for test in TESTS if test.suite == "multi"]


def test_of_a_few_points_each_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    follow(FEW, Clock(), 1.0, FakeSession())
    assert capsys.readouterr().err.splitlines() == [
        "[1/3]   1 s  host_to_device_memcpy_ce 4 B: 0.0004 GB/s",
        "[2/3]   2 s  host_to_device_memcpy_ce 8 B: 0.0008 GB/s",
        "[3/3]   3 s  host_to_device_memcpy_ce 16 B: 0.0016 GB/s",
    ]


def test_of_many_points_each_suite_has_a_line_and_every_ten_seconds_one_comes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    follow([*BANDWIDTH, *LATENCY], Clock(), 1.0, FakeSession())
    assert capsys.readouterr().err.splitlines() == [
        "[10/35]  10 s  bandwidth: host_to_device_memcpy_ce 2 KiB",
        "[20/35]  20 s  bandwidth: 20 points measured",
        "[30/35]  30 s  latency: host_to_device_small_copy_async 4 B",
        "[35/35]  35 s  latency: 15 points measured",
    ]


def test_a_suite_ends_in_each_of_several_processes(capsys: pytest.CaptureFixture[str]) -> None:
    follow([*BANDWIDTH, *LATENCY], Clock(), 0.125, FakeSession(), num_processes=2)
    assert capsys.readouterr().err.splitlines() == [
        "[20/70]   2 s  bandwidth: 20 points measured",
        "[35/70]   4 s  latency: 15 points measured",
        "[55/70]   7 s  bandwidth: 20 points measured",
        "[70/70]   9 s  latency: 15 points measured",
    ]


def test_what_was_waived_for_one_reason_is_one_line_however_many_tests_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = FakeSession(refusing)  # type: ignore[arg-type]
    assert len(MULTI) > 20
    follow([*MULTI, *MULTI], Clock(), 1.0, session)
    assert capsys.readouterr().err == (
        f"not measured: {len(MULTI)} tests, {2 * len(MULTI)} points: several GPUs unavailable: "
        "there is one here (needs two GPUs or more)\n"
    )


class FakeBar:
    def __init__(self) -> None:
        self.shown: list[tuple[float, str, str, float | None]] = []
        self.told: list[str] = []

    def show(self, part: float, counter: str, what: str, left_s: float | None = None) -> None:
        self.shown.append((round(part, 3), counter, what, left_s))

    def tell(self, text: str) -> None:
        self.told.append(text)


def test_a_bar_names_the_point_and_estimates_the_time_left_by_weight() -> None:
    clock, bar = Clock(), FakeBar()
    points = LATENCY[:4]
    observer = BenchBar(bar, points, 60.0, clock)
    for index, point in enumerate(points):
        observer.point_started(index, 4, point)
        clock.now += 2.0
        observer.point_finished(point, results_of(point, FakeSession()))
    what = "latency: host_to_device_small_copy_async 4 B"
    assert bar.shown == [
        (0.0, "0/4", "starting", 60.0),
        (0.0, "0/4", what, 60.0),
        (0.25, "1/4", what, pytest.approx(6.0)),
        (0.5, "2/4", what, pytest.approx(4.0)),
        (0.75, "3/4", what, pytest.approx(2.0)),
    ]


def test_the_time_left_is_never_more_than_was_promised() -> None:
    clock, bar = Clock(), FakeBar()
    observer = BenchBar(bar, LATENCY, 20.0, clock)
    clock.now += 15.0
    observer.point_finished(LATENCY[0], results_of(LATENCY[0], FakeSession()))
    observer.point_started(1, len(LATENCY), LATENCY[1])
    assert bar.shown[-1][-1] == pytest.approx(5.0)


def test_without_a_promise_only_the_estimate_is_shown() -> None:
    clock, bar = Clock(), FakeBar()
    observer = BenchBar(bar, LATENCY, None, clock)
    observer.point_started(0, len(LATENCY), LATENCY[0])
    assert bar.shown[-1][-1] is None
    clock.now += 1.0
    observer.point_finished(LATENCY[0], results_of(LATENCY[0], FakeSession()))
    observer.point_started(1, len(LATENCY), LATENCY[1])
    assert bar.shown[-1][-1] == pytest.approx(14.0)


def test_an_error_stays_above_the_bar() -> None:
    def broken(test: object, size_bytes: int) -> object:
        del test, size_bytes
        raise RuntimeError("it broke")

    bar = FakeBar()
    observer = BenchBar(bar, FEW, None)
    session = FakeSession(broken)  # type: ignore[arg-type]
    observer.point_finished(FEW[0], results_of(FEW[0], session))
    assert bar.told == ["error: host_to_device_memcpy_ce 4 B: it broke"]


def drawn(width: int, what: str, counter: str, left_s: float | None) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    clock = Clock()
    display: Progress = bar_display(console, clock)
    bar = ProgressBar(display, clock)
    bar.show(0.5, counter, what, left_s)
    with console.capture() as capture:
        console.print(display.get_renderable())
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_both_lines_keep_their_places_whatever_is_measured(width: int) -> None:
    long_name = "latency: " + max(BY_NAME, key=len) + " 1023 MiB, far node, 16 threads, cold"
    frames = [
        drawn(width, "short", "1/9", 3.0),
        drawn(width, long_name, "1000/1000", 3599.0),
        drawn(width, long_name, "", None),
    ]
    assert [len(frame) for frame in frames] == [2, 2, 2]
    assert all(len(line) <= width for frame in frames for line in frame)
    bars = {line.rindex("━") for line, _ in frames}
    assert len(bars) == 1
    assert frames[1][0].endswith("1000/1000      59:59 left")
    assert frames[1][1] == long_name[:width]


def test_a_duration_is_in_minutes_and_seconds() -> None:
    assert [duration(s) for s in (-1.0, 0.4, 59.6, 65.0, 3600.0)] == [
        "0:00",
        "0:00",
        "1:00",
        "1:05",
        "60:00",
    ]
