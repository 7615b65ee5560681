"""A document as one HTML file, which needs nothing else."""

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isthmus.show.document.drawers import Drawers
from isthmus.show.document.page_templates import environment
from isthmus.show.document.palette import DARK, LIGHT
from isthmus.show.document.parts import Chapter, Document, Figure
from isthmus.show.document.plans import MEASURED_CHAPTERS
from isthmus.show.document.specifications import OF_ROWS, narrow, smaller, wide

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from markupsafe import Markup

_FIRST, _MORE = "first", "more"
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, kw_only=True)
class Picture:
    """
    A figure of the page.

    Attributes:
        wide: Its Vega-Lite for wide pages; None if the other one is for all.
    """

    id: str
    figure: Figure
    wide: str | None
    narrow: str
    data: "Markup"
    emulated: bool


def as_html(document: Document, drawers: Drawers | None = None) -> str:
    """Write a document as HTML. The same document gives the same bytes."""
    templates = environment(escaped=True)
    templates.filters["prose"] = _prose
    pictures = {chapter.id: _pictures(document, chapter) for chapter in document.chapters}
    templates.filters["drawn"] = _drawing(pictures, drawers or Drawers())
    template = templates.get_template("page.html.j2")
    return template.render(
        document=document, pictures=pictures, light=LIGHT, dark=DARK, subtitle=_subtitle(document)
    )


def _subtitle(document: Document) -> str:
    """Give the line below the title of a picture that is saved by itself."""
    runs = "; ".join(lines[0] for lines in document.about)
    return f"EMULATED, no GPU measured; {runs}" if document.warning else runs


def _pictures(document: Document, chapter: Chapter) -> dict[str, list[Picture]]:
    """Take the figures of a chapter, in the two groups that the page has."""
    emulated = document.warning is not None and chapter.id not in MEASURED_CHAPTERS
    groups = {_FIRST: chapter.figures, _MORE: chapter.more}
    return {
        group: [
            _picture(figure, f"{chapter.id}-{group}-{number}", emulated, first=group == _FIRST)
            for number, figure in enumerate(figures, start=1)
        ]
        for group, figures in groups.items()
    }


def _picture(figure: Figure, name: str, emulated: bool, *, first: bool) -> Picture:
    two = first and figure.kind in {"curves", *OF_ROWS}
    return Picture(
        id=name,
        figure=figure,
        wide=wide(figure, emulated=emulated) if two else None,
        narrow=narrow(figure, emulated=emulated),
        data=_json(_drawn_columns(figure)),
        emulated=emulated,
    )


def _drawing(
    pictures: "Mapping[str, Mapping[str, Sequence[Picture]]]", drawers: Drawers
) -> "Callable[[str], Markup]":
    """Draw all pictures; give what finds the SVG of a specification."""
    groups = [group for groups in pictures.values() for group in groups.values()]
    both = [text for group in groups for one in group for text in (one.wide, one.narrow) if text]
    drawn = dict(zip(both, drawers.draw(both), strict=True))
    return lambda specification: _as_is(smaller(drawn[specification]))


def _drawn_columns(figure: Figure) -> dict[str, list[object]]:
    """Give what a figure draws: of its data, that of curves or of points."""
    for columns in figure.data.values():
        if "width" in columns or "shown" in columns:
            hidden = {"colour", "width", "shown"}
            return {name: values for name, values in columns.items() if name not in hidden}
    return {}


def _json(value: object) -> "Markup":
    """Write JSON that can't end the element that it stands in."""
    text = json.dumps(value, separators=(",", ":"))
    return _as_is(text.replace("<", "\\u003c").replace("&", "\\u0026"))


def _prose(text: str) -> "Markup":
    """Escape a sentence; what stands between backticks is code."""
    from markupsafe import escape

    return _as_is(_CODE.sub(r"<code>\1</code>", str(escape(text))))


def _as_is(text: str) -> "Markup":
    """Take a text for HTML: what comes from a run is escaped in it already, here or by Vega."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - as the docstring says
