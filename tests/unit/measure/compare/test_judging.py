import random
from dataclasses import replace
from math import log

import pytest

from fakes.repeated_runs import Noise, repeated
from isthmus.measure.compare.comparison import TOLERANCE, compare
from isthmus.measure.compare.families import Family, family_of
from isthmus.measure.compare.judging import FALSE_ALARMS, STATED, Judgement, Verdict, judge_families
from isthmus.measure.compare.levels import Levels, costs_of, levels_of
from isthmus.measure.run.model import Run

GPU = Family(name="pinned", unit="B/s", clock="device")
CPU = Family(name="windows", unit="s", clock="host")


def judged(family: Family, before: list[float], after: list[float]) -> Judgement:
    levels = Levels(before=tuple(before), after=tuple(after), num_results=3)
    [judgement] = judge_families({family: levels}, 0.05)
    return judgement


def drawn(chance: random.Random, deviation: float, number: int = 5) -> tuple[float, ...]:
    return tuple(chance.gauss(0, deviation) for _ in range(number))


@pytest.mark.parametrize("deviation", [0.002, 0.02, 0.1, 0.5])
def test_unchanged_families_are_called_slower_in_at_most_one_comparison_of_a_hundred(
    deviation: float,
) -> None:
    """However large the drift is, because it is measured; twenty families at once."""
    chance = random.Random(16)  # noqa: S311 - no secret
    num_comparisons, alarms = 600, 0
    families = [Family(name=str(index), unit="s", clock="device") for index in range(20)]
    for _ in range(num_comparisons):
        levels = {
            family: Levels(
                before=drawn(chance, deviation), after=drawn(chance, deviation), num_results=1
            )
            for family in families
        }
        verdicts = {judgement.verdict for judgement in judge_families(levels, 0.05)}
        alarms += Verdict.SLOWER in verdicts
    assert alarms <= FALSE_ALARMS * num_comparisons


@pytest.mark.long
def test_a_loss_of_a_tenth_of_pinned_bandwidth_is_found_if_processes_differ_by_half_a_percent() -> (
    None
):
    chance = random.Random(16)  # noqa: S311 - no secret
    for _ in range(40):
        before = repeated(chance, Noise(processes=0.005))
        after = repeated(chance, Noise(processes=0.005), slower=1 / 0.9)
        found = {j.family.name: j.verdict for j in compare(before, after).judgements}
        assert found["pinned copies of 1 MiB and more, H2D"] == Verdict.SLOWER


def test_what_a_judgement_says_that_it_finds_it_finds() -> None:
    chance = random.Random(16)  # noqa: S311 - no secret
    found = 0
    for _ in range(300):
        before, after = drawn(chance, 0.02), drawn(chance, 0.02)
        said = judged(CPU, list(before), list(after))
        # A time that grows by this fraction.
        slowed = [level + 1.0 * said.found_from for level in after]
        found += judged(CPU, list(before), slowed).verdict == Verdict.SLOWER
    assert found >= 0.98 * 300


def test_a_change_within_the_tolerance_is_the_same_however_certain_it_is() -> None:
    assert judged(GPU, [0.0, 0.0001, 0.0], [0.045, 0.045, 0.0451]).verdict == Verdict.SAME
    assert judged(GPU, [0.0, 0.0001, 0.0], [0.052, 0.052, 0.0521]).verdict == Verdict.SLOWER
    assert judged(GPU, [0.0, 0.0001, 0.0], [0.105, 0.105, 0.1051]).verdict == Verdict.SLOWER
    assert judged(GPU, [0.105, 0.105, 0.1051], [0.0, 0.0001, 0.0]).verdict == Verdict.FASTER


def test_a_large_change_is_the_same_if_processes_differ_as_much() -> None:
    assert judged(CPU, [0.0, 0.5, 0.1], [0.4, 0.9, 0.3]).verdict == Verdict.SAME


def test_repeats_never_say_less_than_a_single_run_would() -> None:
    pageable = Family(name="pageable", unit="B/s", clock="host", staged=True, drift="staged")
    quiet = [-0.03, 0.0, 0.03]
    assert judged(pageable, quiet, [0.64 + one for one in quiet]).verdict == Verdict.SLOWER
    doubt = judged(pageable, quiet, [0.34 + one for one in quiet])
    assert (doubt.verdict, doubt.repeats_tell) == (Verdict.CANT_TELL, False)


def test_repeats_that_differ_widely_can_t_tell_what_a_loss_is_worth() -> None:
    pinned = replace(GPU, drift="pinned")
    doubt = judged(pinned, [0.0, 0.005, -0.005], [0.1, 0.36, 0.62])
    assert (doubt.verdict, doubt.repeats_tell) == (Verdict.CANT_TELL, True)


def test_a_change_is_told_in_the_unit_of_the_family() -> None:
    less = judged(GPU, [0.0, 0.001, 0.002], [0.105, 0.106, 0.107])
    assert less.change == pytest.approx(-0.0997, abs=1e-3)
    assert less.interval[0] < less.change < less.interval[1] < 0
    more = judged(CPU, [0.0, 0.001, 0.002], [0.105, 0.106, 0.107])
    assert more.change == pytest.approx(0.1107, abs=1e-3)


def test_without_repeats_a_stated_drift_is_assumed_and_said() -> None:
    alone = judged(GPU, [0.0], [0.02])
    assert (alone.measured, alone.drift) == (False, STATED["device"].most)
    half = judged(GPU, [0.0, 0.001, 0.002], [0.02])
    assert half.measured
    assert half.drift == pytest.approx(0.001)
    assert alone.found_from > half.found_from


def test_repeats_that_agree_by_chance_don_t_make_runs_comparable_to_any_digit() -> None:
    """What differs between runs, and not between processes of one, is in the error, too."""
    exact = judged(CPU, [0.0] * 5, [0.0] * 5)
    assert exact.reach >= 2 * STATED["host"].runs
    assert exact.drift == 0.0


def test_the_most_certain_family_is_judged_the_most_strictly() -> None:
    """Holm: with more families, a change has to be clearer."""
    levels = Levels(before=(0.0, 0.02, 0.04), after=(0.10, 0.12, 0.14), num_results=1)
    quiet = Levels(before=(0.0, 0.02, 0.04), after=(0.0, 0.02, 0.04), num_results=1)
    families = [replace(GPU, name=str(index)) for index in range(20)]
    alone = judge_families({families[0]: levels}, 0.05)
    crowd = judge_families({families[0]: levels} | dict.fromkeys(families[1:], quiet), 0.05)
    assert (alone[0].verdict, crowd[0].verdict) == (Verdict.SLOWER, Verdict.CANT_TELL)
    assert judge_families({}, 0.05) == []


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [
        (0.07, Verdict.SAME),
        (0.09, Verdict.CANT_TELL),
        (0.14, Verdict.SLOWER),
        (-0.09, Verdict.SAME),
        (-0.14, Verdict.FASTER),
    ],
)
def test_single_runs_are_judged_by_the_usual_drift_and_the_most_ever_seen(
    shift: float, verdict: Verdict
) -> None:
    assert judged(GPU, [0.0], [shift]).verdict == verdict


def test_a_tolerance_above_the_most_ever_seen_is_the_limit() -> None:
    levels = Levels(before=(0.0,), after=(0.2,), num_results=1)
    [judgement] = judge_families({GPU: levels}, 0.3)
    assert judgement.verdict == Verdict.SAME


def test_repeats_that_nearly_show_a_change_are_no_verdict() -> None:
    nearly = judged(GPU, [0.0, 0.02, 0.04], [0.05, 0.07, 0.09])
    assert nearly.verdict == Verdict.CANT_TELL


def test_a_loss_of_a_twentieth_is_found_with_five_processes_that_differ_by_one_percent() -> None:
    chance = random.Random(16)  # noqa: S311 - no secret
    found = 0
    for _ in range(300):
        before, after = drawn(chance, 0.01), drawn(chance, 0.01)
        slowed = Levels(before=before, after=tuple(one - log(0.95) for one in after), num_results=3)
        [judgement] = judge_families({GPU: slowed}, TOLERANCE)
        found += judgement.verdict != Verdict.SAME
    assert found >= 0.99 * 300


def run_of(seed: int) -> Run:
    chance = random.Random(seed)  # noqa: S311 - no secret
    return repeated(chance, Noise(processes=0.003))


def test_one_disturbed_result_doesn_t_move_its_family() -> None:
    before, after = run_of(1), run_of(2)
    family = "window writes"
    own = [r for r in after.results if (f := family_of(r)) and f.name.startswith(family)]
    repeats = [value * 3 for value in own[0].repeats or () if value is not None]
    disturbed = own[0].model_copy(update={"repeats": repeats})
    results = [disturbed if r is own[0] else r for r in after.results]
    found = compare(before, after.model_copy(update={"results": results})).judgements
    assert {j.verdict for j in found} == {Verdict.SAME}


def test_a_process_that_has_no_number_is_left_out() -> None:
    result = next(r for r in run_of(1).results if r.repeats)
    holes = result.model_copy(update={"repeats": [1.0, None, 0.0, -1.0, 1.0]})
    costs = costs_of(holes)
    assert costs is not None
    assert [cost is None for cost in costs] == [False, True, True, True, False]
    levels = levels_of([(holes, holes)])
    assert levels is not None
    assert len(levels.before) == 2
    nothing = result.model_copy(update={"repeats": [None, None]})
    assert costs_of(nothing) is None
    assert levels_of([(nothing, result)]) is None
