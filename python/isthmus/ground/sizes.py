"""
Sizes in bytes, as typed and shown.

`K`, `M`, `G`, `T` are binary (`64K` is 65536), as are `KiB`, `MiB`, `GiB`, `TiB`;
`KB`, `MB`, `GB`, `TB` are decimal (`64KB` is 64000). Upper and lower case mean the same.
"""

import difflib
import re
from fractions import Fraction

from isthmus.errors import UsageError
from isthmus.ground.spelling import shortened

_BINARY = {"K": 1, "M": 2, "G": 3, "T": 4}
_UNITS = (
    {"": 1, "B": 1}
    | {unit: 1024**power for unit, power in _BINARY.items()}
    | {f"{unit}IB": 1024**power for unit, power in _BINARY.items()}
    | {f"{unit}B": 1000**power for unit, power in _BINARY.items()}
)
_SPELLING = {unit: unit.replace("IB", "iB") for unit in _UNITS if unit}
_FORM = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[^\d\s.,]*)")
UNITS_TEXT = "B; K, M, G, T or KiB, MiB, GiB, TiB (binary); KB, MB, GB, TB (decimal)"
# One more than a 64-bit address can express: no machine has it, and no C++ size holds it.
_LIMIT_BYTES = 1 << 63
_LARGEST = "the largest valid size is 8388607T"
# More than any size needs; Python itself refuses to read thousands of them.
_MAX_DIGITS = 40
_DISPLAY_UNITS = [(f"{unit}iB", 1024**power) for unit, power in reversed(_BINARY.items())]


def parse_size(text: str) -> int:
    """Read one size, such as `4`, `64KiB`, `1.5G` or `2MB`, in bytes."""
    typed = text.strip()
    match = _FORM.fullmatch(typed)
    if match is None:
        raise _not_a_size(typed)
    # In upper case, some letters beyond ASCII become letters of units: a dotless i becomes I.
    number, unit = match["number"], ascii(match["unit"])[1:-1].upper()
    if len(number) > _MAX_DIGITS:
        raise UsageError(f"size '{shortened(typed)}' has too many digits", hint=_LARGEST)
    if unit not in _UNITS:
        raise UsageError(
            f"size '{shortened(typed)}': unknown unit '{shortened(match['unit'])}'",
            hint=f"did you mean {number}{_nearest_unit(unit)}? Valid units: {UNITS_TEXT}",
        )
    size_bytes = Fraction(number) * _UNITS[unit]
    if size_bytes == 0:
        raise UsageError(
            f"size '{shortened(typed)}': no bytes to copy", hint="the smallest size is 1"
        )
    if size_bytes.denominator != 1:
        raise UsageError(
            f"size '{shortened(typed)}' is not a whole number of bytes",
            hint=f"did you mean {max(1, round(size_bytes))}?",
        )
    if size_bytes >= _LIMIT_BYTES:
        raise UsageError(f"size '{shortened(typed)}' is larger than any memory", hint=_LARGEST)
    return int(size_bytes)


def parse_sizes(text: str) -> list[int]:
    """
    Read sizes in bytes, ascending, each once, from `4,64KiB` or `4..1GiB`: a range is its two ends
    and the powers of two between.
    """
    sizes: set[int] = set()
    for item in text.split(","):
        if not item.strip():
            raise UsageError(
                f"sizes '{shortened(text)}': an empty item",
                hint="write sizes like 4,64KiB or 4..1GiB",
            )
        sizes.update(_parse_range(item) if ".." in item else [parse_size(item)])
    return sorted(sizes)


def powers_of_two(first_bytes: int, last_bytes: int) -> list[int]:
    """List the powers of two from `first_bytes` to `last_bytes`, both ends included."""
    exponents = range((first_bytes - 1).bit_length(), last_bytes.bit_length())
    return [1 << exponent for exponent in exponents]


def format_size(size_bytes: int) -> str:
    """Write a size in the largest unit that keeps it whole, as `parse_sizes` reads it: "64 KiB"."""
    for unit, unit_bytes in _DISPLAY_UNITS:
        if size_bytes >= unit_bytes and size_bytes % unit_bytes == 0:
            return f"{size_bytes // unit_bytes} {unit}"
    return f"{size_bytes} B"


def approximate_size(size_bytes: int) -> str:
    """Write a size to one decimal in the largest binary unit it fills: "79.2 GiB"."""
    for unit, unit_bytes in _DISPLAY_UNITS:
        if size_bytes >= unit_bytes:
            return f"{size_bytes / unit_bytes:.1f} {unit}"
    return f"{size_bytes} B"


def _parse_range(text: str) -> list[int]:
    ends = text.split("..")
    if len(ends) != 2 or not all(end.strip() for end in ends):  # noqa: PLR2004 - first and last
        raise UsageError(
            f"sizes '{shortened(text.strip())}': a range has two ends", hint="write 4..1GiB"
        )
    first_bytes, last_bytes = (parse_size(end) for end in ends)
    if first_bytes > last_bytes:
        first, last = (end.strip() for end in ends)
        raise UsageError(
            f"sizes '{shortened(text.strip())}': the range runs backwards",
            hint=f"did you mean {shortened(last)}..{shortened(first)}?",
        )
    return [first_bytes, *powers_of_two(first_bytes, last_bytes), last_bytes]


def _not_a_size(typed: str) -> UsageError:
    if typed.startswith("-"):
        positive = typed.lstrip("-")
        valid = _FORM.fullmatch(positive) is not None
        valid = valid and len(positive) <= _MAX_DIGITS
        hint = f"did you mean {shortened(positive)}?" if valid else "the smallest size is 1"
        return UsageError(f"size '{shortened(typed)}' is negative", hint=hint)
    return UsageError(
        f"'{shortened(typed)}' is not a size",
        hint=f"write a number and perhaps a unit, such as 4 or 64KiB. Units: {UNITS_TEXT}",
    )


def _nearest_unit(unit: str) -> str:
    close = difflib.get_close_matches(unit[:_MAX_DIGITS], _SPELLING, n=1, cutoff=0.4)
    return _SPELLING[close[0]] if close else "G"
