"""A report as HTML and as Markdown."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from fakes import runs
from isthmus.measure.run.model import Run
from isthmus.show.document.as_html import as_html
from isthmus.show.document.as_markdown import as_markdown
from isthmus.show.document.collecting import document_of
from isthmus.show.document.palette import DARK, LIGHT
from isthmus.show.document.parts import Document

_BACKGROUNDS, _NO_WORDS = ("page", "card"), {"page", "card", "line"}
_VOID = {"meta", "input", "br", "hr", "img", "link"}


class Page(HTMLParser):
    """Collects a page's elements, and checks that each is closed by its own end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def few(run: Run) -> Run:
    """Keep few results, so that few pictures are drawn."""
    wanted = {"window_push", "host_to_device_memcpy_ce", "host_memcpy"}
    return run.model_copy(update={"results": [r for r in run.results if r.test in wanted]})


@pytest.fixture(scope="module")
def document() -> Document:
    return document_of([few(runs.run())])


@pytest.fixture(scope="module")
def html(document: Document) -> str:
    return as_html(document)


def test_the_same_document_gives_the_same_bytes(document: Document, html: str) -> None:
    assert as_html(document_of([few(runs.run())])) == html
    assert as_markdown(document) == as_markdown(document_of([few(runs.run())]))


def test_a_page_needs_nothing_from_elsewhere(html: str) -> None:
    page = Page(html)
    assert not page.all("link")
    assert not page.all("img")
    assert not [one for one in page.all("script") if "src" in one]
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/)", html)


def test_headings_come_in_order_and_ids_once(html: str) -> None:
    page = Page(html)
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert page.all("html") == [{"lang": "en"}]


def test_every_link_within_the_page_has_a_target(html: str) -> None:
    page = Page(html)
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    targets = {link["href"].removeprefix("#") for link in page.all("a")}
    named = {name for _, one in page.elements for name in one.get("aria-labelledby", "").split()}
    assert targets | named <= ids


def test_every_picture_has_words_and_three_files(html: str) -> None:
    page = Page(html)
    pictures = [one for one in page.all("div") if one.get("class", "").startswith("picture ")]
    assert pictures
    assert all(one["role"] == "img" and len(one["aria-label"]) > 20 for one in pictures)
    saves = [one["data-save"] for one in page.all("button") if one["data-save"] != "table"]
    assert saves == ["csv", "svg", "png"] * len(page.all("figure"))


def test_the_data_of_a_picture_are_what_it_draws(html: str) -> None:
    texts = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    for columns in map(json.loads, texts):
        assert {"what", "value"} <= columns.keys()
        assert len({len(values) for values in columns.values()}) == 1


def test_an_emulated_run_is_called_so_above_all_and_in_every_picture_of_the_device() -> None:
    emulated = as_html(document_of([few(runs.run(emulated=True))]))
    page = Page(emulated)
    assert emulated.index("EMULATED GPU") < emulated.index("<main")
    device = [
        one
        for one in page.all("div")
        if one.get("class", "").startswith("picture ") and "host memory" not in one["aria-label"]
    ]
    assert device
    assert all(one["aria-label"].startswith("EMULATED") for one in device)
    assert emulated.count("EMULATED: modelled, not measured on a GPU") == len(device)
    assert "EMULATED" not in as_html(document_of([few(runs.run())]))


def test_what_a_run_says_is_no_html() -> None:
    run = few(runs.run())
    bad = '<script>alert("x")</script> & </table>'
    device = run.machine.device.model_copy(update={"name": bad})
    identity = run.run.model_copy(update={"id": "<u>"})
    results = [
        result.model_copy(update={"axes": {"</script>": "<i>"}})
        if result.test == "window_push"
        else result
        for result in run.results
    ]
    hostile = run.model_copy(
        update={
            "machine": run.machine.model_copy(update={"device": device}),
            "run": identity,
            "results": results,
        }
    )
    text = as_html(document_of([hostile, hostile]))
    assert "<script>alert" not in text
    assert "<u>" not in text
    assert "<i>" not in text
    Page(text)


def test_markdown_has_the_verdict_and_tables_of_equal_rows(document: Document) -> None:
    text = as_markdown(document)
    assert text.startswith("# Test GPU: copies between CPU and GPU\n")
    assert f"**{document.verdicts[0].headline}**" in text
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) >= sum(len(chapter.tables) for chapter in document.chapters)
    for table in tables:
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(bars) == 1


def test_a_bar_in_a_cell_ends_no_cell_of_markdown(document: Document) -> None:
    [table, *_] = document.chapters[0].tables
    row = ("a|b", *table.rows[0][1:])
    chapter = replace(document.chapters[0], tables=(replace(table, rows=(row,)),))
    assert "| a\\|b |" in as_markdown(replace(document, chapters=(chapter,)))


def luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("background", _BACKGROUNDS)
def test_words_can_be_read_on_every_background(palette: dict[str, str], background: str) -> None:
    """A contrast of 4.5 is what WCAG 2 asks for."""
    behind = luminance(palette[background])
    for name in palette.keys() - _NO_WORDS:
        high, low = sorted((luminance(palette[name]), behind), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, name


def test_both_palettes_have_the_same_names() -> None:
    assert LIGHT.keys() == DARK.keys()
