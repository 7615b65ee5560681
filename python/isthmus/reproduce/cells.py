"""The words of a row: a published figure, ours, and ours over theirs."""

from isthmus.reproduce.matching import Number, Pair
from isthmus.reproduce.publication import Figure
from isthmus.show.numbers import ratio
from isthmus.show.quantities import quantity

_WHOLE_FROM = 100


def theirs_cell(figure: Figure) -> str:
    """Write a published figure, with the extremes of its runs if the source gives them."""
    value, low, high = (figure.scaled(one) for one in (figure.value, figure.low, figure.high))
    if value is not None:
        least, most = figure.scaled(figure.min), figure.scaled(figure.max)
        if least is None or most is None:
            return number(value, figure.unit)
        return f"{number(value, figure.unit)} ({_range(least, most, figure.unit)})"
    if low is None and high is None:
        return figure.said or "-"
    if high is None:
        return f"more than {number(low, figure.unit)}"
    return _range(low or 0.0, high, figure.unit)


def ours_cell(pair: Pair) -> str:
    """Write our number; a star marks one between two measured sizes."""
    ours, unit = pair.ours, pair.figure.unit
    if ours is None:
        return "-"
    if ours.words is not None:
        return ours.words
    text = number(ours.low, unit) if ours.low == ours.high else _range(ours.low, ours.high, unit)
    if ours.spread:
        text += f" ({_range(*ours.spread, unit)})"
    return f"{text}{' *' if ours.between else ''}{' or less' if ours.at_most else ''}"


def ratio_cell(pair: Pair) -> str:
    """Write ours over theirs; beside a range, whether ours is within it."""
    figure, ours = pair.figure, pair.ours
    if pair.ratio is None or ours is None:
        return "-"
    if figure.value is None:
        if pair.ratio == 1:
            return "within" if _inside(ours, figure) else "overlaps"
        return f"{'below' if pair.ratio < 1 else 'above'}, {_times(pair.ratio)}"
    theirs = figure.scaled(figure.value) or 1.0
    if ours.low == ours.high:
        return f"{_times(ours.low / theirs)}{' or less' if ours.at_most else ''}"
    return f"{_times(ours.low / theirs)} to {_times(ours.high / theirs)}"


def _inside(ours: Number, figure: Figure) -> bool:
    low, high = figure.scaled(figure.low), figure.scaled(figure.high)
    return (low is None or low <= ours.low) and (high is None or ours.high <= high)


def number(value: float | None, unit: str) -> str:
    """Write a number with its unit; a ratio with an x."""
    if unit == "1":
        return _times(value or 0.0)
    return quantity(value, unit)


def _times(value: float) -> str:
    return f"{value:.0f}x" if value >= _WHOLE_FROM else ratio(value, 1.0)


def _range(low: float, high: float, unit: str) -> str:
    least, most = number(low, unit), number(high, unit)
    same = unit in {"B/s", "s"}
    return f"{least.partition(' ')[0]} to {most}" if same else f"{least} to {most}"
