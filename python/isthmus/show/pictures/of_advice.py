"""A picture of what each way costs over sizes, with its spread, and where the fastest changes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.decide.advice.break_evens import BreakEven, by_size, fastest_break_evens
from isthmus.decide.advice.machine import MachineCosts
from isthmus.decide.advice.question import Question
from isthmus.decide.advice.sentence import question_text
from isthmus.decide.advice.ways import Name, Way
from isthmus.decide.profile.model import Profile
from isthmus.ground.sizes import format_size, powers_of_two
from isthmus.measure.run.model import Result
from isthmus.show.pictures.curves import Look, curves_panel
from isthmus.show.pictures.drawing import (
    HEIGHT,
    MEASURES,
    check_pictures,
    data_of,
    size_axis,
    write_chart,
)
from isthmus.show.pictures.label_places import scale_of
from isthmus.show.pictures.lines import Line

if TYPE_CHECKING:
    import altair as alt

_COSTS = replace(MEASURES["s"], title="everything")


def draw_advice(
    question: Question, profile: Profile, stem: Path, *, size_range: tuple[int, int] | None = None
) -> list[Path]:
    """
    Draw what each way costs, by default at all sizes that were measured, into STEM.svg, .png, .html
    and .json.
    """
    check_pictures()
    costs = MachineCosts(profile)
    first, last = size_range or (max(costs.min_bytes, 1), costs.max_bytes)
    ranked = by_size(question, costs)
    sizes = sorted({first, *powers_of_two(first, last), last})
    found = {size: ranked(size) for size in sizes}
    break_evens = fastest_break_evens(ranked, first, last)
    return write_chart(_chart(question, profile, found, break_evens), stem)


def _chart(
    question: Question,
    profile: Profile,
    found: dict[int, Sequence[Way]],
    break_evens: Sequence[BreakEven],
) -> "alt.TopLevelMixin":
    import altair as alt

    names = [
        name for name in Name if any(way.name == name for ways in found.values() for way in ways)
    ]
    curves = [_curve(name, found) for name in names]
    ends = [
        end * _COSTS.factor
        for ways in found.values()
        for way in ways
        for end in (way.cost.low, way.cost.high)
    ]
    scale = scale_of([max(end, 1e-9) for end in ends], HEIGHT)
    look = Look(measure=_COSTS, ranges=True, colours={})
    rows = [
        {"bytes": break_even.at, "from": format_size(break_even.at), "way": break_even.after.value}
        for break_even in break_evens
    ]
    rules = alt.Chart(data_of(rows)).mark_rule(strokeDash=[4, 3], color="#777777")
    axis = size_axis("bytes", sorted(found), edge=max(found))
    layers = [curves_panel("", curves, scale, look)]
    layers += [rules.encode(x=axis, tooltip=["from:N", "way:N"])] if rows else []
    return alt.layer(*layers).properties(title=_title(question, profile))


def _curve(name: Name, found: dict[int, Sequence[Way]]) -> Line:
    """Make a curve of one way's costs, as those of a run's results."""
    costs = {size: way.cost for size, ways in found.items() for way in ways if way.name == name}
    numbers: list[dict[str, Any]] = [
        {"bytes": size, "median": cost.seconds, "min": cost.low, "max": cost.high}
        for size, cost in costs.items()
    ]
    return Line(label=name.value, results=tuple(Result.model_construct(**one) for one in numbers))


def _title(question: Question, profile: Profile) -> "alt.TitleParams":
    import altair as alt

    facts = profile.machine
    emulated = "EMULATED, modelled times; " if facts.emulated else ""
    asked = question_text(replace(question, size_bytes=1)).removeprefix("1 B ")
    return alt.TitleParams(
        text=f"A buffer of each size {asked}",
        subtitle=[
            f"{emulated}{facts.gpu_name}, {facts.link}; everything, steady: allocate, copy, free",
            "dashed: another way becomes the fastest",
        ],
        anchor="start",
        subtitleColor="#555555",
    )
