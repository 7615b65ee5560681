"""A picture of what each way costs over sizes, with its spread, and where the fastest changes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.advice.machine import MachineCosts
from isthmus.advice.question import Question
from isthmus.advice.sentence import question_text
from isthmus.advice.turns import Turn, by_size, fastest_turns
from isthmus.advice.ways import Name, Way
from isthmus.profile.model import Profile
from isthmus.report.pictures.drawing import (
    COLOURS,
    check_pictures,
    data_of,
    number_axis,
    size_axis,
    write_chart,
)
from isthmus.report.pictures.label_places import Scale, scale_of, spread
from isthmus.sizes import format_size, powers_of_two

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _HEIGHT = 520, 360
_LABEL_PIXELS = 17.0
# Of the width of the axis: here the thin rules run from the ends of curves to their labels.
_GUTTER = 0.05
_MICROSECONDS = 1e6
_THINNEST = 1.3


def draw_advice(
    question: Question, profile: Profile, stem: Path, *, size_range: tuple[int, int] | None = None
) -> list[Path]:
    """
    Draw what each way costs, into STEM.svg, .png, .html and .json.

    Args:
        question: Everything but the size.
        profile: The machine.
        stem: The files' name, in a folder that exists.
        size_range: The sizes in bytes; None: all that were measured.

    Raises:
        Unavailable: What draws isn't installed.
        UsageError: The profile lacks the costs of host memory.
        WriteError: A file can't be written.
    """
    check_pictures()
    costs = MachineCosts(profile)
    first, last = size_range or (max(costs.min_bytes, 1), costs.max_bytes)
    ranked = by_size(question, costs)
    sizes = sorted({first, *powers_of_two(first, last), last})
    found = {size: ranked(size) for size in sizes}
    turns = fastest_turns(ranked, first, last)
    return write_chart(_chart(question, profile, found, turns), stem)


@dataclass(frozen=True, kw_only=True)
class _Line:
    """One way over sizes, in microseconds."""

    name: Name
    points: Sequence[tuple[int, Way]]

    @property
    def last(self) -> float:
        return self.points[-1][1].cost.seconds * _MICROSECONDS

    def rows(self) -> list[dict[str, object]]:
        return [
            {
                "way": self.name.value,
                "bytes": size,
                "us": way.cost.seconds * _MICROSECONDS,
                "low": way.cost.low * _MICROSECONDS,
                "high": way.cost.high * _MICROSECONDS,
            }
            for size, way in self.points
        ]


def _chart(
    question: Question,
    profile: Profile,
    found: dict[int, Sequence[Way]],
    turns: Sequence[Turn],
) -> "alt.TopLevelMixin":
    import altair as alt

    lines = _lines(found)
    sizes = sorted(found)
    edge = sizes[-1] * (sizes[-1] / sizes[0]) ** _GUTTER
    ends = [
        end for line in lines for _, way in line.points for end in (way.cost.low, way.cost.high)
    ]
    scale = scale_of([max(end, 1e-9) * _MICROSECONDS for end in ends], _HEIGHT)
    shown, ticks = number_axis(scale)
    x = size_axis("bytes", sizes, edge=edge)
    y = alt.Y("us:Q", title="everything, microseconds", scale=shown, axis=ticks)
    colour = alt.Color(
        "way:N",
        legend=None,
        scale=alt.Scale(domain=[line.name.value for line in lines], range=list(COLOURS)),
    )
    curves = alt.Chart(data_of([row for line in lines for row in line.rows()]))
    layers: list[alt.Chart] = [
        curves.mark_area(opacity=0.2).encode(
            x=x, y=alt.Y("low:Q", scale=shown), y2="high:Q", color=colour
        ),
        curves.mark_line().encode(
            x=x,
            y=y,
            color=colour,
            # A way that is drawn later is thinner, so that it hides no other.
            strokeWidth=alt.StrokeWidth(
                "way:N",
                legend=None,
                scale=alt.Scale(
                    domain=[line.name.value for line in lines],
                    range=[_THINNEST + 0.7 * later for later in reversed(range(len(lines)))],
                ),
            ),
            tooltip=["way:N", "bytes:Q", "us:Q", "low:Q", "high:Q"],
        ),
        *_turn_rules(turns, x),
        *_labels(lines, scale, edge, x, y, colour),
    ]
    return alt.layer(*layers).properties(
        width=_WIDTH, height=_HEIGHT, title=_title(question, profile)
    )


def _lines(found: dict[int, Sequence[Way]]) -> list[_Line]:
    names = [
        name for name in Name if any(way.name == name for ways in found.values() for way in ways)
    ]
    return [
        _Line(
            name=name,
            points=[
                (size, way) for size, ways in found.items() for way in ways if way.name == name
            ],
        )
        for name in names
    ]


def _turn_rules(turns: Sequence[Turn], x: "alt.X") -> "list[alt.Chart]":
    import altair as alt

    rows = [
        {"bytes": turn.at, "from": format_size(turn.at), "way": turn.after.value} for turn in turns
    ]
    if not rows:
        return []
    rules = alt.Chart(data_of(rows)).mark_rule(strokeDash=[4, 3], color="#777777")
    return [rules.encode(x=x, tooltip=["from:N", "way:N"])]


def _labels(
    lines: Sequence[_Line],
    scale: Scale,
    edge: float,
    x: "alt.X",
    y: "alt.Y",
    colour: "alt.Color",
) -> "list[alt.Chart]":
    import altair as alt

    places = spread(
        [scale.pixel(line.last) for line in lines], [_LABEL_PIXELS] * len(lines), _HEIGHT
    )
    rows: list[dict[str, object]] = []
    rules: list[dict[str, object]] = []
    for line, place in zip(lines, places, strict=True):
        at: dict[str, object] = {"way": line.name.value, "bytes": edge, "us": scale.value(place)}
        rows.append(at)
        rules += [{"way": line.name.value, "bytes": line.points[-1][0], "us": line.last}, at]
    return [
        alt.Chart(data_of(rules))
        .mark_line(strokeWidth=0.7, opacity=0.6)
        .encode(x=x, y=y, color=colour),
        alt.Chart(data_of(rows))
        .mark_text(align="left", baseline="middle", dx=4, fontSize=12)
        .encode(x=x, y=y, text="way:N", color=colour),
    ]


def _title(question: Question, profile: Profile) -> "alt.TitleParams":
    import altair as alt

    facts = profile.machine
    emulated = "EMULATED, modelled times; " if facts.emulated else ""
    asked = question_text(replace(question, size_bytes=1)).removeprefix("1 B ")
    return alt.TitleParams(
        text=f"A buffer of each size {asked}",
        subtitle=[
            f"{emulated}{facts.gpu_name}, {facts.link}; everything: allocate, copy, free",
            "bands: the measured spread; dashed: another way becomes the fastest",
        ],
        anchor="start",
        subtitleColor="#555555",
    )
