import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.errors import UsageError
from isthmus.sim.quantities import BANDWIDTH, COUNT, DURATION, FREQUENCY, NUMBER, SIZE, Quantity


@pytest.mark.parametrize(
    ("quantity", "text", "value"),
    [
        (BANDWIDTH, "32GB/s", 32_000_000_000),
        (BANDWIDTH, "32 GB/s", 32_000_000_000),
        (BANDWIDTH, "1.5MB/s", 1_500_000),
        (BANDWIDTH, "1GiB/s", 1 << 30),
        (DURATION, "45us", 45_000_000),
        (DURATION, "0.001ns", 1),
        (DURATION, "0", 0),
        (FREQUENCY, "700MHz", 700_000_000),
        (SIZE, "2M", 2 << 20),
        (SIZE, "2MiB", 2 << 20),
        (SIZE, "2MB", 2_000_000),
        (SIZE, "128", 128),
        (COUNT, "12", 12),
    ],
)
def test_a_quantity_is_read_in_our_own_unit(quantity: Quantity, text: str, value: int) -> None:
    assert quantity.parse(text) == value


@pytest.mark.parametrize(
    ("quantity", "text", "message", "hint"),
    [
        (BANDWIDTH, "32", "a unit is missing", "did you mean 32GB/s?"),
        (BANDWIDTH, "32gb/s", "unknown unit 'gb/s'", "did you mean 32GB/s?"),
        (BANDWIDTH, "32GBs", "unknown unit 'GBs'", "did you mean 32GB/s?"),
        (BANDWIDTH, "0GB/s", "nothing would ever arrive", "32GB/s"),
        (BANDWIDTH, "-1GB/s", "is not a bandwidth", "32GB/s"),
        (DURATION, "20", "a unit is missing", "did you mean 20us?"),
        (DURATION, "0.1ps", "not a whole number of ps", "did you mean 1 ps?"),
        (DURATION, "99999999999s", "is out of range", "20us"),
        (FREQUENCY, "700Mhz", "unknown unit 'Mhz'", "did you mean 700MHz?"),
        (NUMBER, "0", "it takes at least 1", "8"),
        (COUNT, "8x", "unknown unit 'x'", "did you mean 8?"),
        (COUNT, "1" * 5000, "(5000 characters)", "8"),
        (COUNT, "", "is not a count", "8"),
    ],
)
def test_what_is_none_is_refused_with_the_nearest_choice(
    quantity: Quantity, text: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        quantity.parse(text)
    assert message in str(caught.value)
    assert hint in caught.value.hint


@pytest.mark.parametrize("value", [True, 1.5, None, [1]])
def test_what_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(UsageError):
        COUNT.parse(value)


@pytest.mark.parametrize("quantity", [BANDWIDTH, DURATION, FREQUENCY, SIZE, COUNT])
@given(data=st.data())
def test_what_is_written_is_read_again(quantity: Quantity, data: st.DataObject) -> None:
    value = data.draw(st.integers(min_value=int(bool(quantity.zero)), max_value=quantity.most))
    assert quantity.parse(quantity.format(value)) == value


@pytest.mark.parametrize("quantity", [BANDWIDTH, DURATION, FREQUENCY, SIZE, COUNT])
def test_a_value_above_the_maximum_is_refused_with_the_maximum(quantity: Quantity) -> None:
    most = quantity.format(quantity.most)
    for beyond in (quantity.format(quantity.most + 1), 1 << 64, 10**400, -(10**5000)):
        with pytest.raises(UsageError, match="is out of range") as caught:
            quantity.parse(beyond)
        assert caught.value.hint.endswith(f"at most {most}")
