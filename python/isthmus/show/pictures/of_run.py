"""The pictures of a run: bandwidths and times, every suite that measured any."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.ground.spelling import counted
from isthmus.measure.run.model import Run, Status
from isthmus.show.pictures.curves import HEIGHT, Look, colours_of, curves_panel
from isthmus.show.pictures.drawing import check_pictures, write_chart
from isthmus.show.pictures.label_places import scale_of
from isthmus.show.pictures.lines import (
    Line,
    Panel,
    drawable,
    in_sixes,
    merged,
    panels_by_theme,
    relative_to,
)
from isthmus.show.pictures.points import points_panel
from isthmus.show.pictures.themes import Theme

if TYPE_CHECKING:
    import altair as alt

_AXES = {"B/s": (1e-9, "GB/s, median"), "s": (1e6, "microseconds, median")}
# More don't fit on a screen.
_MOST_PANELS = 8
_COLUMNS = 2
_MOST_ROWS = 24


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What became of drawing a run."""

    files: tuple[Path, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PanelChart:
    """
    One panel of a picture.

    Attributes:
        factor: From a result's unit to the axis's.
        are_curves: Whether these are curves over sizes; if not, each result has a row.
        chart: The drawing, without a configuration.
    """

    title: str
    unit: str
    factor: float
    lines: tuple[Line, ...]
    are_curves: bool
    chart: "alt.LayerChart | alt.FacetChart"


def draw_run(run: Run, folder: Path) -> Drawn:
    """Draw a run's results into a folder that exists."""
    check_pictures()
    files = [
        path for name, chart in charts(run).items() for path in write_chart(chart, folder / name)
    ]
    return Drawn(files=tuple(files), missing=tuple(missing_pictures(run)))


def missing_pictures(run: Run) -> list[str]:
    """Say for each suite without a picture why it has none."""
    drawn = {result.suite for result in drawable(run)}
    suites = dict.fromkeys(result.suite for result in run.results)
    lines = [f"{suite or 'all'}: {_why_not(run, suite)}" for suite in suites if suite not in drawn]
    return lines or ([] if drawn else ["nothing: the run has no results"])


def _why_not(run: Run, suite: str) -> str:
    own = [result for result in run.results if result.suite == suite]
    failed = [result.error.message for result in own if result.error is not None]
    waived = [result.reason for result in own if result.status == Status.WAIVED and result.reason]
    for words, reasons in (("failed", failed), ("was waived", waived)):
        if reasons:
            more = len(set(reasons)) - 1
            others = f", and {counted(more, 'other reason')}" if more else ""
            return f"no picture, everything {words}: {reasons[0]}{others}"
    return "no picture, none of its results is a time or a rate above zero"


def charts(run: Run) -> "dict[str, alt.TopLevelMixin]":
    """Make every picture of a run, by the name of its file."""
    drawn: dict[str, alt.TopLevelMixin] = {}
    for name, (theme, panels) in panels_by_theme({"": drawable(run)}).items():
        made = iter([panel.chart for panel in panel_charts(theme, panels)])
        part = 1
        while some := list(islice(made, _MOST_PANELS)):
            drawn[name if part == 1 else f"{name}-{part}"] = _picture(run, theme, some, part)
            part += 1
    return drawn


def panel_charts(theme: Theme, panels: Sequence[Panel]) -> list[PanelChart]:
    """
    Draw the panels of a picture, of more than six curves as several. A name has the same colour in
    all of them, as far as these go.
    """
    colours = colours_of(line.label for panel in panels for line in panel.curves)
    return [chart for panel in panels for chart in _panel_charts(theme, panel, colours)]


def _panel_charts(theme: Theme, panel: Panel, colours: Mapping[str, int]) -> list[PanelChart]:
    factor, unit = _AXES[panel.unit]
    look = Look(factor=factor, unit=unit, ranges=theme.spread, colours=colours)
    made = _curve_charts(panel.title, panel.curves, look)
    if theme.reference is not None:
        ratio = replace(look, factor=1.0, unit=f"{theme.reference} memory = 1")
        title = f"{panel.title}, relative to {theme.reference} memory"
        made += _curve_charts(title, relative_to(panel.curves, theme.reference), ratio)
    for start in range(0, len(panel.points), _MOST_ROWS):
        rows = panel.points[start : start + _MOST_ROWS]
        title = f"{panel.title}, at few sizes" if panel.curves else panel.title
        made.append(
            PanelChart(
                title=title,
                unit=unit,
                factor=factor,
                lines=rows,
                are_curves=False,
                chart=points_panel(title, rows, factor=factor, unit=unit),
            )
        )
    return made


def _curve_charts(title: str, curves: Sequence[Line], look: Look) -> list[PanelChart]:
    if not curves:
        return []
    values = [(r.median or 0.0) * look.factor for line in curves for r in line.results]
    scale = scale_of(values, HEIGHT)
    groups = in_sixes(merged(curves, scale, look.factor))
    titles = [_numbered(title, index, len(groups)) for index in range(len(groups))]
    return [
        PanelChart(
            title=own,
            unit=look.unit,
            factor=look.factor,
            lines=tuple(group),
            are_curves=True,
            chart=curves_panel(own, group, scale, look),
        )
        for own, group in zip(titles, groups, strict=True)
    ]


def _numbered(title: str, index: int, number: int) -> str:
    return title if number == 1 else f"{title}, {index + 1} of {number}".removeprefix(", ")


def _picture(
    run: Run, theme: Theme, panels: "Sequence[alt.LayerChart | alt.FacetChart]", part: int
) -> "alt.TopLevelMixin":
    import altair as alt

    machine = run.machine
    emulated = "EMULATED, no GPU measured; " if machine.emulated else ""
    title = alt.TitleParams(
        theme.title if part == 1 else f"{theme.title} ({part})",
        subtitle=f"{emulated}{machine.device.name}, run {run.run.id}",
        anchor="start",
    )
    chart: alt.TopLevelMixin = alt.concat(*panels, columns=_COLUMNS, spacing=40).properties(
        title=title
    )
    return chart
