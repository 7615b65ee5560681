"""A panel of curves over sizes, each with its name and last value beside its end."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isthmus.report.drawing import data_of, number_axis, shown_number, size_axis
from isthmus.report.label_places import Scale, spread
from isthmus.report.picture_lines import Line

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT = 420, 280
# Dark enough for words on white, and distinct to colour-blind readers (after Okabe and Ito, 2008).
COLOURS = ("#0072B2", "#C04A00", "#00795A", "#A8428A", "#8A6100", "#333333")
_LINE_PIXELS = 14
_LABEL_GAP = 3
_LABEL_CHARACTERS = 34
# Of the width of the axis: here the thin rules run from the ends of curves to their labels.
_GUTTER = 0.05
_THINNEST, _THICKER_EACH = 1.3, 0.7


@dataclass(frozen=True, kw_only=True)
class Look:
    """
    How the curves of a panel are drawn.

    Attributes:
        factor: From a result's unit to the axis's.
        unit: The axis's, in words.
        ranges: Whether minimum and maximum are drawn.
        colours: The colour of each label that has the same one in other panels; others get one
            that is free.
    """

    factor: float
    unit: str
    ranges: bool
    colours: Mapping[str, str]


def curves_panel(
    title: str, curves: Sequence[Line], scale: Scale, look: Look
) -> "alt.LayerChart | alt.FacetChart":
    """
    Draw a panel.

    A curve that is drawn later is thinner, so that it hides no other.

    Args:
        title: Of the panel.
        curves: At most as many as there are colours.
        scale: The vertical axis.
        look: How they are drawn.
    """
    import altair as alt

    sizes = sorted({size for curve in curves for size in curve.sizes})
    layers: list[alt.Chart] = []
    axes = _Axes(sizes, scale, look.unit)
    colours = _colours(curves, look.colours)
    places = _places(curves, scale, look.factor)
    for index, (curve, (label, place)) in enumerate(zip(curves, places, strict=True)):
        width = _THINNEST + _THICKER_EACH * (len(curves) - 1 - index)
        drawn = _Curve(curve, colours[index], width, look.factor)
        layers += drawn.range_layers(axes) if look.ranges else []
        layers += drawn.layers(axes)
        layers += drawn.label_layers(axes, label, place)
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)


def colours_of(labels: Iterable[str]) -> dict[str, str]:
    """Give labels their colours, as far as these go."""
    return dict(zip(dict.fromkeys(labels), COLOURS, strict=False))


def _colours(curves: Sequence[Line], known: Mapping[str, str]) -> list[str]:
    wanted = [known.get(curve.label.split("; ")[0]) for curve in curves]
    free = iter([colour for colour in COLOURS if colour not in wanted])
    return [colour or next(free) for colour in wanted]


class _Axes:
    """Both axes, the same for all layers of a panel."""

    def __init__(self, sizes: Sequence[int], scale: Scale, unit: str) -> None:
        import altair as alt

        self.edge = sizes[-1] * (sizes[-1] / sizes[0]) ** _GUTTER
        self.scale = scale
        self.x = size_axis("bytes", sizes, edge=self.edge)
        shown, ticks = number_axis(scale)
        self.y = alt.Y("value:Q", title=unit, scale=shown, axis=ticks)


class _Curve:
    """One curve of a panel."""

    def __init__(self, line: Line, colour: str, width: float, factor: float) -> None:
        self._line, self._colour, self._width = line, colour, width
        self._rows = [
            {
                "what": line.label,
                "bytes": result.bytes,
                "value": (result.median or 0.0) * factor,
                "min": (result.min or 0.0) * factor,
                "max": (result.max or 0.0) * factor,
            }
            for result in line.results
        ]

    def layers(self, axes: _Axes) -> "list[alt.Chart]":
        import altair as alt

        chart: alt.Chart = (
            alt.Chart(data_of(self._rows))
            .mark_line(
                color=self._colour,
                strokeWidth=self._width,
                point=alt.OverlayMarkDef(
                    color=self._colour, size=10 + 8 * self._width, filled=True, opacity=1
                ),
            )
            .encode(x=axes.x, y=axes.y, tooltip=["what:N", "bytes:Q", "value:Q", "min:Q", "max:Q"])
        )
        return [chart]

    def range_layers(self, axes: _Axes) -> "list[alt.Chart]":
        import altair as alt

        inside = [
            row
            | {
                "value": max(float(str(row["min"])), axes.scale.low),
                "max": min(float(str(row["max"])), axes.scale.high),
            }
            for row in self._rows
        ]
        chart: alt.Chart = (
            alt.Chart(data_of(inside))
            .mark_rule(color=self._colour, strokeWidth=5, opacity=0.25)
            .encode(x=axes.x, y=axes.y, y2="max:Q")
        )
        return [chart]

    def label_layers(self, axes: _Axes, label: Sequence[str], place: float) -> "list[alt.Chart]":
        """Put the words to the right of the panel, and a thin rule from the curve's end to them."""
        import altair as alt

        last = self._rows[-1]
        middle = (len(label) - 1) / 2
        lines = [
            {
                "bytes": axes.edge,
                "value": axes.scale.value(place + (index - middle) * _LINE_PIXELS),
                "what": words,
            }
            for index, words in enumerate(label)
        ]
        end = {"bytes": axes.edge, "value": axes.scale.value(place)}
        leader: alt.Chart = (
            alt.Chart(data_of([{"bytes": last["bytes"], "value": last["value"]}, end]))
            .mark_line(color=self._colour, strokeWidth=0.7, opacity=0.6)
            .encode(x=axes.x, y=axes.y)
        )
        words: alt.Chart = (
            alt.Chart(data_of(lines))
            .mark_text(color=self._colour, align="left", baseline="middle", dx=4, fontSize=11)
            .encode(x=axes.x, y=axes.y, text="what:N")
        )
        return [leader, words]


def _places(curves: Sequence[Line], scale: Scale, factor: float) -> list[tuple[list[str], float]]:
    """Give each curve's label, in lines, and the pixel of its middle."""
    lasts = [(curve.results[-1].median or 0.0) * factor for curve in curves]
    labels = [_in_lines(curve.label, last) for curve, last in zip(curves, lasts, strict=True)]
    heights = [float(_LINE_PIXELS * len(label) + _LABEL_GAP) for label in labels]
    places = spread([scale.pixel(last) for last in lasts], heights, HEIGHT)
    return list(zip(labels, places, strict=True))


def _in_lines(label: str, last: float) -> list[str]:
    """Break a label after the names of curves, and end it with its curve's last value."""
    lines: list[str] = []
    for name in label.split("; "):
        if lines and len(lines[-1]) + len(name) + 2 <= _LABEL_CHARACTERS:
            lines[-1] = f"{lines[-1]}; {name}"
        else:
            lines.append(name)
    return [*lines[:-1], f"{lines[-1]}: {shown_number(last)}"]
