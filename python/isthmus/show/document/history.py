"""The chapter that shows how the figures of one machine, or of several, went from run to run."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from isthmus.ground.spelling import counted
from isthmus.measure.compare.comparison import DEFAULT_TOLERANCE
from isthmus.measure.compare.machines import identity_of
from isthmus.measure.run.model import Run
from isthmus.show.document.figures import figure
from isthmus.show.document.history_series import Series, all_series
from isthmus.show.document.impossible import possible
from isthmus.show.document.parts import Chapter, Figure
from isthmus.show.page import Table
from isthmus.show.pictures.curves import WIDTH
from isthmus.show.pictures.drawing import (
    COLOURS,
    HEIGHT,
    MEASURES,
    Measure,
    colour_axis,
    data_of,
    described,
    number_axis,
)
from isthmus.show.pictures.label_places import scale_of
from isthmus.show.quantities import percent, readable

_MANY_TICKS = 6
_A_DAY_OR_TWO, _MOST_OF_A_YEAR = timedelta(days=2), timedelta(days=300)
_LINE_WIDTH = 2.0


def history_chapter(runs: Sequence[Run], *, with_pictures: bool = True) -> Chapter:
    """Follow the main figures from run to run."""
    ordered = sorted(map(possible, runs), key=lambda run: (run.run.started_at, run.run.id))
    series = all_series(ordered)
    pictures = dict.fromkeys(one.subject.picture for one in series) if with_pictures else {}
    groups = [[one for one in series if one.subject.picture == name] for name in pictures]
    return Chapter(
        id="history",
        title="History",
        sentences=(_span(ordered), *_told(ordered, series)),
        figures=tuple(
            _figure(group[start : start + len(COLOURS)])
            for group in groups
            for start in range(0, len(group), len(COLOURS))
        ),
        tables=(_table(ordered, series),) if series else (),
    )


def _span(runs: Sequence[Run]) -> str:
    first, last = runs[0].run, runs[-1].run
    machines = len({identity_of(run.machine) for run in runs})
    whose = f" of {machines} machines" if machines > 1 else ""
    if len(runs) == 1:
        return f"There is one run{whose}: {last.id}, {last.started_at:%Y-%m-%d}."
    return (
        f"{len(runs)} runs{whose}, from {first.started_at:%Y-%m-%d} to {last.started_at:%Y-%m-%d}. "
        f"The verdict and the other chapters are about the last one, {last.id}."
    )


def _told(runs: Sequence[Run], series: Sequence[Series]) -> list[str]:
    several = len({identity_of(run.machine) for run in runs}) > 1
    return [
        *_changes(series, "the last run of each machine" if several else "the last run"),
        *_absent(series, "The last run of the machine" if several else "The last run"),
    ]


def _changes(series: Sequence[Series], last: str) -> list[str]:
    """Say which figures of the last run differ from the median of the earlier ones."""
    judged = [(one, change) for one in series if (change := one.change) is not None]
    if not judged:
        return []
    moved = [f"{one.name} ({percent(change)})" for one, change in judged if _moved(change)]
    tolerance = f"{DEFAULT_TOLERANCE * 100:.0f} %"
    num_kept = len(judged) - len(moved)
    kept = f"{num_kept} of {counted(len(judged), 'figure')} {'lies' if num_kept == 1 else 'lie'}"
    sentence = f"In {last}, {kept} within {tolerance} of the median of the earlier runs."
    if not moved:
        return [sentence]
    differ = "This one differs" if len(moved) == 1 else "These differ"
    more = "`isthmus compare` judges whether that is more than noise"
    return [f"{sentence} {differ} by more: {'; '.join(moved)}. {more}."]


def _absent(series: Sequence[Series], last: str) -> list[str]:
    """Name the figures that the last run lacks, so that nobody takes them for unchanged."""
    names = [one.name for one in series if not one.in_last_run]
    if not names:
        return []
    figures = f"{counted(len(names), 'figure')} of earlier runs"
    return [f"{last} has no number for {figures}: {'; '.join(names)}."]


def _moved(change: float) -> bool:
    return abs(change) > DEFAULT_TOLERANCE


def _figure(series: Sequence[Series]) -> Figure:
    import altair as alt

    measure = MEASURES[series[0].results[0][1].unit]
    rows = [row for colour, one in enumerate(series) for row in _rows(one, colour, measure)]
    scale = scale_of([float(str(row["value"])) for row in rows], HEIGHT)
    shown, ticks = number_axis(scale, measure.shown)
    base = alt.Chart(data_of(rows)).encode(
        x=alt.X(
            "when",
            type="temporal",
            title="run (UTC)",
            scale=alt.Scale(type="utc"),
            axis=alt.Axis(format=_date_format(series), tickCount=_MANY_TICKS),
        ),
        y=alt.Y("value", type="quantitative", title=measure.title, scale=shown, axis=ticks),
        color=colour_axis(),
    )
    chart = alt.layer(
        base.mark_line(strokeWidth=_LINE_WIDTH),
        base.mark_point(filled=True, opacity=1, size=30),
        width=WIDTH,
        height=HEIGHT,
    )
    told = "; ".join(f"{one.name} {_range(one, measure)}" for one in series)
    words = f"{measure.title}: {told}"
    title = f"{series[0].subject.picture}, from run to run"
    return figure(title, described(chart), kind="history", words=words, shown=measure.shown)


def _date_format(series: Sequence[Series]) -> str:
    """Write times, days or months, as the time between the first and the last run has it."""
    times = [run.run.started_at for one in series for run, _ in one.results]
    span = max(times) - min(times)
    if span < _A_DAY_OR_TWO:
        return "%H:%M"
    return "%b %-d" if span < _MOST_OF_A_YEAR else "%b %Y"


def _rows(series: Series, colour: int, measure: Measure) -> list[Mapping[str, object]]:
    return [
        {
            "what": series.name,
            "colour": colour,
            "width": _LINE_WIDTH,
            "run": run.run.id,
            "when": run.run.started_at.isoformat(),
            "value": measure.of(result),
        }
        for run, result in series.results
    ]


def _range(series: Series, measure: Measure) -> str:
    values = [measure.of(result) for _, result in series.results]
    return f"{measure.shown(min(values))} to {measure.shown(max(values))}"


def _table(runs: Sequence[Run], series: Sequence[Series]) -> Table:
    return Table(
        title="The main figures of each run (median)",
        heads=("started (UTC)", "run", *(one.name for one in series)),
        rows=tuple(
            (
                f"{run.run.started_at:%Y-%m-%d %H:%M}",
                run.run.id,
                *(_cell(one, run) for one in series),
            )
            for run in runs
        ),
        num_text_columns=2,
    )


def _cell(series: Series, run: Run) -> str:
    found = next((result for own, result in series.results if own is run), None)
    return "" if found is None else readable(found.median or 0.0, found.unit)
