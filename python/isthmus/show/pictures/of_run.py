"""The pictures of a run: bandwidths and times, every suite that measured any."""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isthmus.ground.spelling import counted
from isthmus.measure.run.model import Run, Status
from isthmus.show.pictures.curves import Look, colours_of, curves_panel
from isthmus.show.pictures.drawing import MEASURES, Measure, check_pictures, write_chart
from isthmus.show.pictures.label_places import Scale
from isthmus.show.pictures.lines import (
    Line,
    Panel,
    drawable,
    in_sixes,
    merged,
    panels_by_theme,
    relative_to,
    scale_over,
)
from isthmus.show.pictures.points import points_panel
from isthmus.show.pictures.themes import Theme

if TYPE_CHECKING:
    import altair as alt

# More don't fit on a screen.
_MOST_PANELS = 8
_COLUMNS = 2
# Panels that differ in these words alone are compared: they have one scale.
_DIRECTION = re.compile(
    r"\b(H2D|D2H|(host|device|all) to (host|device|all)|write|read|upload|download)\b(, )?"
)
_MOST_ROWS = 24


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What became of drawing a run."""

    files: tuple[Path, ...]
    missing: tuple[str, ...]


class Part(NamedTuple):
    """Curves over sizes, or results with a row each; those of one family have one scale."""

    title: str
    measure: Measure
    lines: Sequence[Line]
    are_curves: bool
    family: Hashable


@dataclass(frozen=True, kw_only=True)
class PanelChart:
    """One panel of a picture: some lines of a part, and their drawing without a configuration."""

    title: str
    part: Part
    lines: Sequence[Line]
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
    themes = panels_by_theme({"": drawable(run)})
    for name, panels in panel_charts(themes).items():
        made = iter([panel.chart for panel in panels])
        part = 1
        while some := list(islice(made, _MOST_PANELS)):
            picture = _picture(run, themes[name][0], some, part)
            drawn[name if part == 1 else f"{name}-{part}"] = picture
            part += 1
    return drawn


def panel_charts(
    themes: Mapping[str, tuple[Theme, Sequence[Panel]]],
) -> dict[str, list[PanelChart]]:
    """
    Draw the panels of pictures, of more than six curves as several. Those of both directions have
    one scale; in a picture a name has one colour, as far as these go.
    """
    parts = {name: list(_parts(*both)) for name, both in themes.items()}
    families: dict[Hashable, list[Line]] = {}
    for part in chain.from_iterable(parts.values()):
        families.setdefault(part.family, []).extend(part.lines)
    found: dict[str, list[PanelChart]] = {name: [] for name in themes}
    for name, (theme, panels) in themes.items():
        colours = colours_of(line.label for panel in panels for line in panel.curves)
        for part in parts[name]:
            look = Look(measure=part.measure, ranges=theme.spread, colours=colours)
            found[name] += _charts(part, scale_over(families[part.family], part.measure), look)
    return found


def _parts(theme: Theme, panels: Sequence[Panel]) -> Iterator[Part]:
    """Divide panels into curves, these relative to one of them, and single points."""
    for panel in panels:
        title, measure, curves = panel.title, MEASURES[panel.unit], panel.curves
        memory = f"{theme.reference} memory"
        ratio = Measure(factor=1.0, title=f"{memory} = 1")
        few = f"{title}, at few sizes" if curves else title
        ratios = relative_to(curves, theme.reference) if theme.reference else []
        for own, unit, lines in (
            (title, measure, curves),
            (f"{title}, relative to {memory}", ratio, ratios),
            (few, measure, panel.points),
        ):
            if lines:
                are_curves = lines is not panel.points
                family = _DIRECTION.sub("", f"{theme.title}: {title}"), unit, are_curves
                yield Part(own, unit, lines, are_curves, family)


def _charts(part: Part, scale: Scale, look: Look) -> Iterator[PanelChart]:
    lines = part.lines
    if part.are_curves:
        groups = in_sixes(merged(lines, scale, part.measure.factor))
    else:
        groups = [list(lines[at : at + _MOST_ROWS]) for at in range(0, len(lines), _MOST_ROWS)]
    for number, group in enumerate(groups, start=1):
        ending = f", {number} of {len(groups)}" if len(groups) > 1 else ""
        title = f"{part.title}{ending}".removeprefix(", ")
        chart = (
            curves_panel(title, group, scale, look)
            if part.are_curves
            else points_panel(title, group, part.measure, scale)
        )
        yield PanelChart(title=title, part=part, lines=group, chart=chart)


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
