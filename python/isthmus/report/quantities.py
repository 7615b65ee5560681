"""A result's number with its unit, for tables that mix units."""

from isthmus.report.numbers import four_digit_microseconds, gigabytes_per_second
from isthmus.sizes import approximate_size


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
