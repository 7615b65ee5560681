import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.measure.bench.convert import summarize

samples = st.lists(st.floats(min_value=1e-9, max_value=1e3), min_size=1, max_size=200)


@given(samples)
def test_a_summary_is_ordered_and_its_median_is_the_median(values: list[float]) -> None:
    summary = summarize(values)
    assert summary.min <= summary.median <= summary.p99 <= summary.max
    assert math.isclose(summary.median, statistics.median(values), rel_tol=1e-12)
    assert 0 <= summary.iqr <= summary.max - summary.min
    assert summary.n == len(values)


@given(samples, st.randoms())
def test_the_order_of_samples_does_not_matter(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert summarize(shuffled) == summarize(values)


def test_the_quantiles_are_those_of_the_textbook() -> None:
    summary = summarize([float(value) for value in range(101)])
    assert (summary.median, summary.p99, summary.iqr) == (50.0, 99.0, 50.0)
    assert summary.cov == pytest.approx(statistics.stdev(range(101)) / 50)


def test_one_outlier_moves_neither_median_nor_iqr() -> None:
    quiet, spoiled = [1.0] * 99, [1.0] * 98 + [1e6]
    assert summarize(quiet).median == summarize(spoiled).median
    assert summarize(spoiled).iqr == 0


def test_a_single_sample_has_no_variation() -> None:
    summary = summarize([2.5])
    assert (summary.median, summary.iqr, summary.cov, summary.n) == (2.5, 0.0, None, 1)


def test_samples_around_zero_have_no_relative_variation() -> None:
    assert summarize([0.0, 0.0]).cov is None


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_what_is_no_sample_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        summarize(values)


def test_outliers_are_counted_and_kept() -> None:
    summary = summarize([*[10.0, 10.1, 10.2, 10.3] * 10, 90.0, 0.1])
    assert summary.num_outliers == 2
    assert (summary.max, summary.min, summary.n) == (90.0, 0.1, 42)


@given(samples)
def test_fewer_than_half_of_the_samples_are_outliers(values: list[float]) -> None:
    found = summarize(values).num_outliers
    if len(values) < 5:
        assert found is None
    else:
        assert found is not None
        assert found <= len(values) / 2


def test_a_spread_that_is_usual_has_no_outliers() -> None:
    assert summarize([float(value) for value in range(100)]).num_outliers == 0


def test_what_differs_by_little_is_no_outlier_however_quiet_the_rest_is() -> None:
    assert summarize([*[10.0] * 20, 10.3]).num_outliers == 0
    assert summarize([*[10.0] * 20, 10.6]).num_outliers == 1
