import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.errors import UsageError
from isthmus.ground.sizes import (
    approximate_size,
    format_size,
    parse_size,
    parse_sizes,
    powers_of_two,
)

sizes = st.integers(min_value=1, max_value=(1 << 63) - 1)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("4", 4),
        ("4B", 4),
        ("64KiB", 64 << 10),
        ("64K", 64 << 10),
        ("64k", 64 << 10),
        ("64KB", 64_000),
        ("2MB", 2_000_000),
        ("2 mib", 2 << 20),
        ("1GiB", 1 << 30),
        ("1.5G", 3 << 29),
        ("3T", 3 << 40),
        (" 7 ", 7),
    ],
)
def test_a_size_is_a_number_and_perhaps_a_unit(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@given(sizes)
def test_every_formatted_size_reads_back_as_itself(size_bytes: int) -> None:
    assert parse_size(format_size(size_bytes)) == size_bytes


@given(sizes, st.sampled_from(["", "k", "KiB", "m", "MB", "GIB", "t"]))
def test_a_unit_means_the_same_in_upper_and_lower_case(number: int, unit: str) -> None:
    text = f"{number % 1000 + 1}{unit}"
    assert parse_size(text.upper()) == parse_size(text.lower())


@pytest.mark.parametrize(
    ("text", "offender", "advice"),
    [
        ("12Q", "'Q'", "did you mean 12G?"),
        # Raised to upper case, a dotless i is an I.
        ("12K\u0131B", "'12K\u0131B'", "KiB"),
        ("\u0663", "'\u0663' is not a size", "64KiB"),
        ("1e9", "'1e9' is not a size", "64KiB"),
        ("1" + "x" * 100_000, "(100001 characters)", "did you mean 1"),
        ("1.5" + " " * 100_000 + "B", "(100004 characters)", "did you mean 2?"),
        ("12GiBB", "'GiBB'", "did you mean 12GiB?"),
        ("12kg", "'kg'", "KiB"),
        ("-4", "'-4' is negative", "did you mean 4?"),
        ("-x", "'-x' is negative", "smallest size is 1"),
        ("0", "'0'", "smallest size is 1"),
        ("0.0G", "'0.0G'", "smallest size is 1"),
        ("1.3B", "'1.3B' is not a whole number", "did you mean 1?"),
        ("abc", "'abc' is not a size", "64KiB"),
        ("1e5", "'1e5' is not a size", "64KiB"),
        ("", "'' is not a size", "64KiB"),
        ("99999999T", "'99999999T' is larger than any memory", "8388607T"),
    ],
)
def test_what_is_no_size_is_named_with_the_nearest_choice(
    text: str, offender: str, advice: str
) -> None:
    with pytest.raises(UsageError) as caught:
        parse_size(text)
    assert offender in str(caught.value)
    assert advice in caught.value.hint


def test_a_range_has_its_ends_and_the_powers_of_two_between() -> None:
    assert parse_sizes("4..64") == [4, 8, 16, 32, 64]
    assert parse_sizes("3..20") == [3, 4, 8, 16, 20]
    assert parse_sizes("5..5") == [5]


def test_the_default_sweep_can_be_written_as_a_range() -> None:
    assert parse_sizes("4..1GiB") == powers_of_two(4, 1 << 30)
    assert len(powers_of_two(4, 1 << 30)) == 29


def test_a_list_is_sorted_and_has_each_size_once() -> None:
    assert parse_sizes("1K, 4,8..16,8") == [4, 8, 16, 1024]


@given(st.lists(sizes, min_size=1, max_size=5))
def test_any_list_of_sizes_reads_as_its_set(listed: list[int]) -> None:
    assert parse_sizes(",".join(map(str, listed))) == sorted(set(listed))


@given(sizes, sizes)
def test_a_range_holds_its_ends_and_stays_between_them(one: int, other: int) -> None:
    first, last = sorted((one, other))
    found = parse_sizes(f"{first}..{last}")
    assert found[0] == first
    assert found[-1] == last
    assert all(size & (size - 1) == 0 for size in found[1:-1])
    assert len(found) <= 65


@pytest.mark.parametrize(
    ("text", "offender", "advice"),
    [
        ("1G..4", "1G..4", "did you mean 4..1G?"),
        ("..4", "two ends", "4..1GiB"),
        ("4..", "two ends", "4..1GiB"),
        ("1..2..3", "two ends", "4..1GiB"),
        ("4,,5", "empty item", "4,64KiB"),
        ("4,5..12Q", "'Q'", "12G"),
    ],
)
def test_a_broken_list_or_range_is_named(text: str, offender: str, advice: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_sizes(text)
    assert offender in str(caught.value)
    assert advice in caught.value.hint


@pytest.mark.parametrize(
    ("size_bytes", "exact", "about"),
    [
        (0, "0 B", "0 B"),
        (4, "4 B", "4 B"),
        (1500, "1500 B", "1.5 KiB"),
        (64 << 10, "64 KiB", "64.0 KiB"),
        (3 << 29, "1536 MiB", "1.5 GiB"),
        (1 << 40, "1 TiB", "1.0 TiB"),
    ],
)
def test_sizes_are_written_in_binary_units(size_bytes: int, exact: str, about: str) -> None:
    assert format_size(size_bytes) == exact
    assert approximate_size(size_bytes) == about


@pytest.mark.parametrize("before", ["", "4..", "1.", "-"])
def test_a_number_of_thousands_of_digits_is_refused_and_cut_short(before: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_sizes(before + "9" * 5000)
    assert len(str(caught.value)) + len(caught.value.hint) < 200
