"""What compare says of runs of real GPUs, as they are and with a loss."""

from collections.abc import Callable
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from isthmus.measure.compare.comparison import Comparison, compare
from isthmus.measure.compare.judging import Verdict
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.reading import read_run

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"
GPUS = ("fleet/two_h100/vm-0/*.json", "fleet/two_h100/vm-1/*.json", "frontdoor/h200/quick_*.json")


@cache
def run_of(path: str) -> Run:
    return read_run(str(BENCHMARKS / path))


def h100() -> Run:
    return run_of("link/h100/run.json")


@pytest.mark.parametrize("pattern", GPUS)
def test_no_pair_of_unchanged_runs_of_a_gpu_is_slower_and_most_are_the_same(pattern: str) -> None:
    paths = [str(path.relative_to(BENCHMARKS)) for path in sorted(BENCHMARKS.glob(pattern))]
    verdicts = [compare(run_of(a), run_of(b)).verdict for a, b in permutations(paths, 2)]
    assert set(verdicts) <= {Verdict.SAME, Verdict.CANT_TELL}
    assert verdicts.count(Verdict.SAME) > len(verdicts) / 2


def slower(chosen: Callable[[Result], bool], times: float) -> Comparison:
    """Compare an H100's run with itself, where what is chosen takes so many times as long."""

    def edit(result: Result) -> Result:
        if result.median is None or not chosen(result):
            return result
        factor = 1 / times if result.unit == "B/s" else times
        return result.model_copy(update={"median": result.median * factor})

    run = h100()
    return compare(run, run.model_copy(update={"results": [edit(one) for one in run.results]}))


@pytest.mark.parametrize(
    ("chosen", "times"),
    [
        (lambda result: result.way == "pageable" and result.unit == "B/s", 5.0),
        (lambda result: result.suite == "latency" and result.clock == "host", 5.0),
        (lambda result: result.suite == "alloc" and result.unit == "s", 10.0),
        (lambda result: result.test == "alloc_cuda_malloc_host" and result.unit == "s", 10.0),
        (lambda result: "managed" in result.test, 2.0),
        (lambda result: result.way == "lifecycle", 2.0),
        (lambda result: result.suite == "host", 2.0),
        (lambda result: result.way == "ce" and result.metric == "bandwidth", 1 / 0.89),
    ],
    ids=[
        *("pageable", "latencies", "allocations", "one_way_to_allocate", "managed", "mappings"),
        *("host_copies", "pinned"),
    ],
)
def test_what_is_beyond_any_drift_is_slower(chosen: Callable[[Result], bool], times: float) -> None:
    assert slower(chosen, times).verdict == Verdict.SLOWER


def test_a_loss_that_unchanged_runs_have_shown_too_is_in_doubt() -> None:
    found = slower(lambda result: result.way == "pageable" and result.unit == "B/s", 1.4)
    assert found.verdict == Verdict.CANT_TELL


def test_every_result_that_was_measured_is_in_a_judgement_or_was_derived() -> None:
    comparison = compare(h100(), h100())
    assert sum(judgement.num_results for judgement in comparison.judgements) > 2000
    assert comparison.num_not_judged == comparison.num_derived < 200


def test_a_family_has_its_own_name_and_numbers_of_one_kind() -> None:
    families = [judgement.family for judgement in compare(h100(), h100()).judgements]
    assert len({family.name for family in families}) == len(families)


def pinned_from(least: int) -> Callable[[Result], bool]:
    return lambda result: result.way == "ce" and result.bytes >= least


@pytest.mark.parametrize(
    ("chosen", "times", "verdict"),
    [
        (lambda result: "registered" in result.test, 7.5, Verdict.SLOWER),
        (lambda result: "registered" in result.test, 1.7, Verdict.CANT_TELL),
        (lambda result: result.test == "alloc_cuda_malloc_host", 7.5, Verdict.SLOWER),
        (lambda result: result.test == "alloc_cuda_malloc_host", 2.0, Verdict.CANT_TELL),
        (pinned_from(256 << 20), 7.0, Verdict.SLOWER),
        (pinned_from(256 << 20), 1.6, Verdict.SLOWER),
    ],
)
def test_a_part_of_a_family_is_judged_though_its_family_is_the_same(
    chosen: Callable[[Result], bool], times: float, verdict: Verdict
) -> None:
    comparison = slower(chosen, times)
    assert {one.verdict for one in comparison.judgements} == {Verdict.SAME}
    assert comparison.verdict == verdict
    apart = comparison.apart(verdict)
    assert apart
    assert all(chosen(change.before) for change in apart)


def test_a_gpu_at_half_speed_beside_a_good_one_is_no_same() -> None:
    run = run_of("link/two_h200/run.json")
    results = [
        one.model_copy(update={"median": one.median / 2})
        if one.median and one.axes.get("gpu") == "1"
        else one
        for one in run.results
    ]
    later = run.model_copy(update={"results": results})
    assert compare(run, later).verdict in {Verdict.SLOWER, Verdict.CANT_TELL}


@pytest.mark.parametrize("suite", ["windows", "alloc", "latency", "host"])
def test_a_suite_that_is_gone_is_lost(suite: str) -> None:
    run = h100()
    left = [result for result in run.results if result.suite != suite]
    assert compare(run, run.model_copy(update={"results": left})).verdict == Verdict.LOST
