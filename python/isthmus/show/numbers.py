"""Numbers as people read them: GB/s of 1e9 bytes, microseconds, counts."""

from math import isfinite

_BYTES_PER_GB = 1e9
_US_PER_S = 1e6


def gigabytes_per_second(bytes_per_s: float) -> str:
    """Write a bandwidth in GB/s: two decimals, or two digits where it is small."""
    value = bytes_per_s / _BYTES_PER_GB
    if value >= 0.1:  # noqa: PLR2004 - below, two decimals would not be two digits
        return f"{value:.2f}"
    short = f"{value:.2g}"
    return f"{value:.7f}" if "e" in short else short


def microseconds(seconds: float | None) -> str:
    """Write a time in microseconds, a dash if there is none."""
    if seconds is None:
        return "-"
    value = seconds * _US_PER_S
    return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.2f}"  # noqa: PLR2004 - a ms


def four_digit_microseconds(seconds: float) -> str:
    """Write a time in microseconds: four digits, down to a tenth of a ns; whole ones in full."""
    value = seconds * _US_PER_S
    if not isfinite(value):
        return f"{value}"
    # Digits are counted after rounding: 9.9999 is written 10.00.
    exponent = int(f"{value:.3e}".partition("e")[2])
    return f"{value:.{min(4, max(0, 3 - exponent))}f}"


def ratio(numerator: float, denominator: float) -> str:
    """Write a ratio: two decimals, or enough digits if it is small."""
    if not denominator:
        return "-"
    times = numerator / denominator
    return f"{times:.2f}x" if times >= 0.1 else f"{times:.2g}x"  # noqa: PLR2004 - as above
