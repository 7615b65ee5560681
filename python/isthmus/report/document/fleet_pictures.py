"""The pictures of a fleet: cells of GPUs and families, the spread of each family, and history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp, log
from statistics import median, quantiles
from typing import Any

from isthmus.compare.families import Family
from isthmus.fleet.health import Patient
from isthmus.fleet.standing import Standing
from isthmus.report.document.figures import figure
from isthmus.report.document.palette import variable
from isthmus.report.document.parts import Figure
from isthmus.report.pictures.drawing import COLOURS, colour_axis, data_of, described
from isthmus.suggest import one_line

MOST_CELLS = 40
"""So many GPUs, the worst, have a row of cells."""
_CELL, _MOST_WIDE, _ROW = 26, 470, 16
_SPREAD_WIDE, _SPREAD_ROW = 560, 46
_HISTORY_WIDE, _HISTORY_HIGH = 420, 240
_LONGEST_NAME, _LABEL_PIXELS = 18, 110
# So much slower or faster is the full colour.
_FULL = log(1.5)
_TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000)
# An axis that is narrower than this would make noise look large.
_LEAST_SPAN = 1.15
_MOST_HISTORIES, _FEWEST_LINES = 4, 2
_MOST_IN_WORDS = 8
_A_DAY_OR_TWO = timedelta(days=2)
_AN_HOUR = timedelta(hours=1)
_LINE_WIDTH = 2.0
# exp() of more overflows: a run can have any number.
_LARGEST = 700.0
_COST = "cost beside the median of equal GPUs: 2 is twice the time"
_Rows = list[dict[str, object]]
_Entries = list[tuple[datetime, float]]


def name_of(patient: Patient) -> str:
    """Name a GPU of the fleet."""
    return f"{one_line(patient.node)} GPU {patient.ordinal}"


def families_of(patients: Sequence[Patient]) -> list[Family]:
    """List the families that were judged; that of the slowest GPU comes first."""
    worst: dict[Family, tuple[bool, float]] = {}
    for patient in patients:
        for one in patient.standings:
            worst[one.family] = max(worst.get(one.family, (False, 0.0)), (one.slow, one.shift))
    return sorted(worst, key=lambda family: worst[family], reverse=True)


def cells(patients: Sequence[Patient], families: Sequence[Family]) -> Figure:
    """
    Draw a row for each GPU and a column for each family.

    Args:
        patients: At least one, each with standings; the first `MOST_CELLS` are shown.
        families: The columns.
    """
    import altair as alt

    shown = patients[:MOST_CELLS]
    names = dict(zip(map(id, shown), _short_names(shown), strict=True))
    rows: _Rows = [
        {
            "gpu": names[id(patient)],
            "family": _words(one.family),
            "relative_cost": one.relative_cost,
            "slow": one.slow,
            "strength": min(1.0, abs(one.shift) / _FULL),
            "shown": True,
        }
        for patient in shown
        for one in patient.standings
    ]
    base = alt.Chart(data_of(rows)).encode(
        x=_names_axis("family", list(map(_words, families)), top=True),
        y=_names_axis("gpu", list(names.values())),
    )
    strength = alt.Opacity("strength", type="quantitative", scale=None, legend=None)
    parts = [
        base.transform_filter(f"datum.relative_cost {side} 1")
        .mark_rect(fill=variable(colour))
        .encode(opacity=strength)
        for side, colour in ((">", "bad"), ("<=", "link"))
    ]
    slow = base.transform_filter("datum.slow").mark_rect(
        fillOpacity=0, stroke=variable("ink"), strokeWidth=2
    )
    chart = alt.layer(
        *parts, slow, width=min(_CELL * len(families), _MOST_WIDE), height=_ROW * len(shown)
    )
    return figure(
        "Each GPU and each family", described(chart), kind="cells", words=_cell_words(shown)
    )


def _cell_words(patients: Sequence[Patient]) -> str:
    """Say what the cells show to whoever can't see them."""
    slow = [
        f"{name_of(patient)}: {_words(one.family)} {one.relative_cost:.2g} times the cost"
        for patient in patients
        for one in patient.standings
        if one.slow
    ]
    more = len(slow) - _MOST_IN_WORDS
    told = "; ".join(slow[:_MOST_IN_WORDS]) or "no GPU is called slow"
    return f"{told}; and {more} more" if more > 0 else told


@dataclass(frozen=True)
class _Member:
    patient: Patient
    standing: Standing

    @property
    def cost(self) -> float:
        return self.standing.relative_cost


def spread(patients: Sequence[Patient], families: Sequence[Family]) -> Figure:
    """
    Draw how much GPUs differ in each family, with the slow ones named.

    Args:
        patients: Every GPU with standings.
        families: The rows.
    """
    import altair as alt

    members: dict[Family, list[_Member]] = {family: [] for family in families}
    for patient in patients:
        for one in patient.standings:
            if one.family in members:
                members[one.family].append(_Member(patient, one))
    ranges, points = _spread_rows(members)
    costs = [float(str(row[part])) for row in ranges for part in ("least", "most")]
    x: dict[str, Any] = {"type": "quantitative", "title": _COST} | _cost_axis(costs)
    y = alt.Y("family", type="nominal", sort=None, axis=None)
    base = alt.Chart(data_of(ranges)).encode(y=y)
    dots = alt.Chart(data_of(points)).encode(y=y, x=alt.X("relative_cost", **x))
    text: dict[str, Any] = {"align": "left", "baseline": "middle", "fontSize": 11, "limit": 320}
    chart = alt.layer(
        base.mark_rule(stroke=variable("muted")).encode(x=alt.X("least", **x), x2="most"),
        base.mark_bar(height=9, fill=variable("muted")).encode(
            x=alt.X("first_quarter", **x), x2="last_quarter"
        ),
        *(
            base.mark_text(fill=variable(colour), dy=dy, **text).encode(
                x=alt.value(2), text=alt.Text(field, type="nominal")
            )
            for field, colour, dy in (("family", "ink", -13), ("slow", "bad", 13))
        ),
        dots.mark_point(filled=True, size=40, opacity=1, fill=variable("bad")),
        width=_SPREAD_WIDE,
        height=_SPREAD_ROW * len(families),
    )
    words = "; ".join(
        f"{row['family']} {row['least']:.2g} to {row['most']:.2g}"
        f"{', slow: ' if row['slow'] else ''}{row['slow']}"
        for row in ranges
    )
    return figure("The spread of each family", described(chart), kind="spread", words=words)


def _spread_rows(members: Mapping[Family, Sequence[_Member]]) -> tuple[_Rows, _Rows]:
    """Give the range and the quartiles of each family, and a point for each slow GPU."""
    ranges: _Rows = []
    points: _Rows = []
    for family, own in members.items():
        costs = [one.cost for one in own]
        slow = sorted((one for one in own if one.standing.slow), key=lambda one: -one.cost)
        quarters = quantiles(costs, n=4, method="inclusive") if len(costs) > 1 else costs * 3
        ranges.append(
            {
                "family": _words(family),
                "gpus": len(own),
                "least": min(costs),
                "first_quarter": quarters[0],
                "median": quarters[1],
                "last_quarter": quarters[2],
                "most": max(costs),
                "slow": _outliers(slow),
                "shown": True,
            }
        )
        points += [
            {"family": _words(family), "gpu": name_of(one.patient), "relative_cost": one.cost}
            for one in slow
        ]
    return ranges, points


def _outliers(slow: Sequence[_Member]) -> str:
    """Name the slowest, and count the others."""
    if not slow:
        return ""
    more = f" and {len(slow) - 1} more" if len(slow) > 1 else ""
    return f"{_short(name_of(slow[0].patient))}{more}"


def histories(patients: Sequence[Patient]) -> tuple[Figure, ...]:
    """
    Follow GPUs from run to run, where their runs lie an hour or more apart.

    Each picture has one family: of those with the slowest GPUs, the class's median, and the GPUs
    that are slowest in it.

    Args:
        patients: Every GPU with standings, the worst first.
    """
    found = []
    for family in families_of(patients):
        own = [
            _Member(patient, one)
            for patient in patients
            for one in patient.standings
            if one.family == family and _span(one) >= _AN_HOUR
        ]
        if own:
            found.append(_history(family, own))
        if len(found) == _MOST_HISTORIES:
            break
    return tuple(found)


def _span(standing: Standing) -> timedelta:
    times = [begun for begun, _ in standing.history]
    return max(times) - min(times)


def _history(family: Family, members: Sequence[_Member]) -> Figure:
    import altair as alt

    times = [begun for one in members for begun, _ in one.standing.history]
    long = max(times) - min(times) >= _A_DAY_OR_TWO
    every = [entry for one in members for entry in one.standing.history]
    usual = _by_time(every, "day" if long else "hour")
    ordered = sorted(members, key=lambda one: (not one.standing.slow, -one.cost))
    slow = sum(one.standing.slow for one in members)
    shown = ordered[: min(slow, len(COLOURS) - 1) or _FEWEST_LINES]
    lines = {f"median of {len(members)} GPUs": usual} | {
        name_of(one.patient): _by_time(one.standing.history, "second") for one in shown
    }
    rows: _Rows = [
        {
            "what": name,
            "colour": (colour - 1) % len(COLOURS),
            "width": _LINE_WIDTH,
            "when": begun.isoformat(),
            "value": exp(min(shift, _LARGEST)),
        }
        for colour, (name, entries) in enumerate(lines.items())
        for begun, shift in entries
    ]
    x = alt.X(
        "when",
        type="temporal",
        title="run (UTC)",
        scale=alt.Scale(type="utc"),
        axis=alt.Axis(format="%b %-d" if long else "%H:%M", tickCount=6),
    )
    axis = _cost_axis([float(str(row["value"])) for row in rows])
    y = alt.Y("value", type="quantitative", title="cost, 1: median of equal GPUs", **axis)
    base = alt.Chart(data_of(rows)).encode(x=x, y=y, color=colour_axis())
    chart = alt.layer(
        base.mark_line(strokeWidth=_LINE_WIDTH),
        base.mark_point(filled=True, opacity=1, size=30),
        width=_HISTORY_WIDE,
        height=_HISTORY_HIGH,
    )
    last = {name: exp(min(entries[-1][1], _LARGEST)) for name, entries in lines.items()}
    words = "; ".join(f"{name} {cost:.3g}" for name, cost in last.items())
    title = f"{_words(family)}, from run to run"
    return figure(title, described(chart), kind="history", words=f"last: {words}")


def _by_time(entries: Sequence[tuple[datetime, float]], part: str) -> _Entries:
    """Give the median of what was measured at one time: in one "second", "hour" or "day"."""
    rest = {"second": ("microsecond",), "hour": ("microsecond", "second", "minute")}
    zero = dict.fromkeys(rest.get(part, (*rest["hour"], "hour")), 0)
    found: dict[datetime, list[float]] = {}
    for begun, shift in entries:
        found.setdefault(begun.replace(**zero), []).append(shift)  # type: ignore[arg-type]
    return [(begun, median(shifts)) for begun, shifts in sorted(found.items())]


def _words(family: Family) -> str:
    return f"{family.name} ({family.unit})"


def _short(name: str) -> str:
    """Leave out the middle of a long name: nodes often begin or end alike."""
    half = _LONGEST_NAME // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[: half - 1]}…{name[-half:]}"


def _short_names(patients: Sequence[Patient]) -> list[str]:
    """Name each GPU in few letters; two never have the same name."""
    names: list[str] = []
    for patient in patients:
        name = _short(name_of(patient))
        names.append(f"{name} ({len(names)})" if name in names else name)
    return names


def _names_axis(field: str, names: Sequence[str], *, top: bool = False) -> Any:  # noqa: ANN401
    """Make an axis of names, in their order."""
    import altair as alt

    kind = alt.X if top else alt.Y
    scale = alt.Scale(domain=list(names), padding=0.06)
    axis = alt.Axis(
        title=None,
        orient="top" if top else "left",
        labelAngle=-90 if top else 0,
        labelLimit=230 if top else _LABEL_PIXELS,
        labelFontSize=10,
        labelOverlap=False,
        ticks=False,
        domain=False,
    )
    return kind(field, type="nominal", sort=None, scale=scale, axis=axis)


def _cost_axis(costs: Sequence[float]) -> dict[str, Any]:
    """Make the scale and the axis of costs, of which 1 is the median of equal GPUs."""
    import altair as alt

    low = min(1 / _LEAST_SPAN, min(costs) / 1.03)
    high = max(_LEAST_SPAN, max(costs) * 1.03)
    ticks = [tick for tick in (*_TICKS, 0.9, 1.1) if low <= tick <= high]
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(values=sorted(ticks), format="~g"),
    }
