"""Small pictures of characters: a line of bars over sizes, and a dot on a scale of ratios."""

import math
from collections.abc import Mapping, Sequence

_BARS = "▁▂▃▄▅▆▇█"
_LOGARITHMIC_FROM = 20.0
# Logarithms of exact steps are a little off.
_ROUNDING = 1e-9
_HALF = 8
# One step to the left or right is this ratio: eight of them are 32.
_STEP = 32 ** (1 / _HALF)
RATIO_HEAD = "1/32x    1x    32x"
"""The heading of a column of dots: as wide as they are, and one more."""
EVERY_CHARACTER = f"{_BARS}─┼●◀▶…"
"""What a stream's encoding has to express for these pictures."""


def bars(values: Mapping[int, float], sizes: Sequence[int], low: float, high: float) -> str:
    """
    Draw one bar for each size, or a space if it has no number; heights are of logarithms if the
    highest is far above the lowest.
    """
    logarithmic = is_logarithmic(low, high)
    return "".join(
        _bar(values[size], low, high, logarithmic=logarithmic) if size in values else " "
        for size in sizes
    ).rstrip()


def is_logarithmic(low: float, high: float) -> bool:
    """Whether bars between these ends stand for logarithms, as the axes of pictures do."""
    return low > 0 and high / low > _LOGARITHMIC_FROM


def _bar(value: float, low: float, high: float, *, logarithmic: bool) -> str:
    ends = (math.log(low), math.log(high)) if logarithmic else (0.0, high)
    own = math.log(value) if logarithmic else value
    part = (own - ends[0]) / (ends[1] - ends[0]) if ends[1] > ends[0] else 1.0
    return _BARS[min(len(_BARS) - 1, max(0, math.floor(part * len(_BARS) + _ROUNDING)))]


def ratio_dot(ratio: float | None) -> str:
    """Draw a ratio as a dot on a line from 1/32 to 32; a cross is 1, an arrow beyond an end."""
    if ratio is None:
        return ""
    place = round(math.log(ratio) / math.log(_STEP))
    line = [*("─" * _HALF), "┼", *("─" * _HALF)]
    sign = "●" if abs(place) <= _HALF else "▶" if place > 0 else "◀"
    line[min(2 * _HALF, max(0, place + _HALF))] = sign
    return "".join(line)
