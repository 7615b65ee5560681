"""The chapter that shows how the figures of one machine, or of several, went from run to run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from isthmus.compare.comparison import DEFAULT_TOLERANCE
from isthmus.compare.machines import identity_of
from isthmus.report.curves import HEIGHT, WIDTH
from isthmus.report.document.figures import figure
from isthmus.report.document.lookup import DIRECTIONS, bandwidths, passed
from isthmus.report.document.parts import Chapter, Figure
from isthmus.report.drawing import (
    COLOURS,
    colour_axis,
    data_of,
    described,
    number_axis,
    shown_number,
)
from isthmus.report.label_places import scale_of
from isthmus.report.page import Table
from isthmus.report.quantities import percent, readable
from isthmus.run.model import Result, Run
from isthmus.run.naming import Kind, directed_name
from isthmus.sizes import format_size

BySize = dict[int, Result]
_AXES = {"B/s": (1e-9, "GB/s, median"), "s": (1e6, "microseconds, median")}
_LINE_WIDTH = 2.0


@dataclass(frozen=True, kw_only=True)
class Subject:
    """
    One figure that is followed.

    Attributes:
        picture: The title of its picture.
        name: Its own.
        find: Its results in a run, by their size.
    """

    picture: str
    name: str
    find: Callable[[Run], BySize]


@dataclass(frozen=True, kw_only=True)
class Series:
    """
    A figure of one machine, from run to run.

    Attributes:
        subject: Which.
        name: Its name, with its size, and its machine if there are several.
        results: The runs that have it, in the order of time, each with its result.
    """

    subject: Subject
    name: str
    results: tuple[tuple[Run, Result], ...]

    @property
    def change(self) -> float | None:
        """The last value over the median of the earlier ones, less 1; None if there is one only."""
        values = [result.median or 0.0 for _, result in self.results]
        usual = median(values[:-1]) if values[:-1] else 0.0
        return values[-1] / usual - 1 if usual else None


def _copies(direction: str, way: str) -> Callable[[Run], BySize]:
    return lambda run: bandwidths(run, direction, way)


def _small(direction: str, way: str) -> Callable[[Run], BySize]:
    test = directed_name(direction, Kind.SMALL_COPY, way)
    return lambda run: passed(run, test, "completion")


def _pinning(way: str) -> Callable[[Run], BySize]:
    return lambda run: passed(run, f"alloc_{way}", "allocate")


_SUBJECTS = (
    *(
        Subject(picture="Large copies", name=f"{noun}, {memory}", find=_copies(to, way))
        for memory, way in (("pinned", "ce"), ("pageable", "pageable"))
        for to, noun in DIRECTIONS.items()
    ),
    *(
        Subject(picture="Small copies, until complete", name=f"{noun}, {way}", find=_small(to, way))
        for way in ("blocking", "window")
        for to, noun in DIRECTIONS.items()
    ),
    *(
        Subject(picture="Pinning memory", name=name, find=_pinning(way))
        for name, way in (
            ("cudaMallocHost", "cuda_malloc_host"),
            ("isthmus.pinned", "isthmus_pinned"),
        )
    ),
)
_SMALLEST = frozenset({"Small copies, until complete"})


def history_chapter(runs: Sequence[Run], *, with_pictures: bool = True) -> Chapter:
    """
    Follow the main figures from run to run.

    Args:
        runs: Of one kind; at least one. Their order doesn't matter.
        with_pictures: Whether there are figures, too.
    """
    ordered = sorted(runs, key=lambda run: (run.run.started_at, run.run.id))
    series = _all_series(ordered)
    pictures = dict.fromkeys(one.subject.picture for one in series) if with_pictures else {}
    groups = [[one for one in series if one.subject.picture == name] for name in pictures]
    return Chapter(
        id="history",
        title="History",
        sentences=(_span(ordered), *_changes(series)),
        figures=tuple(
            _figure(group[start : start + len(COLOURS)])
            for group in groups
            for start in range(0, len(group), len(COLOURS))
        ),
        tables=(_table(ordered, series),) if series else (),
    )


def _all_series(runs: Sequence[Run]) -> list[Series]:
    machines: dict[tuple[str | None, ...], list[Run]] = {}
    for run in runs:
        machines.setdefault(identity_of(run.machine), []).append(run)
    found = []
    for number, own in enumerate(machines.values(), start=1):
        device = own[0].machine.device.name
        whose = f", {device} ({number})" if len(machines) > 1 else ""
        found += [one for subject in _SUBJECTS if (one := _series(subject, own, whose))]
    return found


def _series(subject: Subject, runs: Sequence[Run], whose: str) -> Series | None:
    """Follow a figure at the largest (of small copies: 4 B or the smallest) size that all have."""
    having = [(run, found) for run in runs if (found := subject.find(run))]
    if not having:
        return None
    common = set.intersection(*(set(found) for _, found in having))
    if not common:
        return None
    size = min(common, key=lambda one: abs(one - 4)) if _is_small(subject) else max(common)
    return Series(
        subject=subject,
        name=f"{subject.name}, {format_size(size)}{whose}",
        results=tuple((run, found[size]) for run, found in having),
    )


def _is_small(subject: Subject) -> bool:
    return subject.picture in _SMALLEST


def _span(runs: Sequence[Run]) -> str:
    first, last = runs[0].run, runs[-1].run
    machines = len({identity_of(run.machine) for run in runs})
    whose = f" of {machines} machines" if machines > 1 else ""
    if len(runs) == 1:
        return f"There is one run{whose}: {last.id}, {last.started_at:%Y-%m-%d}."
    return (
        f"{len(runs)} runs{whose}, from {first.started_at:%Y-%m-%d} to {last.started_at:%Y-%m-%d}. "
        f"What follows below is of the last one, {last.id}."
    )


def _changes(series: Sequence[Series]) -> list[str]:
    """Say which figures of the last run differ from the median of the earlier ones."""
    judged = [(one, change) for one in series if (change := one.change) is not None]
    if not judged:
        return []
    moved = [f"{one.name} {percent(change)}" for one, change in judged if _moved(change)]
    within = f"within {DEFAULT_TOLERANCE * 100:.0f} % of the median of the earlier runs"
    if not moved:
        return [f"Each of {len(judged)} figures is {within}."]
    kept = f"{len(judged) - len(moved)} of {len(judged)} figures are {within}"
    more = "`isthmus report --compare` judges whether that is more than noise"
    return [f"{kept}. Not so: {'; '.join(moved)}. {more}."]


def _moved(change: float) -> bool:
    return abs(change) > DEFAULT_TOLERANCE


def _figure(series: Sequence[Series]) -> Figure:
    import altair as alt

    factor, unit = _AXES[series[0].results[0][1].unit]
    rows = [row for colour, one in enumerate(series) for row in _rows(one, colour, factor)]
    scale = scale_of([float(str(row["value"])) for row in rows], HEIGHT)
    shown, ticks = number_axis(scale)
    base = alt.Chart(data_of(rows)).encode(
        x=alt.X("when", type="temporal", title="run", scale=alt.Scale(type="utc")),
        y=alt.Y("value", type="quantitative", title=unit, scale=shown, axis=ticks),
        color=colour_axis(),
    )
    chart = alt.layer(
        base.mark_line(strokeWidth=_LINE_WIDTH),
        base.mark_point(filled=True, opacity=1, size=30),
        width=WIDTH,
        height=HEIGHT,
    )
    words = "; ".join(f"{one.name} {_range(one, factor)}" for one in series)
    title = f"{series[0].subject.picture}, from run to run"
    return figure(title, described(chart), kind="history", words=f"{unit}: {words}")


def _rows(series: Series, colour: int, factor: float) -> list[Mapping[str, object]]:
    return [
        {
            "what": series.name,
            "colour": colour,
            "width": _LINE_WIDTH,
            "run": run.run.id,
            "when": run.run.started_at.isoformat(),
            "value": (result.median or 0.0) * factor,
        }
        for run, result in series.results
    ]


def _range(series: Series, factor: float) -> str:
    values = [(result.median or 0.0) * factor for _, result in series.results]
    return f"{shown_number(min(values))} to {shown_number(max(values))}"


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
