"""A document as one HTML file, which needs nothing else."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isthmus.report.document.chapters import MEASURED_CHAPTERS
from isthmus.report.document.drawn import with_names, without_names
from isthmus.report.document.page_templates import environment
from isthmus.report.document.palette import DARK, LIGHT
from isthmus.report.document.parts import Document, Figure

if TYPE_CHECKING:
    from markupsafe import Markup

# vl-convert draws several pictures at a time.
_THREADS = 4
_FIRST, _MORE = "first", "more"
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, kw_only=True)
class Picture:
    """
    A figure of the page.

    Attributes:
        id: A word for links to it and for names of files.
        figure: What it shows.
        wide: SVG for wide pages; None if the other one is for all.
        narrow: SVG for phones.
        data: What it draws, as JSON for the page's own program.
        emulated: Whether its numbers are modelled.
    """

    id: str
    figure: Figure
    wide: "Markup | None"
    narrow: "Markup"
    data: "Markup"
    emulated: bool


def as_html(document: Document) -> str:
    """
    Write a document as HTML. The same document gives the same bytes.

    Raises:
        Unavailable: altair or vl-convert isn't installed.
    """
    templates = environment(escaped=True)
    templates.filters["prose"] = _prose
    pictures = _pictures(document)
    template = templates.get_template("page.html.j2")
    return template.render(
        document=document, pictures=pictures, light=LIGHT, dark=DARK, subtitle=_subtitle(document)
    )


def _subtitle(document: Document) -> str:
    """Give the line below the title of a picture that is saved by itself."""
    runs = "; ".join(lines[0] for lines in document.about)
    return f"EMULATED, no GPU measured; {runs}" if document.warning else runs


def _pictures(document: Document) -> dict[str, dict[str, list[Picture]]]:
    """Draw all figures, several at a time, by their chapter and group."""
    places = [
        (chapter.id, group, number, figure)
        for chapter in document.chapters
        for group, figures in ((_FIRST, chapter.figures), (_MORE, chapter.more))
        for number, figure in enumerate(figures, start=1)
    ]
    modelled = document.warning is not None

    def draw(place: tuple[str, str, int, Figure]) -> Picture:
        chapter, group, number, figure = place
        emulated = modelled and chapter not in MEASURED_CHAPTERS
        name = f"{chapter}-{group}-{number}"
        return _picture(figure, name, wide=group == _FIRST, emulated=emulated)

    found: dict[str, dict[str, list[Picture]]] = {
        chapter.id: {_FIRST: [], _MORE: []} for chapter in document.chapters
    }
    with ThreadPoolExecutor(_THREADS) as pool:
        for (chapter, group, _, _), picture in zip(places, pool.map(draw, places), strict=True):
            found[chapter][group].append(picture)
    return found


def _picture(figure: Figure, name: str, *, wide: bool, emulated: bool) -> Picture:
    two = wide and figure.kind == "curves"
    return Picture(
        id=name,
        figure=figure,
        wide=_as_is(with_names(figure, emulated=emulated)) if two else None,
        narrow=_as_is(without_names(figure, emulated=emulated)),
        data=_json(_drawn_columns(figure)),
        emulated=emulated,
    )


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
