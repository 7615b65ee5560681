"""What somebody must know who reads a chart of the report, and compares it with what is beside."""

import re
from pathlib import Path
from typing import Any

import pytest

from isthmus.measure.expected.judging import judge
from isthmus.measure.expected.shortfall import explanations
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import read_run
from isthmus.show.document.as_html import _drawn_columns
from isthmus.show.document.chapters import chapters_of
from isthmus.show.document.gains import gains_of
from isthmus.show.document.limits import limits_of
from isthmus.show.document.parts import Chapter, Figure
from isthmus.show.document.sentences import about_bandwidth

RECORDED = Path(__file__).parents[3] / "benchmarks" / "link"
PAIRS = (("H2D", "D2H"), ("host to device", "device to host"), ("write", "read"))


@pytest.fixture(scope="module")
def h100() -> Run:
    return read_run(str(RECORDED / "h100" / "run.json"))


@pytest.fixture(scope="module")
def chapters(h100: Run) -> list[Chapter]:
    return chapters_of({"": h100})


@pytest.fixture(scope="module")
def figures(chapters: list[Chapter]) -> dict[str, Figure]:
    return {one.title: one for chapter in chapters for one in (*chapter.figures, *chapter.more)}


def channel(figure: Figure) -> dict[str, Any]:
    """Give the axis of a figure's numbers: what leads to a median's place."""
    points = next(one for one in figure.specification["layer"] if one["mark"]["type"] == "point")
    found: dict[str, Any] = points["encoding"]["y" if figure.kind == "curves" else "x"]
    return found


def values(figure: Figure) -> list[float]:
    """List the medians that a figure draws."""
    return next(
        columns["value"]
        for columns in figure.data.values()
        if "width" in columns or "shown" in columns
    )


def test_charts_of_both_directions_have_one_scale(figures: dict[str, Figure]) -> None:
    pairs = [
        (figure, figures[title.replace(one, other)])
        for title, figure in figures.items()
        for one, other in PAIRS
        if one in title and title.replace(one, other) in figures
    ]
    assert len(pairs) > 20
    for figure, other in pairs:
        if figure.kind == other.kind:
            assert channel(figure)["scale"] == channel(other)["scale"], figure.title


def test_lives_with_and_without_a_download_have_one_scale(chapters: list[Chapter]) -> None:
    [lives] = [chapter for chapter in chapters if chapter.id == "break-even"]
    first, second = lives.figures
    assert "upload, download" in second.title
    assert channel(first)["scale"] == channel(second)["scale"]


def test_an_axis_is_logarithmic_where_two_values_differ_ten_times(
    figures: dict[str, Figure],
) -> None:
    spans = {title: max(values(one)) / min(values(one)) for title, one in figures.items()}
    linear = {title for title, one in figures.items() if channel(one)["scale"]["type"] == "linear"}
    assert any(span >= 10 for span in spans.values())
    assert {title for title in linear if spans[title] >= 10} == set()


def test_pale_bars_are_explained_beside_their_axis(figures: dict[str, Figure]) -> None:
    pale = {
        title: one
        for title, one in figures.items()
        if any(layer["mark"]["type"] == "rule" for layer in one.specification["layer"])
    }
    assert {one.kind for one in pale.values()} == {"curves", "points"}
    assert all(channel(one)["title"].endswith("pale: min to max") for one in pale.values())


def test_times_are_written_in_the_unit_that_suits_their_size(figures: dict[str, Figure]) -> None:
    life = figures[
        "Host memory from allocation to freeing, copied in between: allocate, upload, free"
    ]
    assert (0, "pageable: 261 ms") in life.legend
    assert "pageable 79.6 µs at 64 KiB to 261 ms at 256 MiB" in life.words
    names = channel(life)["axis"]["labelExpr"]
    assert '"100 \\u00b5s"' in names
    assert '"10 ms"' in names
    for figure in figures.values():
        words = [figure.words, *(text for _, text in figure.legend)]
        assert not any(re.search(r"(?<![.\d])\d{5}", text) for text in words), figure.title


def test_large_copies_have_the_same_numbers_in_the_verdict_and_in_the_chapter(h100: Run) -> None:
    [gain] = [one for one in gains_of(h100) if one.change == "Pin the memory that is copied"]
    up, down = gain.pairs
    assert about_bandwidth(h100) == (
        f"Copies of 1 GiB reach {up.after} up and {down.after} down with pinned memory, and "
        f"{up.before} up and {down.before} down with pageable memory."
    )
    link, pageable, *_ = limits_of(h100)
    assert "54.8 GB/s (256 MiB, pinned)" in link
    assert f"pageable uploads (1 GiB) for the driver at {up.before}" in pageable


def test_a_link_at_its_most_is_no_cause_of_slow_copies(h100: Run) -> None:
    assert h100.machine.link.is_downtrained is False
    judged = judge(h100)
    causes = explanations(h100.machine, judged)
    assert causes
    assert not any("width" in cause or "narrow" in cause for cause in causes)
    unknown = h100.machine.link.model_copy(update={"generation_max": None, "width_max": None})
    unread = h100.machine.model_copy(update={"link": unknown})
    assert any("width" in cause for cause in explanations(unread, judged))


def test_the_saved_numbers_of_a_chart_with_bars_are_its_medians(
    h100: Run, figures: dict[str, Figure]
) -> None:
    chart = figures["Pinned against pageable host memory, allocated anew between copies: D2H"]
    medians = [(r.median or 0.0) / 1e9 for r in h100.results if r.kind == "pinned_vs_pageable"]
    saved = _drawn_columns(chart)["value"]
    assert all(any(value == pytest.approx(one, rel=1e-4) for one in medians) for value in saved)
