"""Writes a picture in every form: SVG, PNG, HTML and its Vega-Lite, offline."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isthmus.files.whole import write_whole
from isthmus.ground.extras import packages_for
from isthmus.ground.sizes import format_size
from isthmus.measure.run.result import Result
from isthmus.show.pictures.label_places import Scale

if TYPE_CHECKING:
    import altair as alt

WIDTH = 640
HEIGHT = 280
# Dark enough for words on white, and distinct to colour-blind readers (after Okabe and Ito, 2008).
COLOURS = ("#0072B2", "#C04A00", "#00795A", "#A8428A", "#8A6100", "#333333")
_SCALE = 2.0
# These have the same widths, so labels fit their space wherever one of them is installed.
_FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
# If none of them is installed, labels are wider.
_PADDING = 24
_TITLE_PADDING = 10
# A label for every fourth power of two fits at this width.
_LABELLED = 4
# Between tens there is no room for 2 and 5 if the axis spans more.
_ONLY_TENS_FROM = 300
_LINEAR_TICKS = 6
_MICROSECONDS = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns"))
# In JSON's spelling: what XML, and so SVG, can't have. Vega's program ends the process for it.
_NOT_IN_SVG = re.compile(r"\\\\|\\(u00[01][0-9a-f]|[bf]|ufff[ef])")
Rows = Sequence[Mapping[str, object]]
Shown = Callable[[float], str]
"""Writes a number of an axis."""
Part = dict[str, Any]
"""A part of a Vega-Lite specification."""


def check_pictures() -> None:
    """Check early whether pictures can be drawn."""
    with packages_for("pictures", "pip install 'isthmus[report]'"):
        import altair as alt  # noqa: F401 - only whether it is there
        import vl_convert  # noqa: F401


def data_of(rows: Rows) -> "alt.Data":
    """
    Put rows into a picture's own specification, as one text of JSON, which `described` unpacks:
    Altair would check and copy each row of a list again and again.
    """
    import altair as alt

    return alt.InlineData(values=json.dumps(list(map(dict, rows))))


def described(chart: "alt.TopLevelMixin") -> dict[str, Any]:
    """Give a chart's Vega-Lite, with the rows of `data_of` unpacked in "datasets"."""
    specification: dict[str, Any] = chart.to_dict(validate=False)
    texts = specification.get("datasets", {})
    return specification | {"datasets": {name: json.loads(text) for name, text in texts.items()}}


def specification_text(specification: Part, *, indent: int | None = None) -> str:
    """Write Vega-Lite as JSON; characters that no SVG can have are written as their numbers."""
    text = json.dumps(specification, indent=indent, sort_keys=True)
    return _NOT_IN_SVG.sub(lambda found: f"\\\\{found[1]}" if found[1] else found[0], text)


def shown_number(value: float) -> str:
    """Write a number with three digits that count, without an exponent: 0.0123, 55.1, 31600."""
    if not value:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def shown_time(microseconds: float) -> str:
    """Write a time with three digits that count, in the unit that suits its size: 261 ms."""
    unit, name = next((one for one in _MICROSECONDS if microseconds >= one[0]), _MICROSECONDS[-1])
    return f"{shown_number(microseconds / unit)} {name}" if microseconds else "0"


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What an axis measures: the factor from a result's unit to its own, and its words."""

    factor: float
    title: str
    shown: Shown = shown_number

    def of(self, result: Result) -> float:
        """Give the median of a result in the axis's unit."""
        return (result.median or 0.0) * self.factor


MEASURES = {
    "B/s": Measure(factor=1e-9, title="GB/s, median"),
    "s": Measure(factor=1e6, title="time, median", shown=shown_time),
}
"""What the axis of results in a unit measures; times are drawn in microseconds."""
BARS = "; pale: min to max"
"""What the pale bars are, beside an axis."""


def size_axis(field: str, sizes: Sequence[int], *, edge: float) -> "alt.X":
    """
    Make a logarithmic axis of sizes (bytes, ascending), with readable labels; it may end beyond the
    largest.
    """
    import altair as alt

    powers = sorted({1 << (size.bit_length() - 1) for size in sizes})
    ticks = powers[::_LABELLED] if len(powers) > 2 * _LABELLED else powers
    names = {str(tick): format_size(tick) for tick in ticks}
    return alt.X(
        field,
        type="quantitative",
        title="size",
        scale=_small(alt.Scale(type="log", base=2, nice=False, domain=[sizes[0], edge])),
        # Vega drops the first and last labels if it estimates that they don't fit.
        axis=_small(
            alt.Axis(
                values=ticks, labelExpr=f"({json.dumps(names)})[datum.value]", labelFlush=False
            )
        ),
    )


def colour_axis() -> "alt.Color":
    """Number the colours: a picture's configuration has them, one set for each background."""
    import altair as alt

    return alt.Color(
        "colour",
        type="nominal",
        scale=_small(alt.Scale(domain=list(range(len(COLOURS))))),
        legend=None,
    )


def number_axis(scale: Scale, shown: Callable[[float], str] = shown_number) -> tuple[Part, Part]:
    """
    Make the scale and the axis of numbers; a logarithmic one has 1, 10, 100, and also 2 and 5 if
    these are few.
    """
    import altair as alt

    low, high = scale.low, scale.high
    if scale.logarithmic:
        exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        digits = (1,) if high / low > _ONLY_TENS_FROM else (1, 2, 5)
        ticks = [digit * 10.0**exponent for exponent in exponents for digit in digits]
    else:
        ten = 10.0 ** math.floor(math.log10(high / _LINEAR_TICKS))
        step = next(digit for digit in (1, 2, 5, 10) if digit * ten >= high / _LINEAR_TICKS) * ten
        ticks = [step * number for number in range(_LINEAR_TICKS + 1)]
    names = {f"{tick:.12g}": shown(tick) for tick in ticks}
    axis = alt.Axis(
        values=[tick for tick in ticks if low <= tick <= high],
        labelExpr=f"({json.dumps(names)})[format(datum.value, '.12~r')] || datum.label",
    )
    kind: Literal["log", "linear"] = "log" if scale.logarithmic else "linear"
    return _small(alt.Scale(type=kind, domain=[low, high], nice=False)), _small(axis)


def _small(part: "alt.Scale | alt.Axis") -> Part:
    """Give what is set of a part: Altair copies all that could be set, for each layer."""
    small: Part = part.to_dict()
    return small


def look_of() -> dict[str, Any]:
    """Give the configuration of all pictures: font, distances, and the colours of curves."""
    return {
        "font": _FONT,
        # Without a limit each text is measured half as often, which is most of the time of drawing.
        "axis": {"titlePadding": _TITLE_PADDING, "labelLimit": 0, "titleLimit": 0},
        "range": {"category": list(COLOURS)},
    }


def write_chart(chart: "alt.TopLevelMixin", stem: Path) -> list[Path]:
    """
    Write a chart as .json, .svg, .html and .png, side by side in a folder that exists; the stem has
    no suffix.
    """
    import vl_convert

    whole = described(chart)
    whole["config"] = {**whole.get("config", {}), "padding": _PADDING, **look_of()}
    specification = specification_text(whole, indent=1)
    texts = {
        ".json": specification + "\n",
        ".svg": vl_convert.vegalite_to_svg(specification),
        ".html": vl_convert.vegalite_to_html(specification, bundle=True),
    }
    images = {".png": vl_convert.vegalite_to_png(specification, scale=_SCALE)}
    return [
        write_whole(stem.with_suffix(suffix), contents, follow_link=False)
        for suffix, contents in (texts | images).items()
    ]
