import pytest

from isthmus.bench.budget import Budget
from isthmus.bench.plan import Point
from isthmus.bench.tests.catalogue import BY_NAME

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
        clock.now += budget.share(point)
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
    assert 0 < budget.share(POINTS[1]) < 0.1


def test_more_points_than_were_announced_still_get_a_share() -> None:
    budget = Budget(60.0, POINTS[:1], Clock())
    assert budget.share(POINTS[0]) == pytest.approx(60.0)
    assert budget.share(POINTS[1]) > 0
