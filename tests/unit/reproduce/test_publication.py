import math

import pytest

from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.catalogue import BY_NAME as TESTS
from isthmus.reproduce.catalogue import BY_NAME, EXPERIMENTS, Experiment
from isthmus.reproduce.publication import Publication, read_publication

NAMES = [experiment.name for experiment in EXPERIMENTS]


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_shipped_with_their_source(name: str) -> None:
    publication = read_publication(name)
    assert publication.name == name
    assert publication.source.title
    assert publication.source.hardware


def test_a_year_that_a_source_does_not_give_is_not_given_and_what_is_inferred_is_marked() -> None:
    for name in ("caffe-break-even", "pinned-vs-pageable"):
        source = read_publication(name).source
        assert source.year is None
        assert any("Inferred: " in note and "no date" in note for note in source.notes)


def test_what_a_table_says_once_holds_for_each_of_its_figures() -> None:
    publication = Publication.model_validate(
        {
            "name": "one",
            "source": {"title": "T", "author": "A", "hardware": "H"},
            "table": [
                {
                    "table": "T",
                    "unit": "s",
                    "value": 2,
                    "ours": {"test": "a", "metric": "m"},
                    "figures": [{"quantity": "Q"}, {"quantity": "R", "ours": {"test": "b"}}],
                }
            ],
        }
    )
    assert [(one.quantity, one.ours.test, one.ours.metric) for one in publication.figures()] == [
        ("Q", "a", "m"),
        ("R", "b", "m"),
    ]


@pytest.mark.parametrize(
    ("table", "value"),
    [
        ("0bench", 0.051204),
        ("0bench", 0.083247),
        ("1bench", 0.089582),
        ("1bench", 0.052388),
        ("2bench: ", 0.065989),
        ("2bench at first", 33.073),
        ("2bench at first", 1.16),
        ("2bench at first", 0.65),
    ],
)
def test_single_runs_logs_and_the_first_2bench_are_shown_too(table: str, value: float) -> None:
    figures = read_publication("d2h-overhead").figure
    assert any(one.value == value and one.table.startswith(table) for one in figures)


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_a_value_or_a_range_or_words(name: str) -> None:
    for figure in read_publication(name).figures():
        given = [figure.value, figure.low or figure.high, figure.said]
        assert sum(one is not None for one in given) == 1, figure


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=NAMES)
def test_every_figure_is_measured_by_a_test_that_the_experiment_runs(
    experiment: Experiment,
) -> None:
    needed = set()
    for figure in read_publication(experiment.name).figures():
        for ours in filter(None, (figure.ours, figure.over)):
            test = TESTS[ours.test]
            fitted = [Metric.HALF_BANDWIDTH_SIZE] if Metric.BANDWIDTH in test.metrics else []
            assert ours.metric in [*test.metrics, *test.derived, *fitted]
            needed.add(ours.test)
    assert needed == set(experiment.tests)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=NAMES)
def test_the_sizes_that_are_measured_have_published_figures(experiment: Experiment) -> None:
    sizes = {figure.bytes for figure in read_publication(experiment.name).figures()}
    for chosen in (experiment.sizes, experiment.short_sizes, experiment.quick_sizes):
        assert chosen is None or sizes.intersection(chosen)


def test_the_table_of_the_a6000_has_every_row_in_bytes_a_second() -> None:
    publication = read_publication("pinned-vs-pageable")
    assert [len(series.points) for series in publication.series] == [19] * 4
    [first] = [f for f in publication.series[0].figures() if f.bytes == 160 << 20]
    assert first.scaled(first.value) == pytest.approx(9.397998e9)


def test_the_rates_of_copybw_are_scaled_from_mib() -> None:
    figures = read_publication("gdrcopy").figure
    [near] = [figure for figure in figures if figure.value == 9793.23]
    assert near.scaled(near.value) == pytest.approx(9793.23 * (1 << 20))


def test_the_mean_of_five_runs_lies_between_their_extremes() -> None:
    for figure in read_publication("d2h-overhead").figure:
        if figure.min is not None and figure.max is not None:
            assert figure.min <= (figure.value or math.nan) <= figure.max


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=NAMES)
def test_a_quick_or_emulated_run_promises_less_than_half_a_minute(experiment: Experiment) -> None:
    assert experiment.budget_s(emulated=True, quick=False) < 30
    assert experiment.budget_s(emulated=False, quick=True) <= 10


def test_sizes_that_do_not_fit_are_left_out() -> None:
    large = BY_NAME["pinned-vs-pageable"]
    assert large.sizes_within(1 << 30, emulated=False, quick=False) == [160 << 20, 640 << 20]
    assert large.sizes_within(1 << 20, emulated=False, quick=False) is None


def test_all_sizes_are_theirs_and_its_own_as_far_as_they_fit() -> None:
    published = [figure.bytes for figure in read_publication("pinned-vs-pageable").figures()]
    every = BY_NAME["pinned-vs-pageable"].all_sizes(published, 4 << 30)
    assert every == tuple(size << 20 for size in range(160, 3200, 160))
    assert BY_NAME["d2h-overhead"].all_sizes([4, None], 1 << 16) == (4, 4 << 10, 64 << 10)
