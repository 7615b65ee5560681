"""Tables and sentences in few columns: everything is there, and nothing is too wide."""

import re
from pathlib import Path

import pytest

from isthmus.measure.run.reading import read_run_file
from isthmus.show.fitting import NARROWEST, table_lines, wrapped
from isthmus.show.formats.as_text import as_text, page_of
from isthmus.show.page import Table

RECORDED = Path(__file__).parents[3] / "benchmarks" / "link" / "h100" / "run.json"
WIDTHS = (NARROWEST, 60, 80, 100, 120, 300)
SMALL_COPIES = Table(
    title="Small copies",
    heads=("copy", "metric", "median", "min", "first call"),
    rows=(
        ("H2D async", "reciprocal_throughput", "10.25", "9.999", "1234567"),
        ("D2H async", "completion", "-", "", ""),
    ),
    num_text_columns=2,
)
SIZES = Table(
    title="Bandwidth",
    heads=("memory", *(f"{1 << power} KiB" for power in range(10))),
    rows=(("pinned", *(f"{number}.25" for number in range(10, 20))),),
)
TESTS = Table(
    title="Tests",
    heads=("suite", "name", "what it measures"),
    rows=(("latency", "host_to_device_small_copy_async", "a copy of few bytes, and its ends"),),
    num_text_columns=3,
)


@pytest.mark.parametrize("table", [SMALL_COPIES, SIZES, TESTS], ids=lambda table: table.title)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_word_and_number_of_a_table_is_there_at_any_width(table: Table, width: int) -> None:
    lines = table_lines(table, width)
    assert max(map(len, lines)) <= width
    shown = " ".join(lines).split()
    for row in (table.heads, *table.rows):
        assert set(" ".join(row).split()) <= set(shown)


def test_a_table_that_fits_is_one_grid() -> None:
    assert table_lines(SMALL_COPIES, 80) == [
        "Small copies",
        "copy       metric                 median    min  first call",
        "H2D async  reciprocal_throughput   10.25  9.999     1234567",
        "D2H async  completion                  -",
    ]


def test_columns_that_do_not_fit_stand_below_the_others_beside_the_same_words() -> None:
    assert table_lines(SIZES, 45) == [
        "Bandwidth",
        "memory  1 KiB  2 KiB  4 KiB  8 KiB  16 KiB",
        "pinned  10.25  11.25  12.25  13.25   14.25",
        "",
        "memory  32 KiB  64 KiB  128 KiB  256 KiB",
        "pinned   15.25   16.25    17.25    18.25",
        "",
        "memory  512 KiB",
        "pinned    19.25",
    ]


def test_numbers_stand_below_their_words_where_that_is_shorter() -> None:
    assert table_lines(SMALL_COPIES, 40) == [
        "Small copies",
        "copy       metric",
        "    median    min  first call",
        "H2D async  reciprocal_throughput",
        "     10.25  9.999     1234567",
        "D2H async  completion",
        "         -",
    ]


def test_words_are_wrapped_and_where_that_is_too_narrow_listed() -> None:
    assert table_lines(TESTS, 70) == [
        "Tests",
        "suite    name                             what it measures",
        "latency  host_to_device_small_copy_async  a copy of few bytes, and its",
        "                                          ends",
    ]
    assert table_lines(TESTS, 50) == [
        "Tests",
        "suite    name",
        "    what it measures",
        "latency  host_to_device_small_copy_async",
        "    a copy of few bytes, and its ends",
    ]


def test_a_line_is_broken_between_words_and_a_word_only_if_it_is_longer_than_a_line() -> None:
    assert wrapped("host    a CPU, and more words that do not fit", 40, indent=" " * 8) == [
        "host    a CPU, and more words that do",
        "        not fit",
    ]
    assert "".join(part.strip() for part in wrapped("x" * 100, 40)) == "x" * 100
    assert wrapped("", 40) == [""]


def test_a_number_stays_with_its_unit() -> None:
    for length in range(20, 40):
        lines = wrapped(f"{'x' * length} 4 KiB to 1.5 us", 40)
        assert any("4 KiB" in line for line in lines)
        assert any("1.5 us" in line for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_whole_recorded_run_loses_no_number_at_any_width(width: int) -> None:
    run = read_run_file(RECORDED)
    text = as_text(run, width=width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in text
    shown = set(re.findall(r"\S+", text))
    cells = {
        word
        for table in page_of(run).tables
        for row in (table.heads, *table.rows)
        for cell in row
        for word in cell.split()
    }
    assert {word for word in cells - shown if len(word) <= width} == set()
