from pathlib import Path

import pytest

from fakes import runs
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import read_run_file
from isthmus.show.formats.as_text import page_as
from isthmus.show.tables.sweeps import sweep_tables

RECORDED = Path(__file__).parents[3] / "benchmarks" / "link" / "h100" / "run.json"


@pytest.fixture(scope="module")
def recorded() -> Run:
    """Give the recorded run of an H100."""
    return read_run_file(RECORDED)


def test_each_sweep_is_a_line_of_bars_with_its_ends(recorded: Run) -> None:
    [table] = [
        t
        for t in sweep_tables(recorded)
        if t.title.startswith("Bandwidth by kind") and "H2D" in t.title
    ]
    rows = {row[0]: row for row in table.rows}
    assert rows["pinned"][1].endswith("█")
    assert rows["pinned"][1][0] == "▁"
    assert rows["pinned"][3].endswith("GB/s")


def test_a_first_look_has_no_sweeps(recorded: Run) -> None:
    quick = recorded.model_copy(
        update={"options": recorded.options.model_copy(update={"quick": True})}
    )
    assert page_as(quick, verbose=False, pictures=True) == page_as(quick, verbose=False)
    assert len(page_as(recorded, verbose=False, pictures=True).tables) > len(sweep_tables(recorded))


def test_bars_are_drawn_on_request_only() -> None:
    run = runs.run()
    plain = page_as(run, verbose=False)
    drawn = page_as(run, verbose=False, pictures=True)
    assert plain.tables == drawn.tables[: len(plain.tables)]
    assert "█" not in str(plain)


def test_bars_of_an_emulated_run_say_so() -> None:
    run = runs.run(emulated=True)
    page = page_as(run, verbose=False, pictures=True)
    assert all("EMULATED" in table.title for table in page.tables)
