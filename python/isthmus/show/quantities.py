"""A result's number with its unit, for tables that mix units."""

from isthmus.ground.sizes import approximate_size
from isthmus.show.numbers import four_digit_microseconds, gigabytes_per_second

_BYTES_PER_GB = 1e9
_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def quantity(value: float | None, unit: str) -> str:
    """Write a number with its unit: "55.10 GB/s", "5.700 us"; a dash if there is none."""
    if value is None:
        return "-"
    if unit == "B/s":
        return f"{gigabytes_per_second(value)} GB/s"
    if unit == "s":
        return f"{four_digit_microseconds(value)} us"
    return approximate_size(round(value)) if unit == "B" else f"{value:.3g}"


def percent(part: float | None) -> str:
    """Write a change: "+3.1 %"; a dash if there is none."""
    return "-" if part is None else f"{part * 100:+.1f} %"


def readable(value: float, unit: str) -> str:
    """Write a number with three digits that count, and the unit that suits its size: "31.6 ms"."""
    if unit == "B/s":
        return f"{_three_digits(value / _BYTES_PER_GB)} GB/s"
    if unit != "s":
        return quantity(value, unit)
    name, scale = next((one for one in _TIMES if value >= one[1]), _TIMES[-1])
    return f"{_three_digits(value / scale)} {name}"


def _three_digits(value: float) -> str:
    # Digits are counted after rounding: 9.999 is written 10.0.
    exponent = int(f"{value:.2e}".partition("e")[2])
    return f"{value:.{max(0, 2 - exponent)}f}"
