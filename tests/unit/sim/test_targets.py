import pytest

from isthmus.sim.paper.targets import TARGETS, Rule, Target, Verdict, judge


def target(rule: Rule, theirs: float) -> Target:
    return Target(name="T", quantity="", theirs=theirs, said="", rule=rule)


def test_all_targets_of_the_paper_are_there() -> None:
    names = [one.name.rstrip("abcd") for one in TARGETS]
    assert list(dict.fromkeys(names)) == [f"T{number}" for number in range(1, 17)]


def test_a_loss_of_a_percentage_is_a_ratio_and_no_factor() -> None:
    first, second = TARGETS[:2]
    assert first.theirs == pytest.approx(1 / (1 - 0.9862), abs=0.3)
    assert second.theirs == pytest.approx(1 / (1 - 0.9872), abs=0.3)


def test_the_headline_ratios_follow_from_the_means() -> None:
    by_name = {one.name: one.theirs for one in TARGETS}
    assert by_name["T16a"] == pytest.approx(by_name["T1"] / by_name["T4"], abs=0.01)
    assert by_name["T16b"] == pytest.approx(by_name["T1"] / by_name["T6"], abs=0.01)
    assert by_name["T16c"] == pytest.approx(by_name["T2"] / by_name["T5"], rel=0.01)
    assert by_name["T16d"] == pytest.approx(by_name["T2"] / by_name["T7"], rel=0.01)


@pytest.mark.parametrize(
    ("theirs", "ours", "verdict"),
    [
        (1.3, 1.3, Verdict.MATCHED),
        (1.3, 1.42, Verdict.MATCHED),
        (1.3, 1.44, Verdict.DIRECTION),
        (1.3, 50.0, Verdict.DIRECTION),
        (1.106, 1.004, Verdict.NO_EFFECT),
        (1.3, 0.99, Verdict.NO_EFFECT),
        (1.3, 0.9, Verdict.NOT_MATCHED),
        (0.775, 0.84, Verdict.MATCHED),
        (0.775, 0.92, Verdict.DIRECTION),
        (0.775, 0.99, Verdict.NO_EFFECT),
        (0.775, 1.01, Verdict.NO_EFFECT),
        (0.775, 1.1, Verdict.NOT_MATCHED),
        (72.72, 1.46, Verdict.NO_EFFECT),
        (72.72, 10.0, Verdict.DIRECTION),
    ],
)
def test_a_ratio_is_matched_within_a_tenth_or_has_its_side_of_one(
    theirs: float, ours: float, verdict: Verdict
) -> None:
    assert judge(target(Rule.RATIO, theirs), [ours]) is verdict


def test_a_ratio_that_should_rise_is_not_matched_by_falling_to_the_number() -> None:
    rises = target(Rule.RISES, 78.1)
    assert judge(rises, [78.0], beside=90.0) is Verdict.NOT_MATCHED
    assert judge(rises, [78.0], beside=72.0) is Verdict.MATCHED
    assert judge(rises, [60.0], beside=50.0) is Verdict.DIRECTION


def test_a_rate_has_no_direction() -> None:
    assert judge(target(Rule.RATE, 0.65), [0.61]) is Verdict.MATCHED
    assert judge(target(Rule.RATE, 0.65), [0.2]) is Verdict.NOT_MATCHED


def test_what_should_be_above_or_below_is() -> None:
    assert judge(target(Rule.ABOVE, 1.5), [3.0]) is Verdict.MATCHED
    assert judge(target(Rule.ABOVE, 1.5), [1.2]) is Verdict.DIRECTION
    assert judge(target(Rule.ABOVE, 1.5), [0.9]) is Verdict.NOT_MATCHED
    assert judge(target(Rule.BELOW, 0.05), [0.01, 0.04]) is Verdict.MATCHED
    assert judge(target(Rule.BELOW, 0.05), [0.01, 0.06]) is Verdict.NOT_MATCHED


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([1.0, 1.5, 2.0], Verdict.MATCHED),
        ([1.0, 0.9, 1.4], Verdict.DIRECTION),
        ([1.0, 5.0, 6.0], Verdict.DIRECTION),
        ([1.0, 1.2, 0.8], Verdict.NOT_MATCHED),
    ],
)
def test_growth_rises_with_each_step_and_by_less_than_in_proportion(
    ours: list[float], verdict: Verdict
) -> None:
    assert judge(target(Rule.GROWS, 1.0), ours, axis=[1, 4, 16]) is verdict


def test_what_is_not_there_is_not_scored() -> None:
    assert judge(target(Rule.RATIO, 1.0), []) is Verdict.NOT_SCORED


def test_every_target_that_may_be_missed_has_an_argument() -> None:
    assert all(one.argument for one in TARGETS)
