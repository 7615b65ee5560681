import pytest

from fakes import runs
from isthmus.measure.run.model import Result, Status
from isthmus.reproduce.matching import Pair, pairs_of
from isthmus.reproduce.publication import Figure, Ours, Publication, Series, Source

KIB = 1 << 10
SOURCE = Source(title="A measurement", author="A. Body", year=2009, hardware="a machine")
OURS = Ours(test="alloc_malloc", metric="allocate")
OTHER = Ours(test="alloc_cuda_malloc", metric="allocate")


def result(size: int, value: float, ours: Ours = OURS, **changes: object) -> Result:
    template = next(r for r in runs.run().results if r.status == Status.PASSED)
    plain = {
        "test": ours.test,
        "metric": ours.metric,
        "axes": {"live": 4},
        "bytes": size,
        "unit": "s",
        "median": value,
        "mean": 2 * value,
        "cpu_cache": "warm",
        "num_threads": 1,
        "cpu_node": None,
        "data": None,
    }
    return template.model_copy(update=plain | changes)


def figure(**changes: object) -> Figure:
    plain = {"table": "T", "quantity": "Q", "unit": "s", "ours": OURS}
    return Figure.model_validate(plain | changes)


def pair(one: Figure, *results: Result) -> Pair:
    publication = Publication(name="one", source=SOURCE, figure=[one])
    return pairs_of(publication, runs.run().model_copy(update={"results": list(results)}))[0]


def test_ours_of_the_same_size_stands_beside_theirs() -> None:
    found = pair(figure(bytes=KIB, value=2, value_scale=1e-6), result(KIB, 5e-6))
    assert found.ours is not None
    assert (found.ours.low, found.ours.between) == (5e-6, None)
    assert found.ratio == pytest.approx(2.5)


def test_a_mean_stands_beside_a_mean() -> None:
    mean = Ours(test=OURS.test, metric=OURS.metric, statistic="mean")
    found = pair(figure(bytes=KIB, value=1, ours=mean), result(KIB, 3.0))
    assert found.ratio == pytest.approx(6.0)


def test_a_single_figure_between_two_sizes_is_read_from_a_line_and_marked() -> None:
    found = pair(figure(bytes=2 * KIB, value=1), result(KIB, 1.0), result(4 * KIB, 4.0))
    assert found.ours is not None
    assert found.ours.low == pytest.approx(2.0)
    assert found.ours.between == (KIB, 4 * KIB)


def test_beyond_the_measured_sizes_nothing_is_invented() -> None:
    for size in (KIB // 2, 64 * KIB):
        found = pair(figure(bytes=size, value=1), result(KIB, 1.0), result(4 * KIB, 4.0))
        assert found.ours is None
        assert found.why_not == "this size was not measured"


def test_sizes_far_apart_are_not_joined_by_a_line() -> None:
    assert (
        pair(figure(bytes=8 * KIB, value=1), result(KIB, 1.0), result(64 * KIB, 4.0)).ours is None
    )


def test_a_series_is_compared_at_its_own_sizes_only() -> None:
    series = Series(table="T", quantity="Q", unit="s", ours=OURS, points=[(2, 1.0), (4, 1.0)])
    publication = Publication(name="one", source=SOURCE, series=[series])
    results = [result(1, 1.0), result(4, 3.0)]
    found = pairs_of(publication, runs.run().model_copy(update={"results": results}))
    theirs = [one for one in found if one.figure.published]
    assert [one.ours.low if one.ours else None for one in theirs] == [None, 3.0]


@pytest.mark.parametrize(
    "changes",
    [
        {"axes": {"live": 4, "pages": "touched"}},
        {"cpu_cache": "cold"},
        {"num_threads": 2},
        {"cpu_node": "far"},
    ],
)
def test_unusual_circumstances_are_not_ours(changes: dict[str, object]) -> None:
    assert pair(figure(bytes=KIB, value=1), result(KIB, 1.0, OURS, **changes)).ours is None


def test_a_ratio_spans_all_sizes_that_both_have() -> None:
    one = figure(unit="1", low=100, high=1000, ours=OTHER, over=OURS)
    both = [result(KIB, 1.0), result(2 * KIB, 1.0), result(4 * KIB, 1.0)]
    found = pair(one, *both, result(KIB, 20.0, OTHER), result(2 * KIB, 500.0, OTHER))
    assert found.ours is not None
    assert (found.ours.low, found.ours.high) == (20.0, 500.0)
    assert found.ratio == 1.0


@pytest.mark.parametrize(("measured", "ratio"), [(20.0, 0.2), (500.0, 1.0), (4000.0, 4.0)])
def test_a_range_is_divided_by_its_nearer_end(measured: float, ratio: float) -> None:
    one = figure(unit="1", low=100, high=1000, ours=OTHER, over=OURS)
    found = pair(one, result(KIB, 1.0), result(KIB, measured, OTHER))
    assert found.ratio == pytest.approx(ratio)


def test_a_ratio_at_the_largest_size_ignores_the_others() -> None:
    one = figure(unit="1", value=2, at_largest=True, ours=OTHER, over=OURS)
    sizes = [result(size, 1.0) for size in (KIB, 2 * KIB)]
    found = pair(one, *sizes, result(KIB, 9.0, OTHER), result(2 * KIB, 4.0, OTHER))
    assert found.ratio == pytest.approx(2.0)


def test_pinning_that_never_pays_is_said_in_words() -> None:
    waived = result(64 * KIB, 0.0, status=Status.WAIVED, median=None, reason="it takes longer")
    found = pair(figure(unit="B", value=16), waived)
    assert found.ours is not None
    assert (found.ours.words, found.ratio) == ("never, up to 64 KiB", None)


def test_a_size_from_which_it_pays_is_between_two_measured_ones() -> None:
    found = pair(figure(unit="B", value=16), result(64 * KIB, 6.0, min=4.0, max=8.0))
    assert found.ours is not None
    assert (found.ours.low, found.ours.high, found.ours.at_most) == (4.0, 8.0, False)


def test_the_smallest_size_is_only_an_upper_end() -> None:
    found = pair(figure(unit="B", value=16), result(64 * KIB, 8.0, min=0.0, max=8.0))
    assert found.ours is not None
    assert (found.ours.high, found.ours.at_most) == (8.0, True)


def test_a_waived_result_says_why_nothing_stands_beside_theirs() -> None:
    waived = result(KIB, 0.0, status=Status.WAIVED, median=None, reason="no second node")
    assert pair(figure(bytes=KIB, value=1), waived).why_not == "no second node"
    assert pair(figure(bytes=KIB, value=1)).why_not == "alloc_malloc was not measured"


def test_what_is_derived_has_the_reason_of_what_it_would_be_derived_from() -> None:
    late = result(KIB, 0.0, status=Status.WAIVED, median=None, reason="no time left")
    derived = Ours(test=OURS.test, metric="break_even_one_way")
    assert pair(figure(unit="B", value=16, ours=derived), late).why_not == "no time left"


def alone(one: Figure, *results: Result) -> list[tuple[int | None, bool, float]]:
    publication = Publication(name="one", source=SOURCE, figure=[one])
    found = pairs_of(publication, runs.run().model_copy(update={"results": list(results)}))
    return [(p.figure.bytes, p.figure.published, p.ours.low) for p in found if p.ours]


def test_sizes_that_theirs_lack_are_shown_behind_theirs_as_ours_alone() -> None:
    results = [result(KIB, 1.0), result(2 * KIB, 2.0), result(4 * KIB, 4.0)]
    others = alone(figure(bytes=KIB, value=1, min=1, max=1, other_sizes=True), *results)
    assert others == [(KIB, True, 1.0), (2 * KIB, False, 2.0), (4 * KIB, False, 4.0)]
    assert alone(figure(bytes=KIB, value=1), *results) == others[:1]


def test_sizes_that_a_series_lacks_are_shown_too() -> None:
    series = Series(table="T", quantity="Q", unit="s", ours=OURS, points=[(KIB, 1.0)])
    publication = Publication(name="one", source=SOURCE, series=[series])
    run = runs.run().model_copy(update={"results": [result(3 * KIB, 3.0)]})
    assert [one.figure.bytes for one in pairs_of(publication, run) if one.ours] == [3 * KIB]


def test_the_least_and_the_most_of_our_runs_stand_beside_theirs() -> None:
    spread = OURS.model_copy(update={"spread": True})
    ends = result(KIB, 3.0, min=2.0, max=5.0)
    found = pair(figure(bytes=KIB, value=1, ours=spread), ends)
    assert found.ours is not None
    assert (found.ours.low, found.ours.high, found.ours.spread) == (3.0, 3.0, (2.0, 5.0))
    without = pair(figure(bytes=KIB, value=1), ends).ours
    assert without is not None
    assert without.spread is None


def test_a_ratio_can_be_of_two_sizes_or_of_one() -> None:
    jump = figure(
        unit="1", said="more", bytes=4 * KIB, over=OURS.model_copy(update={"bytes": 2 * KIB})
    )
    found = pair(jump, result(2 * KIB, 2.0), result(4 * KIB, 6.0))
    assert found.ours is not None
    assert (found.ours.low, found.ratio) == (3.0, None)
    small = figure(unit="1", value=2, bytes=KIB, ours=OTHER, over=OURS)
    both = [result(KIB, 1.0), result(2 * KIB, 1.0)]
    found = pair(small, *both, result(KIB, 4.0, OTHER), result(2 * KIB, 99.0, OTHER))
    assert found.ratio == pytest.approx(2.0)


def test_a_size_from_which_memory_pays_has_both_answers_beside_it() -> None:
    ours = Ours(test=OURS.test, metric="break_even_one_way", axes={"memory": "pinned"})
    publication = Publication(
        name="one", source=SOURCE, figure=[figure(unit="B", value=16, ours=ours)]
    )
    lives = {"steady": 64.0, "first time": 4.0}
    results = [
        result(
            *(KIB, value, ours),
            axes={"memory": "pinned", "life": life},
            min=value / 2,
            max=value,
        )
        for life, value in lives.items()
    ]
    found = pairs_of(publication, runs.run().model_copy(update={"results": results}))
    assert [one.figure.quantity for one in found] == ["Q, steady", "Q, first time"]
    assert [one.ours and one.ours.high for one in found] == [64.0, 4.0]
