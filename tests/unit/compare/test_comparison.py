from collections.abc import Callable

import pytest

from fakes import runs
from isthmus.compare.comparison import compare
from isthmus.compare.families import family_of
from isthmus.compare.judging import Verdict
from isthmus.compare.machines import differences, identity_of
from isthmus.compare.subject import subject_of
from isthmus.errors import UsageError
from isthmus.report.answers.comparison import comparison_text
from isthmus.run.model import Result, Run, Status

Edit = Callable[[Result], dict[str, object]]


def edited(edit: Edit, *, emulated: bool = False) -> Run:
    """A run whose results were changed; those that didn't pass stay as they are."""
    run = runs.run(emulated=emulated)
    results = [
        result.model_copy(update=edit(result)) if result.status == Status.PASSED else result
        for result in run.results
    ]
    return run.model_copy(update={"results": results})


def verdicts(before: Run, after: Run, tolerance: float = 0.05) -> dict[str, set[Verdict]]:
    """The verdicts of families by clock."""
    found: dict[str, set[Verdict]] = {}
    for judgement in compare(before, after, tolerance).judgements:
        found.setdefault(judgement.family.clock, set()).add(judgement.verdict)
    return found


def test_a_run_is_the_same_as_itself_in_every_result_that_was_measured() -> None:
    run = runs.run()
    comparison = compare(run, run)
    passed = [r for r in run.results if r.status == Status.PASSED and r.stopped_by is not None]
    assert len(comparison.changes) == len(passed)
    assert {change.verdict for change in comparison.changes} == {Verdict.SAME, None}
    assert {judgement.verdict for judgement in comparison.judgements} == {Verdict.SAME}
    assert (comparison.num_only_before, comparison.num_only_after) == (0, 0)
    assert not comparison.regressed


def cost(factor: float) -> Edit:
    """Let everything take so many times as long."""

    def edit(result: Result) -> dict[str, object]:
        rate = result.unit == "B/s"
        return {"median": (result.median or 0) * (1 / factor if rate else factor)}

    return edit


def test_more_seconds_and_fewer_bytes_a_second_are_slower_and_the_reverse_faster() -> None:
    before, after = edited(cost(1.0)), edited(cost(10.0))
    assert set().union(*verdicts(before, after).values()) == {Verdict.SLOWER}
    assert set().union(*verdicts(after, before).values()) == {Verdict.FASTER}
    assert compare(before, after).regressed
    assert not compare(after, before).regressed


def test_without_repeats_the_cpu_s_clock_needs_a_larger_change_than_the_gpu_s() -> None:
    found = verdicts(edited(cost(1.0)), edited(cost(1.5)))
    assert found == {"device": {Verdict.SLOWER}, "host": {Verdict.SAME}}


def test_a_change_within_the_tolerance_is_the_same() -> None:
    before, after = edited(cost(1.0)), edited(cost(1.5))
    assert verdicts(before, after, tolerance=0.51)["device"] == {Verdict.SAME}
    assert verdicts(before, after, tolerance=0.1)["device"] == {Verdict.SLOWER}


def test_every_result_of_a_family_has_its_verdict_and_the_others_have_none() -> None:
    comparison = compare(edited(cost(1.0)), edited(cost(10.0)))
    assert {c.verdict for c in comparison.changes if c.family is not None} == {Verdict.SLOWER}
    assert {c.verdict for c in comparison.changes if c.family is None} == {None}
    numbers = [judgement.num_results for judgement in comparison.judgements]
    assert sum(numbers) + comparison.num_not_judged == len(comparison.changes)


def test_what_was_measured_and_is_waived_now_is_lost_and_a_regression() -> None:
    before = runs.run()
    lost = before.results[0].model_copy(
        update={"status": Status.WAIVED, "median": None, "reason": "no windows"}
    )
    after = before.model_copy(update={"results": [lost, *before.results[1:]]})
    comparison = compare(before, after)
    assert [change.verdict for change in comparison.changes if change.after is lost] == [
        Verdict.LOST
    ]
    assert comparison.num_lost == 1
    assert comparison.regressed


def test_what_the_time_was_too_short_for_is_not_lost() -> None:
    before = runs.run()
    reason = "no time left: no measurement begins after 12 s"
    late = before.results[0].model_copy(
        update={"status": Status.WAIVED, "median": None, "reason": reason}
    )
    after = before.model_copy(update={"results": [late, *before.results[1:]]})
    comparison = compare(before, after)
    assert comparison.num_lost == 0
    assert comparison.num_only_before == 1
    assert not comparison.regressed


def test_results_that_only_one_run_has_are_counted_and_are_no_regression() -> None:
    run = runs.run()
    passed = [r for r in run.results if r.status == Status.PASSED and r.stopped_by is not None]
    fewer = run.model_copy(update={"results": passed[2:]})
    assert compare(run, fewer).num_only_before == 2
    assert compare(fewer, run).num_only_after >= 2
    assert not compare(run, fewer).regressed


@pytest.mark.parametrize(("number", "words"), [(1, "1 result not"), (2, "2 results not")])
def test_results_that_are_not_judged_are_counted_in_words(number: int, words: str) -> None:
    run = runs.run()
    unjudged = [
        r
        for r in run.results
        if r.status == Status.PASSED and r.stopped_by and family_of(r) is None
    ]
    few = run.model_copy(update={"results": unjudged[:number]})
    assert f"{words} judged" in comparison_text([few, few], [compare(few, few)], every=False)


def test_what_is_worked_out_from_other_results_is_not_judged() -> None:
    comparison = compare(runs.run(), runs.run())
    assert not [c for c in comparison.changes if c.subject.metric.startswith("crossover")]


def test_circumstances_keep_results_apart_and_are_told_in_words() -> None:
    run = runs.run()
    subjects = [subject_of(result) for result in run.results]
    assert len(set(subjects)) == len(subjects)
    cold = next(s for s in subjects if s.test == "window_write" and "cold" in s.words)
    assert cold.words == "cold"
    threads = next(s for s in subjects if dict(s.circumstances)["num_threads"] == "2")
    assert "2 threads" in threads.words
    with_axes = run.results[0].model_copy(update={"axes": {"streams": 4}})
    assert subject_of(with_axes) != subject_of(run.results[0])
    assert subject_of(with_axes).words == "4 streams"


@pytest.mark.parametrize("emulated", [True, False])
def test_a_modelled_run_is_never_compared_with_a_measured_one(emulated: bool) -> None:
    with pytest.raises(UsageError, match="modelled numbers are never compared"):
        compare(runs.run(emulated=emulated), runs.run(emulated=not emulated))


def test_machines_are_told_apart_by_gpu_and_cpu_and_emulated_ones_by_profile() -> None:
    machine = runs.machine()
    device = machine.device.model_copy(update={"uuid": "GPU-1"})
    host = machine.host.model_copy(update={"cpu_model": "Other CPU"})
    own = identity_of(machine)
    assert identity_of(machine.model_copy(update={"device": device})) != own
    assert identity_of(machine.model_copy(update={"host": host})) != own
    emulated = runs.machine(emulated=True)
    other_profile = emulated.model_copy(update={"profile": "large"})
    assert identity_of(other_profile) != identity_of(emulated)
    driver = machine.driver.model_copy(update={"driver_version": "999.1"})
    assert identity_of(machine.model_copy(update={"driver": driver})) == own


def test_what_differs_between_machines_is_listed_and_nothing_else() -> None:
    run = runs.run()
    driver = run.machine.driver.model_copy(update={"driver_version": "999.1"})
    link = run.machine.link.model_copy(update={"width": 8})
    machine = run.machine.model_copy(update={"driver": driver, "link": link})
    found = differences([run, run.model_copy(update={"machine": machine})])
    assert {(d.fact, d.values) for d in found} == {
        ("driver", ("580.159.04", "999.1")),
        ("link", ("PCIe Gen4 x16", "PCIe Gen4 x8")),
    }
    assert differences([run, run]) == []
