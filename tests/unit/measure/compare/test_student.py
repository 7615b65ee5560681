import pytest

from isthmus.measure.compare.judging import quantile, upper_tail

# Value, degrees of freedom, upper tail. Source: NIST/SEMATECH e-Handbook of Statistical Methods,
# 1.3.6.7.2 (https://www.itl.nist.gov/div898/handbook/eda/section3/eda3672.htm).
TABLE = [
    (6.314, 1, 0.05),
    (318.313, 1, 0.001),
    (2.920, 2, 0.05),
    (7.173, 4, 0.001),
    (2.015, 5, 0.05),
    (2.896, 8, 0.01),
    (4.501, 8, 0.001),
    (3.733, 15, 0.001),
    (1.697, 30, 0.05),
    (3.174, 100, 0.001),
]


@pytest.mark.parametrize(("t", "freedom", "tail"), TABLE)
def test_tails_and_quantiles_are_those_of_the_tables(t: float, freedom: int, tail: float) -> None:
    assert upper_tail(t, freedom) == pytest.approx(tail, rel=2e-3)
    assert quantile(tail, freedom) == pytest.approx(t, rel=1e-3)


def test_half_of_the_distribution_is_above_zero_and_both_sides_are_alike() -> None:
    for freedom in (1, 2, 3, 8, 399, 1e9):
        assert upper_tail(0.0, freedom) == pytest.approx(0.5)
        assert upper_tail(-1.5, freedom) == pytest.approx(1 - upper_tail(1.5, freedom))


def test_with_many_degrees_of_freedom_it_is_the_normal_distribution() -> None:
    assert quantile(0.025, float("inf")) == pytest.approx(1.95996, abs=1e-4)
    assert quantile(0.025, 399) == pytest.approx(1.95996, abs=1e-2)


def test_a_part_of_a_degree_of_freedom_is_cut_off() -> None:
    assert upper_tail(2.0, 8.9) == upper_tail(2.0, 8)
