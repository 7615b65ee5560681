"""Pictures for a document: small specifications, their data as columns, and the same in words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from isthmus.ground.sizes import format_size
from isthmus.show.document.parts import Figure
from isthmus.show.pictures.drawing import Shown, described, shown_number
from isthmus.show.pictures.lines import Line
from isthmus.show.pictures.of_run import PanelChart
from isthmus.show.pictures.themes import Theme

_DIGITS = 6
_MOST_IN_WORDS = 12


def figure_of(theme: Theme, panel: PanelChart) -> Figure:
    """Make the figure of a panel."""
    title = ": ".join(filter(None, (theme.title, panel.title)))
    kind = "curves" if panel.part.are_curves else "points"
    words, shown = _words(panel), panel.part.measure.shown
    return figure(title, described(panel.chart), kind=kind, words=words, shown=shown)


def figure(
    title: str, specification: dict[str, Any], *, kind: str, words: str, shown: Shown = shown_number
) -> Figure:
    """Take a chart's specification, with its data in "datasets", apart, and keep it."""
    for part in ("$schema", "config", "title"):
        specification.pop(part, None)
    data = {name: _columns(rows) for name, rows in specification.pop("datasets", {}).items()}
    return Figure(
        title=title,
        words=words,
        legend=_legend(data.values(), shown) if kind != "points" else (),
        kind=kind,
        specification=specification,
        data=data,
    )


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [_short(row[name]) for row in rows] for name in (rows[0] if rows else ())}


def _short(value: object) -> object:
    """Shorten a number to what measurements have."""
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _legend(data: Iterable[Mapping[str, list[Any]]], shown: Shown) -> tuple[tuple[int, str], ...]:
    """Name the lines of a panel by the data that has their widths: its curves'."""
    last: dict[tuple[int, str], float] = {}
    for columns in data:
        if "width" in columns:
            for colour, what, value in zip(
                columns["colour"], columns["what"], columns["value"], strict=True
            ):
                last[colour, what] = value
    ordered = sorted(last, key=lambda line: -last[line])
    return tuple((colour, f"{what}: {shown(last[colour, what])}") for colour, what in ordered)


def _words(panel: PanelChart) -> str:
    """Say what a picture shows to whoever can't see it."""
    shown = panel.lines[:_MOST_IN_WORDS]
    told = "; ".join(_line_words(line, panel) for line in shown)
    more = len(panel.lines) - len(shown)
    rest = f"; and {more} more" if more else ""
    return f"{panel.part.measure.title}: {told}{rest}"


def _line_words(line: Line, panel: PanelChart) -> str:
    first, last, measure = line.results[0], line.results[-1], panel.part.measure
    numbers = [f"{measure.shown(measure.of(r))} at {format_size(r.bytes)}" for r in (first, last)]
    return f"{line.label or panel.title} {' to '.join(dict.fromkeys(numbers))}"
