import pytest

from isthmus.measure.bench.demand import Demand, Limits
from isthmus.measure.bench.invocation import QUICK
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.plan import Point, plan_points, select_tests
from isthmus.measure.bench.runner import Budget
from isthmus.measure.bench.tests.catalogue import BY_NAME, Suite

TEST = BY_NAME["host_to_device_memcpy_ce"]
POINTS = [Point(TEST, 4), Point(TEST, 1 << 20), Point(TEST, 1 << 30)]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_shares_that_are_used_up_exactly_spend_the_budget_exactly() -> None:
    clock = Clock()
    budget = Budget(60.0, POINTS, clock)
    for point in POINTS:
        clock.now += budget.share(point) or 0.0
    assert clock.now == pytest.approx(160.0)


def test_shares_are_by_weight() -> None:
    budget = Budget(60.0, POINTS, Clock())
    total = sum(point.weight for point in POINTS)
    assert budget.share(POINTS[0]) == pytest.approx(60.0 * POINTS[0].weight / total)


def test_what_is_left_unused_goes_to_the_points_after() -> None:
    clock = Clock()
    budget = Budget(60.0, POINTS, clock)
    shares = [budget.share(point) for point in POINTS]
    assert shares[-1] == pytest.approx(60.0)


def test_an_overrun_leaves_the_others_less_but_never_nothing() -> None:
    clock = Clock()
    budget = Budget(60.0, POINTS, clock)
    budget.share(POINTS[0])
    clock.now += 1000
    assert 0 < (budget.share(POINTS[1]) or 0.0) < 0.1


def test_more_points_than_were_announced_still_get_a_share() -> None:
    budget = Budget(60.0, POINTS[:1], Clock())
    assert budget.share(POINTS[0]) == pytest.approx(60.0)
    assert (budget.share(POINTS[1]) or 0.0) > 0


def after(clock: Clock, budget: Budget, seconds: float) -> list[bool]:
    """Ask for every point, each of which takes so long; whether there is time for it."""
    found = []
    for point in SWEEP:
        found.append(budget.share(point) is not None)
        clock.now += seconds if found[-1] else 0.0
    return found


SWEEP = [Point(test, 4) for test in (TEST, BY_NAME["device_to_host_memcpy_ce"]) for _ in range(10)]


def test_a_run_that_keeps_to_its_plan_measures_every_point() -> None:
    clock = Clock()
    budget = Budget(20.0, SWEEP, clock, latest_s=24.0)
    assert all(after(clock, budget, 1.0))
    assert not budget.is_over()


def test_a_run_that_is_behind_leaves_out_points_in_the_middle_of_every_test() -> None:
    clock = Clock()
    found = after(clock, Budget(20.0, SWEEP, clock, latest_s=24.0), 2.0)
    assert found.count(False) > 5
    assert all(found[index] for index in (0, 9, 10, 19))
    assert set(found[1:9]) == {False, True}
    assert set(found[11:19]) == {False, True}
    assert clock.now - 100.0 <= 24.0 + 2.0


def test_a_run_that_is_far_behind_still_measures_something_of_every_suite() -> None:
    clock = Clock()
    later = [Point(BY_NAME[name], 4) for name in ("window_write", "host_memcpy") for _ in range(9)]
    points = [*SWEEP, *later]
    budget = Budget(20.0, points, clock, latest_s=24.0)
    found = []
    for point in points:
        found.append(budget.share(point) is not None)
        clock.now += 4.0 if found[-1] else 0.0
    assert all(found[index] for index in (0, 20, 29))
    assert found.count(True) < 10


def test_after_the_last_moment_nothing_begins() -> None:
    clock = Clock()
    budget = Budget(20.0, SWEEP, clock, latest_s=24.0)
    assert after(clock, budget, 25.0) == [True] + [False] * 19
    assert budget.is_over()


def test_without_a_last_moment_every_point_is_measured_however_late() -> None:
    clock = Clock()
    assert all(after(clock, Budget(20.0, SWEEP, clock), 1000.0))


def quick_run(num_gpus: int, overhead_s: float) -> tuple[list[tuple[Point, bool]], float]:
    """
    Play a quick run in which every sampling takes its time, and each point so much more.

    Returns:
        The points, each with whether there was time for it; and when the last one ended.
    """
    limits = Limits(device_bytes=1 << 36, host_bytes=1 << 36, num_cores=16, num_gpus=num_gpus)
    points = plan_points(select_tests(), Demand(limits=limits, quick=True)).points
    clock = Clock()
    budget = Budget(QUICK.budget_s, points, clock, latest_s=QUICK.latest_s)
    found = []
    for point in points:
        share_s = budget.share(point)
        found.append((point, share_s is not None))
        if share_s is not None and point.weight > 0:
            rule = point.test.stopping(point.size_bytes, point.variation, share_s, emulated=False)
            # Of several GPUs, what is measured under load is measured alone before.
            under_load = point.test.suite == Suite.MULTI and Metric.ALONE in point.metrics
            clock.now += overhead_s + (3 * rule.max_seconds if under_load else share_s)
    return found, clock.now - 100.0


def test_a_quick_run_of_two_gpus_measures_every_point_of_theirs_within_its_time() -> None:
    _, seconds = quick_run(2, overhead_s=0.0)
    assert seconds == pytest.approx(QUICK.budget_s)
    found, seconds = quick_run(2, overhead_s=0.01)
    assert [point.label for point, measured in found if not measured] == []
    assert seconds < (QUICK.latest_s or 0.0)


@pytest.mark.parametrize("overhead_s", [0.01, 0.02, 0.03])
def test_a_quick_run_of_two_gpus_has_what_one_of_one_gpu_has(overhead_s: float) -> None:
    one, two = (
        {
            (point.test.name, point.size_bytes, point.variation)
            for point, measured in quick_run(num_gpus, overhead_s)[0]
            if measured and point.test.suite != Suite.MULTI
        }
        for num_gpus in (1, 2)
    )
    assert one <= two


def test_what_several_gpus_need_is_refused_on_one_for_want_of_them_and_not_of_time() -> None:
    found, _ = quick_run(1, overhead_s=0.2)
    assert all(measured for point, measured in found if point.test.suite == Suite.MULTI)
