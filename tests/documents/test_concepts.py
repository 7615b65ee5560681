"""The pages of docs/concepts say what the records have that their pictures are drawn from."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from documents.scripts import script
from documents.snippets import ROOT

PAGES = ROOT / "docs" / "concepts"
NAMES = ("pageable", "staging", "window", "ordering", "migration")
_GIB = 1 << 30


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    """Load the script that draws the pictures."""
    pytest.importorskip("altair")
    return script("draw_concepts")


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text("utf-8")


def said(name: str) -> list[str]:
    """Give the numbers in the words that stand for a picture, after its sizes."""
    found = re.search(r'alt="([^"]*)"', page(name))
    assert found is not None
    words = re.sub(r"H[12]00|\b\d+ (?:GiB|MiB|bytes|cores?)\b", "", found[1])
    return re.findall(r"\d+(?:\.\d+)?", words)


def test_every_page_has_a_picture_in_both_themes() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == set(NAMES)
    for name in NAMES:
        files = re.findall(r'src(?:set)?="([^"]+)"', page(name))
        assert [Path(file).name for file in files] == [f"{name}-dark.svg", f"{name}-light.svg"]
        assert all((PAGES / file).is_file() for file in files)


def test_every_page_is_in_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert all(f"concepts/{name}.md" in site for name in NAMES)


def ends(drawing: ModuleType, name: str, size: int, order: tuple[str, ...]) -> list[str]:
    """Write the rates of all panels at one size, in the order of the words."""
    panels = drawing.PANELS[name]()
    return [f"{panel.curves[curve][size]:.0f}" for curve in order for panel in panels]


def test_the_words_of_pageable_memory_are_those_of_its_record(drawing: ModuleType) -> None:
    assert said("pageable") == ends(drawing, "pageable", _GIB, ("pinned", "pageable"))


def test_the_words_of_staging_are_those_of_its_records(drawing: ModuleType) -> None:
    order = ("16 cores", "4 cores", "1 core", "cudaMemcpy")
    assert said("staging") == ends(drawing, "staging", _GIB, order)


def test_the_words_of_windows_are_those_of_their_record(drawing: ModuleType) -> None:
    write, read = drawing.PANELS["window"]()
    times = [
        f"{write.curves['write, fenced'][4]:.2f}",
        *(f"{value:.1f}" for value in (write.curves["cudaMemcpy"][4], read.curves["read"][4])),
        f"{read.curves['cudaMemcpy'][4]:.1f}",
    ]
    assert said("window") == times


def test_the_words_of_ordering_are_those_of_its_record(drawing: ModuleType) -> None:
    assert said("ordering") == [f"{value:.2g}" for value in drawing.moments().values()]


def test_the_words_of_migration_are_those_of_its_record(drawing: ModuleType) -> None:
    order = ("faults", "prefetched", "read in place", "copied, pinned")
    assert said("migration") == ends(drawing, "migration", 512 << 20, order)


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_drawn_in_the_colours_of_its_theme(drawing: ModuleType, name: str) -> None:
    for theme, (ink, _, colours) in drawing.THEMES.items():
        described = drawing.picture(name, theme).to_json()
        assert ink in described
        assert colours[0] in described
