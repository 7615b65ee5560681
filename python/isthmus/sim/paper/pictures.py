"""The evaluation as pictures: Vega-Lite by altair; SVG, PNG and HTML by vl-convert, offline."""

import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.ground.sizes import format_size, parse_size
from isthmus.show.pictures.drawing import WIDTH, check_pictures, data_of, write_chart
from isthmus.sim.paper.evaluation import Evaluation, means
from isthmus.sim.paper.studies import BANDWIDTHS, UNITS

if TYPE_CHECKING:
    import altair as alt

_MODELLED = "modelled, not measured"
_POWERS = [0, 1, 10, 100, 1000]
_TIMES = "time / programmer's copy"
# The axes of the paper's figures.
_CUT_AT = 20
_HEIGHT = 320
# Tableau's ten.
_COLOURS = (
    *("#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f"),
    *("#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac"),
)


def draw_all(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Draw every picture into a folder that exists: .svg, .png, .html and the Vega-Lite .json."""
    check_pictures()
    drawn = {
        "figure-4": policies(evaluation, ("programmer", "single-range", "whole-page"), "4"),
        "figure-5": unit_sizes(evaluation),
        "figure-6": policies(evaluation, ("programmer", "ranges", "whole-page"), "6"),
    }
    return [path for name, chart in drawn.items() for path in write_chart(chart, folder / name)]


def policies(evaluation: Evaluation, series: Sequence[str], number: str) -> "alt.TopLevelMixin":
    """Draw normalised times by program, as the paper's Figures 4 and 6 do."""
    import altair as alt

    rows = [
        {"program": program, "series": one, "bandwidth": _spaced(bandwidth), "times": ratio}
        for bandwidth in BANDWIDTHS[:2]
        for one in series
        for program, ratio in [
            *((p, evaluation.ratio(p, one, bandwidth)) for p in evaluation.programs()),
            ("mean", means(evaluation.ratios(one, bandwidth))[0]),
        ]
    ]
    # Above the longest bar, so that none looks cut off.
    top = 1.5 * max(ratio for one in series for ratio in evaluation.ratios(one, BANDWIDTHS[0]))
    chart: alt.Chart = (
        alt.Chart(data_of(rows))
        .mark_bar()
        .encode(
            x=alt.X(
                "program:N",
                sort=[*evaluation.programs(), "mean"],
                title=None,
                axis=alt.Axis(labelAngle=0),
            ),
            xOffset=alt.XOffset("series:N", sort=list(series)),
            y=alt.Y(
                "times:Q",
                title=_TIMES,
                scale=alt.Scale(type="symlog", constant=1, domain=[0, top], nice=False),
                axis=alt.Axis(values=_POWERS),  # its own are the highest ones only
            ),
            color=alt.Color("series:N", sort=list(series), title=None),
            row=alt.Row("bandwidth:N", sort=[_spaced(one) for one in BANDWIDTHS], title=None),
            tooltip=["program:N", "series:N", "bandwidth:N", "times:Q"],
        )
        .properties(
            width=WIDTH,
            height=_HEIGHT * 2 // 3,
            title=_title(
                f"Figure {number}: {', '.join(series)}",
                f"the paper cuts its axis at {_CUT_AT}; here it is complete, and logarithmic",
            ),
        )
    )
    return chart


def unit_sizes(evaluation: Evaluation) -> "alt.TopLevelMixin":
    """Draw the time for larger units, as Figure 5 does."""
    import altair as alt

    rows = [
        {
            "program": program,
            "unit": parse_size(unit),
            "times": evaluation.unit_ratio(program, unit),
        }
        for unit in UNITS
        for program in evaluation.programs()
    ]
    rows += [
        {"program": "mean", "unit": parse_size(unit), "times": mean}
        for unit, mean in evaluation.unit_means().items()
    ]
    thick = alt.condition(alt.datum.program == "mean", alt.value(4), alt.value(1.5))
    chart: alt.Chart = (
        alt.Chart(data_of(rows))
        .mark_line(point=True)
        .encode(
            x=_size_axis("unit:Q", "unit size", UNITS),
            y=alt.Y("times:Q", title=_TIMES, scale=alt.Scale(zero=False)),
            color=alt.Color(
                "program:N",
                sort=[*evaluation.programs(), "mean"],
                scale=alt.Scale(
                    domain=[*evaluation.programs(), "mean"],
                    range=[*_COLOURS[: len(evaluation.programs())], "black"],
                ),
                title=None,
            ),
            strokeWidth=thick,
            tooltip=["program:N", "unit:Q", "times:Q"],
        )
        .properties(
            width=WIDTH,
            height=_HEIGHT,
            title=_title("Figure 5: unit size, several ranges, 16 GB/s", ""),
        )
    )
    return chart


def _title(text: str, below: str) -> "alt.TitleParams":
    import altair as alt

    return alt.TitleParams(text, subtitle="; ".join(filter(None, (_MODELLED, below))))


def _size_axis(field: str, title: str, sizes: Sequence[str]) -> "alt.X":
    import altair as alt

    scale = alt.Scale(type="log", base=2)
    return alt.X(field, title=title, scale=scale, axis=_size_labels(sizes))


def _size_labels(sizes: Sequence[str]) -> "alt.Axis":
    """Label the sizes that have a number."""
    import altair as alt

    names = {str(parse_size(size)): _size(size) for size in sizes}
    # Vega drops the first and last labels if it estimates that they don't fit.
    return alt.Axis(
        values=[int(tick) for tick in names],
        labelExpr=f"({json.dumps(names)})[datum.value]",
        labelAngle=0,
        labelFlush=False,
    )


def _size(text: str) -> str:
    return format_size(parse_size(text))


def _spaced(quantity: str) -> str:
    """Write 16GB/s as 16 GB/s."""
    number = quantity.rstrip("/" + string.ascii_letters)
    return f"{number} {quantity.removeprefix(number)}"
