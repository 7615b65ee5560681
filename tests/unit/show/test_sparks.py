import pytest

from isthmus.show.tables.sparks import EVERY_CHARACTER, RATIO_HEAD, bars, ratio_dot


def test_a_bar_stands_for_each_size_and_a_space_for_a_missing_one() -> None:
    assert bars({1: 1.0, 4: 8.0}, [1, 2, 4], 1.0, 8.0) == "▂ █"


def test_far_ends_make_heights_logarithms() -> None:
    values = {size: 10.0**size for size in range(5)}
    assert bars(values, list(values), 1.0, 1e4) == "▁▃▅▇█"


def test_equal_values_are_full_bars() -> None:
    assert bars({1: 5.0, 2: 5.0}, [1, 2], 5.0, 5.0) == "██"


@pytest.mark.parametrize(
    ("ratio", "line"),
    [
        (1.0, "────────●────────"),
        (32.0, "────────┼───────●"),
        (1 / 32, "●───────┼────────"),
        (100.0, "────────┼───────▶"),
        (0.001, "◀───────┼────────"),
        (None, ""),
    ],
)
def test_a_ratio_is_a_dot_between_a_32nd_and_32(ratio: float | None, line: str) -> None:
    assert ratio_dot(ratio) == line


def test_the_heading_s_1_stands_above_the_cross() -> None:
    assert RATIO_HEAD.rjust(18).index("1x ") == 1 + ratio_dot(2.0).index("┼")


def test_every_character_that_is_drawn_is_listed() -> None:
    drawn = "".join([bars({n: n / 8 for n in range(1, 9)}, range(1, 9), 0.1, 1.0)])
    drawn += "".join(ratio_dot(10.0**n) for n in range(-3, 4))
    assert set(drawn) <= set(EVERY_CHARACTER)
