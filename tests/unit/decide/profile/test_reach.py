import pytest

from fakes.profiles import MIB, FakeCopies, identity
from isthmus.decide.profile.measuring import Measuring, measure_profile
from isthmus.decide.profile.model import CostPoint, Profile
from isthmus.decide.profile.plan import FULL, QUICK, Effort, all_ways
from isthmus.decide.profile.store import require_reach
from isthmus.errors import Unavailable


def measured(copies: FakeCopies, effort: Effort) -> Profile:
    return measure_profile(identity(), copies.open, effort, copies.clock)  # type: ignore[arg-type]


def refusal(copies: FakeCopies, effort: Effort) -> Unavailable:
    with pytest.raises(Unavailable) as caught:
        require_reach(measured(copies, effort), effort)
    return caught.value


@pytest.mark.parametrize("effort", [FULL, QUICK])
def test_what_is_measured_in_the_time_of_a_quiet_machine_is_enough(effort: Effort) -> None:
    require_reach(measured(FakeCopies(), effort), effort)


@pytest.mark.parametrize("slower", [3, 10, 20])
def test_a_busy_machine_takes_more_time_until_the_rates_are_known(slower: float) -> None:
    copies = FakeCopies(slower=slower)
    profile = measured(copies, QUICK)
    require_reach(profile, QUICK)
    assert profile.measurement.seconds < 2 * QUICK.budget_s


def test_short_copies_that_were_disturbed_leave_the_rates_to_longer_ones() -> None:
    copies = FakeCopies()
    measuring = Measuring(copies.open, QUICK, copies.clock, lambda *_: None)
    for way in all_ways():
        measuring.curves[way] = [
            CostPoint(bytes=4, seconds=0.02),
            CostPoint(bytes=MIB // 4, seconds=1e-4),
        ]
    measuring.measure_rates()
    assert {size for _, size in copies.asked} == {MIB}


def test_a_quick_profile_of_a_busy_machine_is_refused_and_says_what_to_do() -> None:
    error = refusal(FakeCopies(slower=3000), QUICK)
    assert "its copies ended at 4 B, and those of 1 MiB are needed" in str(error)
    assert "The time of 2 s was over before" in str(error)
    assert error.hint.startswith("run `isthmus profile` without --quick")


def test_a_long_one_that_is_refused_is_to_be_repeated_when_less_runs() -> None:
    error = refusal(FakeCopies(slower=3000), FULL)
    assert "The time of 10 s was over before" in str(error)
    assert error.hint.startswith("run `isthmus profile` again when less runs here")


def test_a_start_that_takes_all_time_leaves_more_for_what_shows_the_rates() -> None:
    class Late(FakeCopies):
        def open(self, max_bytes: int) -> FakeCopies:
            self.now += 100
            return super().open(max_bytes)

    copies = Late()
    require_reach(measured(copies, QUICK), QUICK)
    assert {size for _, size in copies.asked} == {4, MIB}


def test_a_device_with_little_memory_is_not_asked_for_longer_copies() -> None:
    require_reach(measured(FakeCopies(max_bytes=MIB), QUICK), QUICK)


def test_an_effort_of_short_copies_alone_asks_for_no_longer_ones() -> None:
    short = QUICK.up_to(65536)
    require_reach(measured(FakeCopies(), short), short)
