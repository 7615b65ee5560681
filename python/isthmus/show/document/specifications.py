"""
Figures as Vega-Lite whose SVG takes its colours from the page.

They are drawn when the report is made (see drawers.py): the page needs no program to show them.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from isthmus.show.document.palette import variable
from isthmus.show.document.parts import Figure
from isthmus.show.pictures.curves import LABEL
from isthmus.show.pictures.drawing import COLOURS, look_of, specification_text

_WIDE_PIXELS, _NARROW_PIXELS = 590, 390
_NARROW_HEIGHT, _ROW_PIXELS = 220, 38
# Of the vertical axis: its title, its longest label, and what surrounds the picture.
_AXIS_PIXELS, _POINTS_MARGIN = 66, 60
# Of a label of 11 pixels; wide fonts take more than Arial, for which labels are measured.
_CHARACTER_PIXELS = 6.8
_NARROWEST, _WIDEST = 220, 460
# Cells in rows, each with a name: they are drawn for wide pages, and for phones.
OF_ROWS = frozenset({"cells"})
_NARROW_ROWS = {"cells": 255}
_EMULATED = "EMULATED: modelled, not measured on a GPU"
_Specification = dict[str, Any]

# What Vega writes and no picture needs: the page gives the font, and the figure its words.
_IDLE = re.compile(
    r' (?:font-family|class|role|aria-[a-z]+|pointer-events|stroke-miterlimit)="[^"]*"'
    r'| (?:opacity="1"|xmlns:xlink="[^"]*"|version="1.1")'
)
_EMPTY = re.compile(r'<path(?: [a-z-]+="[^"]*")*? d="(?:M0,0h0v0h0Z)?"(?: [a-z-]+="[^"]*")*/>')
_GEOMETRY = re.compile(r' (?:d|transform)="[^"]*"')
_DECIMALS = re.compile(r"(\.\d\d)\d+")


def wide(figure: Figure, *, emulated: bool) -> str:
    """Specify curves with their names beside their ends, or wide cells, for wide pages."""
    specification = _whole(figure, emulated=emulated)
    if figure.kind in OF_ROWS:
        return specification_text(specification)
    longest = max((len(words) for words in _labels(figure)), default=0)
    room = _WIDE_PIXELS - _AXIS_PIXELS - _CHARACTER_PIXELS * longest
    specification["width"] = round(min(max(room, _NARROWEST), _WIDEST))
    return specification_text(specification)


def narrow(figure: Figure, *, emulated: bool) -> str:
    """Specify a picture that fits on a phone: the page names its curves below it."""
    specification = _whole(figure, emulated=emulated)
    if figure.kind == "points":
        return specification_text(_with_names_above(specification))
    if figure.kind in OF_ROWS:
        # Their own width is that of a wide page, with the names of rows beside it or above them.
        specification["width"] = min(specification["width"], _NARROW_ROWS[figure.kind])
        return specification_text(specification)
    specification["layer"] = [
        layer for layer in specification["layer"] if layer["mark"].get("style") != LABEL
    ]
    specification |= {"width": _NARROW_PIXELS - _AXIS_PIXELS, "height": _NARROW_HEIGHT}
    return specification_text(specification)


def _whole(figure: Figure, *, emulated: bool) -> _Specification:
    """Put a figure's data back into its specification."""
    specification: _Specification = json.loads(json.dumps(figure.specification))
    specification["datasets"] = {name: _rows(data) for name, data in figure.data.items()}
    specification["config"] = _look()
    if emulated:
        title = {"text": _EMULATED, "anchor": "start", "color": variable("bad"), "fontSize": 11}
        specification["title"] = title
    return specification


def _rows(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _look() -> dict[str, object]:
    look = look_of()
    return look | {
        "background": "transparent",
        "aria": False,
        "padding": 2,
        "view": {"stroke": variable("line")},
        "axis": look["axis"]
        | {
            "titlePadding": 8,
            "titleFontWeight": "normal",
            "titleColor": variable("ink"),
            "labelColor": variable("muted"),
            "labelFontSize": 11,
            # Whoever has another font than the one that was measured has wider labels.
            "labelOverlap": "parity",
            "labelSeparation": 8,
            "gridColor": variable("line"),
            "domainColor": variable("line"),
            "tickColor": variable("line"),
        },
        "range": {"category": [variable(f"curve-{number}") for number in range(len(COLOURS))]},
    }


def _labels(figure: Figure) -> list[str]:
    """List the lines of the names beside curves: they are data without a width."""
    return [
        words
        for columns in figure.data.values()
        if "what" in columns and "width" not in columns
        for words in columns["what"]
    ]


def _with_names_above(specification: _Specification) -> _Specification:
    """Put the names of single points above them, because they are long."""
    layers = specification["layer"]
    names = json.loads(json.dumps(layers[-1]))
    for layer in layers:
        layer["encoding"]["y"]["axis"] = None
    names["encoding"]["y"]["axis"] = None
    names["encoding"] |= {"x": {"value": 0}, "text": {"field": "what", "type": "nominal"}}
    names["encoding"]["color"] = {"value": variable("ink")}
    names["mark"] |= {"align": "left", "baseline": "bottom", "dx": 2, "dy": -6}
    num_rows = max(len(rows) for rows in specification["datasets"].values())
    size = {"width": _NARROW_PIXELS - _POINTS_MARGIN, "height": _ROW_PIXELS * num_rows}
    return specification | {"layer": [*layers, names]} | size


def smaller(picture: str) -> str:
    """Leave out of Vega's SVG what a page doesn't need."""
    needed = _EMPTY.sub("", _IDLE.sub("", picture))
    return _GEOMETRY.sub(lambda found: _DECIMALS.sub(r"\1", found[0]), needed)
