from collections.abc import Callable

import pytest

from fakes import runs
from isthmus.errors import UsageError
from isthmus.measure.compare.comparison import compare
from isthmus.measure.compare.families import is_sampled, subject_of
from isthmus.measure.compare.judging import Verdict
from isthmus.measure.compare.machines import differences, identity_of
from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.result import Failure
from isthmus.show.answers.comparison import comparison_text

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
    assert {change.verdict for change in comparison.changes} == {Verdict.SAME}
    assert {judgement.verdict for judgement in comparison.judgements} == {Verdict.SAME}
    assert comparison.num_only_after == 0
    assert comparison.verdict == Verdict.SAME


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
    assert compare(before, after).verdict == Verdict.SLOWER
    assert compare(after, before).verdict == Verdict.SAME


def test_without_repeats_the_cpu_s_clock_needs_a_larger_change_than_the_gpu_s() -> None:
    found = {
        judgement.family.drift: judgement.verdict
        for judgement in compare(edited(cost(1.0)), edited(cost(1.3))).judgements
    }
    assert found["pinned"] == found["device"] == Verdict.SLOWER
    assert found["staged"] == Verdict.CANT_TELL
    assert found["host"] == Verdict.SAME


def test_a_change_within_the_tolerance_is_the_same() -> None:
    before, after = edited(cost(1.0)), edited(cost(1.5))
    assert verdicts(before, after, tolerance=0.51)["device"] == {Verdict.SAME}
    assert verdicts(before, after, tolerance=0.1)["device"] == {Verdict.SLOWER}


def test_every_result_of_a_family_has_its_verdict_and_every_result_is_counted() -> None:
    before, after = edited(cost(1.0)), edited(cost(10.0))
    comparison = compare(before, after)
    assert {change.verdict for change in comparison.changes} == {Verdict.SLOWER}
    numbers = [judgement.num_results for judgement in comparison.judgements]
    passed = [result for result in before.results if result.status == Status.PASSED]
    assert sum(numbers) + comparison.num_not_judged == len(passed)


def test_what_was_measured_and_is_waived_now_is_lost() -> None:
    before = runs.run()
    lost = waived(before.results[0], "no windows")
    after = before.model_copy(update={"results": [lost, *before.results[1:]]})
    comparison = compare(before, after)
    assert [change.verdict for change in comparison.changes if change.after is lost] == [
        Verdict.LOST
    ]
    assert comparison.verdict == Verdict.LOST


def waived(result: Result, reason: str) -> Result:
    return result.model_copy(update={"status": Status.WAIVED, "median": None, "reason": reason})


LATE = "no time left: no measurement begins after 12 s"


def test_one_result_that_the_time_was_too_short_for_is_counted_and_proves_nothing() -> None:
    before = runs.run()
    late = waived(before.results[0], LATE)
    comparison = compare(before, before.model_copy(update={"results": [late, *before.results[1:]]}))
    assert comparison.count_results(Verdict.OUT_OF_TIME) == 1
    assert comparison.verdict == Verdict.SAME


def passed_of(run: Run) -> list[Result]:
    return [r for r in run.results if r.status == Status.PASSED and r.stopped_by is not None]


def test_a_used_up_budget_is_no_verdict_and_a_larger_one_would_tell() -> None:
    before = runs.run()
    results = [waived(r, LATE) if n > 9 else r for n, r in enumerate(passed_of(before))]
    after = before.model_copy(update={"results": results})
    comparison = compare(before, after)
    assert comparison.verdict == Verdict.CANT_TELL
    text = comparison_text([before, after], [comparison], every=False)
    assert text.splitlines()[0].startswith(f"{after.run.id} (2): can't tell; ")
    assert f"{len(results) - 10} out of time" in text.replace("\n  ", " ")
    assert "to settle it: a run that isn't interrupted, with a --budget above" in text


def test_an_interrupted_run_is_no_verdict() -> None:
    before = runs.run()
    identity = before.run.model_copy(update={"interrupted": True})
    after = before.model_copy(update={"run": identity, "results": passed_of(before)[:3]})
    assert compare(before, after).verdict == Verdict.CANT_TELL


def without_suite(run: Run, command: list[str], **options: object) -> Run:
    """The run without windows, as this command would have made it."""
    return run.model_copy(
        update={
            "results": [result for result in run.results if result.suite != "windows"],
            "run": run.run.model_copy(update={"command": command}),
            "options": run.options.model_copy(update=options),
        }
    )


def test_a_suite_that_is_gone_is_lost() -> None:
    run = runs.run()
    gone = without_suite(run, ["isthmus", "bench", "--quick"])
    comparison = compare(run, gone)
    assert comparison.verdict == Verdict.LOST
    assert "lost: window_" in comparison_text([run, gone], [comparison], every=False)
    of_a_new_version = without_suite(run, ["isthmus", "bench", "--quick"], tests=[])
    assert compare(run, of_a_new_version).verdict == Verdict.LOST
    assert compare(gone, run).num_only_after > 0


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (["isthmus", "bench", "bandwidth"], {"tests": []}),
        (["isthmus", "bench", "-t", "host*"], {"tests": []}),
        (["isthmus", "bench", "--test=host*"], {"tests": []}),
        (["isthmus", "bench", "--sizes", "4KiB"], {"sizes": [4096]}),
    ],
)
def test_what_the_later_run_was_not_asked_for_is_not_lost_and_is_named(
    command: list[str], options: dict[str, object]
) -> None:
    run = runs.run()
    fewer = without_suite(run, command, **options)
    comparison = compare(run, fewer)
    assert comparison.verdict == Verdict.SAME
    assert comparison.count_results(Verdict.NOT_ASKED) > 0
    text = comparison_text([run, fewer], [comparison], every=False)
    assert "\nnot asked for: window_" in text


def test_a_test_that_was_renamed_is_lost() -> None:
    run = runs.run()
    renamed = [
        r.model_copy(update={"test": "renamed"}) if r.test == run.results[0].test else r
        for r in run.results
    ]
    comparison = compare(run, run.model_copy(update={"results": renamed}))
    assert comparison.verdict == Verdict.LOST
    assert comparison.num_only_after == comparison.count_results(Verdict.LOST) > 0


def test_one_result_eight_times_slower_is_slower_whatever_its_family() -> None:
    run = runs.run()
    one = next(r for r in run.results if r.suite == "windows" and r.median and r.stopped_by)
    slower = one.model_copy(update={"median": (one.median or 0) * 8.1})
    results = [slower if result is one else result for result in run.results]
    comparison = compare(run, run.model_copy(update={"results": results}))
    assert comparison.count_results(Verdict.SLOWER) == 1
    assert comparison.count(Verdict.SLOWER) == 0
    assert comparison.verdict == Verdict.SLOWER

    text = comparison_text([run, run], [comparison], every=False)
    assert f"slower; 1 single result slower: {one.test};" in text.replace("\n  ", " ")


@pytest.mark.parametrize("median", [0.0, -1.0])
def test_a_median_that_no_clock_can_give_is_lost_and_named(median: float) -> None:
    before, after = runs.run(), edited(lambda _: {"median": median})
    for pair in ((before, after), (after, before)):
        comparison = compare(*pair)
        assert comparison.verdict == Verdict.LOST
        text = comparison_text(pair, [comparison], every=False)
        assert f"impossible median: {median:g} " in text.partition("\n")[0]


def test_what_no_clock_gave_before_or_now_is_not_lost_but_not_judged() -> None:
    run = runs.run()
    one = next(each for each in passed_of(run) if is_sampled(each))
    zero = one.model_copy(update={"median": 0.0})
    results = [zero if result is one else result for result in run.results]
    run_with_zero = run.model_copy(update={"results": results})
    comparison = compare(run_with_zero, run_with_zero)
    assert comparison.count_results(Verdict.LOST) == 0
    assert comparison.num_not_judged == compare(run, run).num_not_judged + 1


def test_wrong_bytes_stand_first_with_their_message() -> None:
    run = runs.run()
    one = passed_of(run)[0]
    failure = Failure(symbol=None, code=None, code_name=None, message="wrong bytes: byte 17 is 3")
    wrong = waived(one, "").model_copy(
        update={"status": Status.ERROR, "reason": None, "error": failure}
    )
    results = [wrong if result is one else result for result in run.results]
    later = run.model_copy(update={"results": results})
    text = comparison_text([run, later], [compare(run, later)], every=False)
    assert text.startswith(f"{one.test}: wrong bytes: byte 17 is 3\n")


def test_two_results_of_one_subject_are_refused_whatever_their_order() -> None:
    run = runs.run()
    again = next(one for one in passed_of(run) if is_sampled(one)).model_copy()
    twice = [*run.results, again]
    for results in (twice, twice[::-1]):
        double = run.model_copy(update={"results": results})
        for pair in ((run, double), (double, run)):
            with pytest.raises(UsageError, match="has two results of"):
                compare(*pair)


@pytest.mark.parametrize("option", ["num_samples", "runs"])
def test_an_option_that_chooses_no_tests_excuses_none(option: str) -> None:
    run = runs.run()
    left = [result for result in run.results if result.suite != "windows"]
    options = run.options.model_copy(update={option: 7})
    later = run.model_copy(update={"results": left, "options": options})
    assert compare(run, later).verdict == Verdict.LOST


def test_nothing_in_common_is_no_verdict() -> None:
    run = runs.run()
    none = run.model_copy(update={"results": []})
    comparison = compare(none, run)
    assert comparison.verdict == Verdict.CANT_TELL
    text = comparison_text([none, run], [comparison], every=False)
    assert "to settle it: two runs of the same tests" in text


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
