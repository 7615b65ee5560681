"""Theirs beside ours as a picture: a panel for each table of the page."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isthmus.measure.run.model import Result, Status
from isthmus.reproduce.matching import Pair
from isthmus.reproduce.publication import Figure
from isthmus.reproduce.side_by_side import Reproduced
from isthmus.show.pictures.curves import Look, colours_of, curves_panel
from isthmus.show.pictures.drawing import MEASURES, Measure
from isthmus.show.pictures.lines import FEWEST_SIZES, MOST_CURVES, Line, scale_over
from isthmus.show.pictures.points import points_panel

if TYPE_CHECKING:
    import altair as alt

_MEASURES = {
    "B/s": replace(MEASURES["B/s"], title="GB/s"),
    "s": replace(MEASURES["s"], title="time"),
    "1": Measure(factor=1.0, title="times"),
    "B": Measure(factor=2**-20, title="MiB"),
}
_COLUMNS = 2


def chart_of(one: Reproduced) -> "alt.TopLevelMixin | None":
    """Draw an experiment; None if none of ours stands beside theirs."""
    import altair as alt

    panels = [*_series_panels(one), *_figure_panels(one)]
    if not panels:
        return None
    machine, source = one.run.machine, one.publication.source
    emulated = "EMULATED, no GPU measured; " if machine.emulated else ""
    title = alt.TitleParams(
        f"{one.publication.name}: theirs and ours",
        subtitle=[
            f"ours: {emulated}{machine.device.name}, run {one.run.run.id}",
            f"theirs: {source.hardware}{f', {source.year}' if source.year else ''}",
        ],
        anchor="start",
    )
    chart: alt.TopLevelMixin = alt.concat(*panels, columns=_COLUMNS, spacing=40).properties(
        title=title
    )
    return chart


def _series_panels(one: Reproduced) -> "Iterable[alt.LayerChart | alt.FacetChart]":
    for series in one.publication.series:
        pairs = [pair for pair in one.pairs if pair.figure.quantity == series.quantity]
        lines = _lines(pairs)
        if len(lines) > 1:
            yield _panel(series.quantity, lines, series.unit)


def _figure_panels(one: Reproduced) -> "Iterable[alt.LayerChart | alt.FacetChart]":
    for table in dict.fromkeys(figure.table for figure in one.publication.figure):
        for unit, measure in _MEASURES.items():
            pairs = [
                pair
                for pair in one.pairs
                if (pair.figure.table, pair.figure.unit) == (table, unit) and pair.ratio
            ]
            lines = [line for pair in pairs for line in _both(pair)]
            if lines:
                yield points_panel(table, lines, measure)


def _panel(title: str, lines: Sequence[Line], unit: str) -> "alt.LayerChart | alt.FacetChart":
    measure = _MEASURES[unit]
    if all(len(line.sizes) < FEWEST_SIZES for line in lines) or len(lines) > MOST_CURVES:
        return points_panel(title, lines, measure)
    colours = colours_of(line.label for line in lines)
    look = Look(measure=measure, ranges=False, colours=colours)
    return curves_panel(title, lines, scale_over(lines, measure), look)


def _lines(pairs: Sequence[Pair]) -> list[Line]:
    """Give theirs and ours of a series, each over the sizes that it has."""
    theirs = [spot for pair in pairs if (spot := _theirs(pair))]
    ours = [spot for pair in pairs if (spot := _ours(pair))]
    return [
        Line(label=label, results=tuple(spots))
        for label, spots in (("theirs", theirs), ("ours", ours))
        if spots
    ]


def _both(pair: Pair) -> list[Line]:
    what = pair.figure.quantity
    spots = (("theirs", _theirs(pair)), ("ours", _ours(pair)))
    return [Line(label=f"{what}, {who}", results=(spot,)) for who, spot in spots if spot]


def _theirs(pair: Pair) -> Result | None:
    figure = pair.figure
    low, high = figure.scaled(figure.low), figure.scaled(figure.high)
    ends = [end for end in (low, high) if end is not None]
    value = figure.scaled(figure.value) or (math.sqrt(ends[0] * ends[-1]) if ends else None)
    if value is None:
        return None
    least, most = figure.scaled(figure.min) or low, figure.scaled(figure.max) or high
    return _result(figure, value, least or value, most or value)


def _ours(pair: Pair) -> Result | None:
    ours = pair.ours
    if ours is None or ours.words is not None:
        return None
    return _result(pair.figure, math.sqrt(ours.low * ours.high), ours.low, ours.high)


def _result(figure: Figure, middle: float, low: float, high: float) -> Result:
    """Give a number as the result that it would be, for what draws results."""
    return Result(
        test=figure.ours.test,
        status=Status.PASSED,
        source=None,
        target=None,
        direction=None,
        bytes=figure.bytes or 1,
        metric=figure.ours.metric,
        clock="host",
        blocked=False,
        unit=figure.unit,
        median=middle,
        min=low,
        max=high,
        p99=None,
        iqr=None,
        cov=None,
        n=None,
        copies_per_sample=None,
        first_call_s=None,
        stopped_by=None,
        verified_on=None,
        cpu_cache="warm",
        host_pages_by_node=None,
    )
