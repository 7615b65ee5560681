"""The pictures of a run: bandwidths and times over sizes, suite by suite."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.report import pinned_vs_pageable
from isthmus.report.drawing import (
    HEIGHT,
    WIDTH,
    check_pictures,
    data_of,
    size_axis,
    write_chart,
)
from isthmus.report.picture_lines import Line, lines_by_suite, parts_of
from isthmus.run.model import Run

if TYPE_CHECKING:
    import altair as alt

_BYTES_PER_GB = 1e9
_US_PER_S = 1e6
_WHAT = {"B/s": "bandwidth", "s": "time"}


def draw_run(run: Run, folder: Path) -> list[Path]:
    """
    Draw a run's results into a folder that exists.

    Returns:
        The files: none if nothing was measured at three sizes or more.

    Raises:
        Unavailable: altair or vl-convert isn't installed.
        WriteError: One can't be written.
    """
    check_pictures()
    return [
        path for name, chart in charts(run).items() for path in write_chart(chart, folder / name)
    ]


def charts(run: Run) -> "dict[str, alt.TopLevelMixin]":
    """Make every picture of a run, by the name of its file."""
    drawn: dict[str, alt.TopLevelMixin] = {}
    if (pinned := pinned_vs_pageable.chart(run)) is not None:
        drawn["pinned-vs-pageable"] = pinned
    for (suite, unit), lines in lines_by_suite(run).items():
        for part, chosen in parts_of(lines).items():
            what = "" if suite == _WHAT[unit] else _WHAT[unit]
            words = [word for word in (suite, what, part) if word]
            name = "-".join(words).replace("_", "-").replace(" ", "-")
            drawn[name] = _over_sizes(run, ", ".join(words), unit, chosen)
    return drawn


def _over_sizes(run: Run, about: str, unit: str, lines: Sequence[Line]) -> "alt.TopLevelMixin":
    import altair as alt

    rate = unit == "B/s"
    factor, title = (1 / _BYTES_PER_GB, "GB/s") if rate else (_US_PER_S, "us")
    rows = [
        {
            "what": line.name,
            "bytes": result.bytes,
            "median": (result.median or 0.0) * factor,
            "low": (result.min or 0.0) * factor,
        }
        for line in lines
        for result in line.results
    ]
    sizes = sorted({result.bytes for line in lines for result in line.results})
    # Zero can't be drawn on a logarithmic axis.
    drawn = [row for row in rows if rate or float(str(row["median"])) > 0]
    scale = alt.Scale(zero=True) if rate else alt.Scale(type="log")
    chart: alt.Chart = (
        alt.Chart(data_of(drawn))
        .mark_line(point=True)
        .encode(
            x=size_axis("bytes", sizes),
            y=alt.Y("median:Q", title=f"{title}, median", scale=scale),
            color=alt.Color(
                "what:N",
                sort=[line.name for line in lines],
                title=None,
                scale=alt.Scale(scheme="tableau20"),
                legend=alt.Legend(orient="bottom", columns=2, labelLimit=WIDTH // 2),
            ),
            tooltip=["what:N", "bytes:Q", "median:Q", "low:Q"],
        )
        .properties(width=WIDTH, height=HEIGHT, title=_title(run, about))
    )
    return chart


def _title(run: Run, about: str) -> "alt.TitleParams":
    import altair as alt

    machine = run.machine
    emulated = "EMULATED, no GPU measured; " if machine.emulated else ""
    return alt.TitleParams(
        about.replace("_", " ").capitalize(),
        subtitle=f"{emulated}{machine.device.name}, run {run.run.id}",
    )
