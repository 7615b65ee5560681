"""The picture of a fleet: a cell for each GPU and each family."""

from collections.abc import Sequence
from math import log
from typing import Any

from isthmus.fleet.health import Patient
from isthmus.ground.spelling import one_line
from isthmus.measure.compare.families import Family
from isthmus.show.document.figures import figure
from isthmus.show.document.palette import variable
from isthmus.show.document.parts import Figure
from isthmus.show.pictures.drawing import data_of, described

MOST_CELLS = 40
"""So many GPUs, the worst, have a row of cells."""
_CELL, _MOST_WIDE, _ROW = 26, 470, 16
_LONGEST_NAME, _LABEL_PIXELS = 18, 110
# So much slower or faster is the full colour.
_FULL = log(1.5)
_MOST_IN_WORDS = 8
_Rows = list[dict[str, object]]


def families_of(patients: Sequence[Patient]) -> list[Family]:
    """List the families that were judged; that of the slowest GPU comes first."""
    worst: dict[Family, tuple[bool, float]] = {}
    for patient in patients:
        for one in patient.standings:
            worst[one.family] = max(worst.get(one.family, (False, 0.0)), (one.slow, one.shift))
    return sorted(worst, key=lambda family: worst[family], reverse=True)


def cells(patients: Sequence[Patient], families: Sequence[Family]) -> Figure:
    """
    Draw a row for each of the first `MOST_CELLS` GPUs, which have standings, and a column for each
    family.
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
        f"{one_line(patient.words)}: {_words(one.family)} {one.relative_cost:.2g} times the cost"
        for patient in patients
        for one in patient.standings
        if one.slow
    ]
    more = len(slow) - _MOST_IN_WORDS
    told = "; ".join(slow[:_MOST_IN_WORDS]) or "no GPU is called slow"
    return f"{told}; and {more} more" if more > 0 else told


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
        name = _short(one_line(patient.words))
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
