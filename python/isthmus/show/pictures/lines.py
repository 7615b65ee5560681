"""The curves and single points of a picture's panels: every result, in panels of at most six."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from isthmus.measure.run.model import Result, Run, Status
from isthmus.show.pictures.drawing import HEIGHT, Measure
from isthmus.show.pictures.label_places import Scale, scale_of
from isthmus.show.pictures.themes import Theme, theme_of

# A curve through fewer sizes says nothing about sizes.
FEWEST_SIZES = 3
MOST_CURVES = 6
"""The number of colours."""
_DRAWN_UNITS = frozenset({"B/s", "s"})
# Curves that are nowhere farther apart would hide each other.
_SAME_WITHIN_PIXELS = 2.5
# A floor is part of each way's times, and the same for all.
_NOT_DRAWN = frozenset({"event_floor"})
# By what is measured, then by the name of the run.
_Lines = dict[str, dict[str, list[Result]]]


@dataclass(frozen=True, kw_only=True)
class Line:
    """
    A curve, or a single point.

    Attributes:
        label: Its name in words; several names if their curves are the same.
        results: By size, the smallest first; one for each size.
    """

    label: str
    results: tuple[Result, ...]

    @property
    def sizes(self) -> frozenset[int]:
        """The sizes in bytes."""
        return frozenset(result.bytes for result in self.results)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """
    Lines that are drawn over one pair of axes.

    Attributes:
        unit: "B/s" or "s".
        curves: Lines over at least three sizes.
        points: The others.
    """

    title: str
    unit: str
    curves: tuple[Line, ...]
    points: tuple[Line, ...]


def drawable(run: Run) -> list[Result]:
    """List the results that can be drawn: sampled times and rates above zero."""
    return [
        result
        for result in run.results
        if result.status == Status.PASSED
        and result.stopped_by
        and result.unit in _DRAWN_UNITS
        and result.metric not in _NOT_DRAWN
        and (result.median or 0.0) > 0
    ]


def panels_by_theme(
    runs: Mapping[str, Iterable[Result]],
) -> dict[str, tuple[Theme, list[Panel]]]:
    """
    Sort results of runs, by their names, into pictures, by the name of their files, and into
    panels; a run alone may have the name "".
    """
    themes: dict[str, Theme] = {}
    lines: dict[str, dict[tuple[str, str], _Lines]] = {}
    for name, results in runs.items():
        for result in results:
            theme = theme_of(result)
            themes.setdefault(theme.name, theme)
            panels = lines.setdefault(theme.name, {})
            labels = panels.setdefault((theme.panel(result), result.unit), {})
            labels.setdefault(theme.label(result), {}).setdefault(name, []).append(result)
    return {
        name: (
            themes[name],
            [_panel(title, unit, labels) for (title, unit), labels in panels.items()],
        )
        for name, panels in lines.items()
    }


def _panel(title: str, unit: str, labels: _Lines) -> Panel:
    lines = [
        Line(
            label=", ".join(filter(None, (label, name))),
            results=tuple(sorted(results, key=lambda result: result.bytes)),
        )
        for label, named in labels.items()
        for name, results in named.items()
    ]
    curves = tuple(line for line in lines if len(line.sizes) >= FEWEST_SIZES)
    points = tuple(line for line in lines if len(line.sizes) < FEWEST_SIZES)
    return Panel(title=title, unit=unit, curves=curves, points=points)


def relative_to(curves: Sequence[Line], label: str) -> list[Line]:
    """Divide curves by the one with a label, at the sizes that both have; none without that one."""
    base = {r.bytes: r.median for line in curves if line.label == label for r in line.results}
    found = [
        Line(
            label=line.label,
            results=tuple(_over(r, below) for r in line.results if (below := base.get(r.bytes))),
        )
        for line in curves
        if line.label != label
    ]
    return [line for line in found if len(line.sizes) >= FEWEST_SIZES]


def _over(result: Result, base: float) -> Result:
    numbers = {name: (getattr(result, name) or 0.0) / base for name in ("median", "min", "max")}
    return result.model_copy(update=numbers)


def scale_over(lines: Iterable[Line], measure: Measure) -> Scale:
    """Choose an axis for the medians of lines."""
    return scale_of([measure.of(one) for line in lines for one in line.results], HEIGHT)


def merged(curves: Sequence[Line], scale: Scale, factor: float) -> list[Line]:
    """
    Draw curves that would hide each other as one, that with the most sizes, with all their names;
    `factor` leads from a result's unit to the axis's.
    """
    found: list[Line] = []
    for curve in sorted(curves, key=lambda line: -len(line.sizes)):
        for index, other in enumerate(found):
            if curve.sizes <= other.sizes and _hidden(curve, other, scale, factor):
                found[index] = replace(other, label=f"{other.label}; {curve.label}")
                break
        else:
            found.append(curve)
    return found


def _hidden(curve: Line, other: Line, scale: Scale, factor: float) -> bool:
    heights = {result.bytes: _height(result, scale, factor) for result in other.results}
    return all(
        abs(_height(result, scale, factor) - heights[result.bytes]) <= _SAME_WITHIN_PIXELS
        for result in curve.results
    )


def _height(result: Result, scale: Scale, factor: float) -> float:
    return scale.pixel((result.median or 0.0) * factor)


def in_sixes(curves: Sequence[Line]) -> list[list[Line]]:
    """Divide curves into groups of about the same number, at most as many as there are colours."""
    if not curves:
        return []
    num_groups = -(-len(curves) // MOST_CURVES)
    each = -(-len(curves) // num_groups)
    return [list(curves[start : start + each]) for start in range(0, len(curves), each)]
