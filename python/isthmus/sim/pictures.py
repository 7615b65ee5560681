"""Pictures of a run and of a sweep: Vega-Lite by altair; SVG, PNG and HTML offline."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isthmus.ground.spelling import one_line
from isthmus.show.pictures.drawing import WIDTH, check_pictures, data_of, write_chart

if TYPE_CHECKING:
    import altair as alt
    from numpy.typing import NDArray

    from isthmus import _native
    from isthmus.sim.result import SimulationResult
    from isthmus.sim.timeline import Row

    Numbers = NDArray[np.float64]
    Rows = Sequence[Mapping[str, object]]

_PS_PER_US = 1e6
_BINS = 128
_PAGE_BYTES = 2 << 20
_MOST_PAGES = 64
_LOW, _MIDDLE, _TALL, _ROW = 14, 80, 300, 12
_MODELLED = "modelled, not measured"
# In the order of `SimStalls`; the words that tables have.
_CAUSES = ("issue", "memory", "page walks", "migration", "barriers")


def draw_run(
    name: str,
    program: "_native.TraceProgram",
    result: "SimulationResult",
    events: "_native.SimTimeline",
    folder: Path,
) -> list[Path]:
    """Draw a run's link, migrations, pages and waits over time, into a folder that exists."""
    check_pictures()
    import altair as alt

    edges = np.linspace(0, max(result.total_ps, 1), _BINS + 1)
    title = alt.TitleParams(f"{one_line(program.name)}, {one_line(name)}", subtitle=_MODELLED)
    panels = list(_panels(program, result, events, edges))
    chart = alt.vconcat(*panels, title=title, spacing=8).resolve_scale(color="independent")
    return write_chart(chart, folder / f"run-{re.sub('[^A-Za-z0-9-]+', '_', name)}")


def draw_sweep(points: Sequence[tuple[Mapping[str, str], int]], folder: Path) -> list[Path]:
    """
    Draw the times of points, which are values of axes and picoseconds: over the first axis whose
    values begin with digits, or else the first one, with a line for each combination of the others.
    """
    check_pictures()
    import altair as alt

    axes = list(points[0][0])
    numbers = [axis for axis in axes if all(place[axis][:1].isdigit() for place, _ in points)]
    across = (numbers or axes)[0]
    others = [axis for axis in axes if axis != across]
    rows = [
        {
            "x": one_line(place[across]),
            "line": ", ".join(one_line(place[axis]) for axis in others),
            "us": time_ps / _PS_PER_US,
        }
        for place, time_ps in points
    ]
    chart = alt.Chart(data_of(rows))
    chart = chart.mark_line(point=True) if numbers else chart.mark_point(filled=True, size=60)
    drawn = chart.encode(
        x=alt.X("x:O", title=across, sort=None, axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y("us:Q", title="time, us", scale=alt.Scale(zero=False)),
        color=alt.Color("line:N", title=", ".join(others), sort=None),
        tooltip=["x:N", "line:N", "us:Q"],
    ).properties(width=WIDTH, height=_TALL, title=alt.TitleParams("time", subtitle=_MODELLED))
    return write_chart(drawn, folder / "sweep")


def _panels(
    program: "_native.TraceProgram",
    result: "SimulationResult",
    events: "_native.SimTimeline",
    edges: "Numbers",
) -> "Iterator[alt.Chart]":
    import altair as alt

    streams = [launch.stream for launch in program.launches]
    spans = (result.launch_ps / _PS_PER_US).tolist()
    kernels = [
        {"from": start, "to": end, "what": one_line(name), "stream": stream}
        for name, stream, (start, end) in zip(events.kernels, streams, spans, strict=True)
    ]
    num = len(set(streams))
    lanes = alt.Y("stream:N", title=None, axis=alt.Axis(labelOverlap=True) if num > 1 else None)
    title = "kernels" if num == 1 else "kernels, by stream"
    colour = alt.Color("what:N", legend=None)
    tips = ["what:N", "from:Q"]
    yield _panel(kernels, title, edges, min(_TALL, _LOW * num), y=lanes, color=colour, tooltip=tips)
    middles = (edges[:-1] + edges[1:]) / 2
    for way in ("GPU", "CPU"):
        busy = result.link.to_gpu if way == "GPU" else result.link.to_cpu
        place = (middles / (result.link.bin_seconds * 1e12)).astype(int)
        rows = _bins(edges, {"busy": busy[np.minimum(place, len(busy) - 1)]})
        share = alt.Y(
            "low:Q", title=None, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
        )
        yield _panel(rows, f"link to the {way}, busy", edges, _MIDDLE // 2, y=share, y2="high:Q")
    number = alt.Y("low:Q", title=None)
    if moved := [row for row in events.rows if row[0] == "migration"]:
        starts, ends = (np.sort(np.array([row[place] for row in moved])) for place in (3, 4))
        begun, done = (np.searchsorted(times, middles, "right") for times in (starts, ends))
        rows = _bins(edges, {"migrations": (begun - done).astype(np.float64)})
        yield _panel(rows, "migrations under way", edges, _MIDDLE, y=number, y2="high:Q")
        yield _pages(moved, edges)
    end = [result.total_ps, *result.stall_ps.values()]
    samples = [counts[: len(end)] for counts in events.samples]
    spent = np.array([[0] * len(end), *samples, end], np.float64).T
    warps = {
        cause: np.diff(np.interp(edges, spent[0], spent[at])) / np.diff(edges)
        for at, cause in enumerate(_CAUSES, start=1)
    }
    colour = alt.Color("what:N", title=None, sort=list(_CAUSES))
    title = "warps, by what their time went on; counted when a wait ends"
    rows = _bins(edges, warps)
    yield _panel(rows, title, edges, _MIDDLE, "time, us", y=number, y2="high:Q", color=colour)


def _panel(
    rows: "Rows",
    title: str,
    edges: "Numbers",
    height: int,
    below: str | None = None,
    **parts: object,
) -> "alt.Chart":
    """Draw rectangles over time."""
    import altair as alt

    domain = alt.Scale(domain=[0, float(edges[-1]) / _PS_PER_US], nice=False)
    chart: alt.Chart = (
        alt.Chart(data_of(rows))
        .mark_rect()
        .encode(x=alt.X("from:Q", title=below, scale=domain), x2="to:Q", **parts)
        .properties(
            width=WIDTH,
            height=height,
            title=alt.TitleParams(title, anchor="start", frame="group", fontSize=11),
        )
    )
    return chart


def _bins(edges: "Numbers", columns: "Mapping[str, Numbers]") -> "Rows":
    """Give a row for each bin and column, the columns on top of each other."""
    times = (edges / _PS_PER_US).tolist()
    rows: list[dict[str, object]] = []
    low = np.zeros(_BINS)
    for name, values in columns.items():
        high = low + values
        rows += [
            {"from": times[at], "to": times[at + 1], "what": name, "low": under, "high": over}
            for at, (under, over) in enumerate(zip(low.tolist(), high.tolist(), strict=True))
        ]
        low = high
    return rows


def _pages(moved: "Sequence[Row]", edges: "Numbers") -> "alt.Chart":
    import altair as alt

    pages = np.array([row[1] // _PAGE_BYTES for row in moved])
    known = np.unique(pages)
    together = -(-len(known) // _MOST_PAGES)
    names = [f"{int(page) * _PAGE_BYTES:#x}" for page in known[::together]]
    lanes = np.searchsorted(known, pages) // together
    times = np.clip(np.searchsorted(edges, [row[4] for row in moved]) - 1, 0, _BINS - 1)
    found = np.zeros((len(names), _BINS))
    np.add.at(found, (lanes, times), [row[2] / 1024 for row in moved])
    shown = (edges / _PS_PER_US).tolist()
    rows = [
        {"from": shown[at], "to": shown[at + 1], "page": names[lane], "KiB": found[lane, at]}
        for lane, at in np.argwhere(found).tolist()
    ]
    title = f"arrivals; a row is {'' if together == 1 else f'{together} times '}2 MiB of addresses"
    y = alt.Y("page:N", title=None, sort=names, axis=alt.Axis(labelOverlap=True))
    colour = alt.Color("KiB:Q", scale=alt.Scale(scheme="viridis", type="log"))
    height = min(_TALL, _ROW * (len(names) + 1))
    return _panel(rows, title, edges, height, y=y, color=colour, tooltip=["page:N", "KiB:Q"])
