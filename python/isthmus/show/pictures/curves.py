"""A panel of curves over sizes, each with its name and last value beside its end."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isthmus.show.pictures.drawing import (
    BARS,
    COLOURS,
    HEIGHT,
    Measure,
    colour_axis,
    data_of,
    number_axis,
    size_axis,
)
from isthmus.show.pictures.label_places import Scale, spread
from isthmus.show.pictures.lines import Line

if TYPE_CHECKING:
    import altair as alt

WIDTH = 420
LABEL = "label"
"""The style of what names a curve, for whoever draws panels without room for names."""
_LINE_PIXELS = 14
_LABEL_GAP = 3
_LABEL_CHARACTERS = 34
# Of the width of the axis: here the thin rules run from the ends of curves to their labels.
_GUTTER = 0.05
_THINNEST, _THICKER_EACH = 1.3, 0.7
_DOT, _DOT_EACH = 10.0, 8.0


@dataclass(frozen=True, kw_only=True)
class Look:
    """
    How the curves of a panel are drawn.

    Attributes:
        ranges: Whether pale bars show each size's minimum and maximum.
        colours: The number of the colour of each label that has the same one in other panels;
            others get one that is free.
    """

    measure: Measure
    ranges: bool
    colours: Mapping[str, int]


def curves_panel(
    title: str, curves: Sequence[Line], scale: Scale, look: Look
) -> "alt.LayerChart | alt.FacetChart":
    """
    Draw a panel of at most as many curves as there are colours; one that is drawn later is thinner,
    so that it hides no other.
    """
    import altair as alt

    sizes = sorted({size for curve in curves for size in curve.sizes})
    edge = sizes[-1] * (sizes[-1] / sizes[0]) ** _GUTTER
    measure, bars = look.measure, BARS if look.ranges else ""
    shown, ticks = number_axis(scale, measure.shown)
    along: dict[str, Any] = {"title": f"{measure.title}{bars}", "scale": shown, "axis": ticks}
    axes = {
        "x": size_axis("bytes", sizes, edge=edge),
        "y": alt.Y("value", type="quantitative", **along),
        "color": colour_axis(),
    }
    colours = _colours(curves, look.colours)
    rows = [
        row
        for place, (curve, colour) in enumerate(zip(curves, colours, strict=True))
        for row in _rows(curve, colour, _width(len(curves) - 1 - place), measure)
    ]
    leaders, labels = _label_rows(curves, colours, edge, scale, measure)
    layers = [
        *([_ranges(rows, scale, axes)] if look.ranges else []),
        *_lines(rows, axes),
        *_labels(leaders, labels, axes),
    ]
    return alt.layer(*layers, width=WIDTH, height=HEIGHT, title=title)


def colours_of(labels: Iterable[str]) -> dict[str, int]:
    """Give labels the numbers of their colours, as far as these go."""
    return dict(zip(dict.fromkeys(labels), range(len(COLOURS)), strict=False))


def _colours(curves: Sequence[Line], known: Mapping[str, int]) -> list[int]:
    wanted = [known.get(curve.label.split("; ")[0]) for curve in curves]
    free = iter([colour for colour in range(len(COLOURS)) if colour not in wanted])
    return [next(free) if colour is None else colour for colour in wanted]


def _width(num_above: int) -> float:
    return round(_THINNEST + _THICKER_EACH * num_above, 1)


def _rows(curve: Line, colour: int, width: float, measure: Measure) -> list[dict[str, object]]:
    return [
        {
            "what": curve.label,
            "colour": colour,
            "width": width,
            "bytes": result.bytes,
            "value": measure.of(result),
            "min": (result.min or 0.0) * measure.factor,
            "max": (result.max or 0.0) * measure.factor,
        }
        for result in curve.results
    ]


def _lines(rows: Sequence[Mapping[str, object]], axes: Mapping[str, Any]) -> "list[alt.Chart]":
    import altair as alt

    chart = alt.Chart(data_of(rows))
    areas = alt.Scale(domain=[0, 1], range=[_DOT, _DOT + _DOT_EACH], zero=False)
    lines: alt.Chart = chart.mark_line().encode(
        **axes, strokeWidth=alt.StrokeWidth("width", type="quantitative", scale=None, legend=None)
    )
    dots: alt.Chart = chart.mark_point(filled=True, opacity=1).encode(
        **axes,
        size=alt.Size("width", type="quantitative", scale=areas, legend=None),
        tooltip=[
            alt.Tooltip("what", type="nominal"),
            *(alt.Tooltip(one, type="quantitative") for one in ("bytes", "value", "min", "max")),
        ],
    )
    return [lines, dots]


def _ranges(
    rows: Sequence[Mapping[str, object]], scale: Scale, axes: Mapping[str, Any]
) -> "alt.Chart":
    """Draw bars from minimum to maximum, as far as the axis goes."""
    import altair as alt

    inside = [
        {"colour": row["colour"], "bytes": row["bytes"]}
        | {"value": max(float(str(row["min"])), scale.low)}
        | {"max": min(float(str(row["max"])), scale.high)}
        for row in rows
    ]
    chart: alt.Chart = (
        alt.Chart(data_of(inside))
        .mark_rule(strokeWidth=5, opacity=0.25)
        .encode(**axes, y2=alt.Y2("max"))
    )
    return chart


def _label_rows(
    curves: Sequence[Line], colours: Sequence[int], edge: float, scale: Scale, measure: Measure
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """
    Place the names of curves: the two ends of each rule from a curve's end to its name, and the
    lines of the names.
    """
    leaders: list[dict[str, object]] = []
    labels: list[dict[str, object]] = []
    for curve, colour, (label, place) in zip(
        curves, colours, _places(curves, scale, measure), strict=True
    ):
        last = curve.results[-1]
        middle = (len(label) - 1) / 2
        leaders += [
            {"colour": colour, "bytes": last.bytes, "value": measure.of(last)},
            {"colour": colour, "bytes": edge, "value": scale.value(place)},
        ]
        labels += [
            {
                "colour": colour,
                "bytes": edge,
                "value": scale.value(place + (index - middle) * _LINE_PIXELS),
                "what": words,
            }
            for index, words in enumerate(label)
        ]
    return leaders, labels


def _labels(
    leaders: Sequence[Mapping[str, object]],
    labels: Sequence[Mapping[str, object]],
    axes: Mapping[str, Any],
) -> "list[alt.Chart]":
    """Put the words to the right of the panel, and a thin rule from each curve's end to them."""
    import altair as alt

    rules: alt.Chart = (
        alt.Chart(data_of(leaders))
        .mark_line(strokeWidth=0.7, opacity=0.6, style=LABEL)
        .encode(**axes)
    )
    words: alt.Chart = (
        alt.Chart(data_of(labels))
        .mark_text(align="left", baseline="middle", dx=4, fontSize=11, style=LABEL)
        .encode(**axes, text=alt.Text("what", type="nominal"))
    )
    return [rules, words]


def _places(curves: Sequence[Line], scale: Scale, unit: Measure) -> list[tuple[list[str], float]]:
    """Give each curve's label, in lines, and the pixel of its middle."""
    lasts = [unit.of(curve.results[-1]) for curve in curves]
    ends = map(unit.shown, lasts)
    labels = [_in_lines(curve.label, end) for curve, end in zip(curves, ends, strict=True)]
    heights = [float(_LINE_PIXELS * len(label) + _LABEL_GAP) for label in labels]
    places = spread([scale.pixel(last) for last in lasts], heights, HEIGHT)
    return list(zip(labels, places, strict=True))


def _in_lines(label: str, end: str) -> list[str]:
    """Break a label after the names of curves, and end it with its curve's last value."""
    lines: list[str] = []
    for name in label.split("; "):
        if lines and len(lines[-1]) + len(name) + 2 <= _LABEL_CHARACTERS:
            lines[-1] = f"{lines[-1]}; {name}"
        else:
            lines.append(name)
    return [*lines[:-1], f"{lines[-1]}: {end}"]
