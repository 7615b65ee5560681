"""A panel of single points, one row for each, with its name and value in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isthmus.ground.sizes import format_size
from isthmus.show.pictures.drawing import BARS, Measure, colour_axis, data_of, number_axis
from isthmus.show.pictures.label_places import Scale
from isthmus.show.pictures.lines import Line, scale_over

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _ROW_PIXELS = 420, 18
_COLOUR, _RANGE_OPACITY = 0, 0.35


def points_panel(
    title: str, lines: Sequence[Line], measure: Measure, scale: Scale | None = None
) -> "alt.LayerChart | alt.FacetChart":
    """
    Draw a panel: a point at each median, and behind it a bar from minimum to maximum, as far as the
    axis goes.
    """
    import altair as alt

    scale = scale or scale_over(lines, measure)
    rows = _rows(lines, measure)
    shown, ticks = number_axis(scale, measure.shown)
    for row in rows:
        row["low"] = min(max(float(str(row["low"])), scale.low), scale.high)
        row["high"] = min(float(str(row["high"])), scale.high)
    base = alt.Chart(data_of(rows)).encode(
        y=alt.Y(
            "what",
            type="nominal",
            sort=[str(row["what"]) for row in rows],
            title=None,
            axis=alt.Axis(labelLimit=420),
        ),
        color=colour_axis(),
    )
    along: dict[str, Any] = {"type": "quantitative", "scale": shown, "axis": ticks}
    along["title"] = f"{measure.title}{BARS}"
    ranges = base.mark_rule(opacity=_RANGE_OPACITY, strokeWidth=6).encode(
        x=alt.X("low", **along), x2=alt.X2("high")
    )
    medians = base.mark_point(filled=True, size=45, opacity=1).encode(
        x=alt.X("value", **along),
        tooltip=[
            alt.Tooltip("what", type="nominal"),
            *(alt.Tooltip(one, type="quantitative") for one in ("value", "low", "high")),
        ],
    )
    words = base.mark_text(align="left", dx=7, fontSize=11).encode(
        x=alt.value("width"), text=alt.Text("shown", type="nominal")
    )
    return alt.layer(
        ranges, medians, words, width=_WIDTH, height=_ROW_PIXELS * len(rows), title=title
    )


def _rows(lines: Sequence[Line], measure: Measure) -> list[dict[str, object]]:
    sizes = {result.bytes for line in lines for result in line.results}
    found: list[dict[str, object]] = []
    for line in lines:
        for result in line.results:
            size = format_size(result.bytes) if len(sizes) > 1 else ""
            value = measure.of(result)
            found.append(
                {
                    "what": ", ".join(filter(None, (line.label, size)))
                    or format_size(result.bytes),
                    "colour": _COLOUR,
                    "value": value,
                    "low": (result.min or 0.0) * measure.factor,
                    "high": (result.max or 0.0) * measure.factor,
                    "shown": measure.shown(value),
                }
            )
    return found
