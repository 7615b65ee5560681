"""Pages of experiments, from a run that was recorded on an H100."""

import csv
import io
import json
from pathlib import Path

import pytest

from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import read_run_file
from isthmus.measure.run.result import NO_TIME_LEFT, Status
from isthmus.reproduce.as_data import as_csv, as_json
from isthmus.reproduce.as_markdown import document, page_markdown, preformatted
from isthmus.reproduce.catalogue import BY_NAME, EXPERIMENTS
from isthmus.reproduce.publication import read_publication
from isthmus.reproduce.side_by_side import Reproduced, page_of, reproduced
from isthmus.show.formats.as_text import page_text
from program import Golden

NAMES = [experiment.name for experiment in EXPERIMENTS]
RECORDED = Path(__file__).parents[3] / "benchmarks" / "link" / "h100" / "run.json"


@pytest.fixture(scope="module")
def recorded() -> Run:
    """Give the recorded run."""
    return read_run_file(RECORDED)


def every(run: Run) -> list[Reproduced]:
    return [reproduced(read_publication(name), run) for name in NAMES]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_pages_are_as_reviewed_on_terminals_of_any_width(
    recorded: Run, golden: Golden, width: int
) -> None:
    pages = {one.publication.name: page_of(one, pictures=True) for one in every(recorded)}
    text = "\n".join(
        f"$ isthmus reproduce {name}\n{page_text(page, width)}" for name, page in pages.items()
    )
    assert max(map(len, text.splitlines())) <= width
    golden(f"reproduce_{width}.text", text)


def test_without_pictures_a_page_is_ascii(recorded: Run) -> None:
    for one in every(recorded):
        page_text(page_of(one, pictures=False)).encode("ascii")


def test_a_real_run_is_never_marked_as_emulated_and_an_emulated_one_always_is(
    recorded: Run,
) -> None:
    changes = {"emulated": True, "profile": "small"}
    modelled = recorded.model_copy(update={"machine": recorded.machine.model_copy(update=changes)})
    for one in every(recorded):
        assert "EMULATED" not in page_text(page_of(one, pictures=True))
    for one in every(modelled):
        page = page_of(one, pictures=True)
        assert page.warning is not None
        assert all("EMULATED" in table.title for table in page.tables)


def test_json_and_csv_have_every_published_figure(recorded: Run) -> None:
    experiments = every(recorded)
    document_of_all = json.loads(as_json(experiments))
    rows = list(csv.DictReader(io.StringIO(as_csv(experiments))))
    figures = [row for one in document_of_all["experiments"] for row in one["figures"]]
    assert len(rows) == len(figures) == sum(len(one.pairs) for one in experiments)
    assert [row["theirs"] or None for row in rows] == [
        None if row["theirs"] is None else str(row["theirs"]) for row in figures
    ]
    absent = [row for row in figures if row["ours_low"] is None and row["ours_said"] is None]
    assert absent
    assert all(row["why_not"] for row in absent)


def test_markdown_has_a_table_for_each_table_of_the_page(recorded: Run) -> None:
    for one in every(recorded):
        page = page_of(one, pictures=False)
        text = page_markdown(one.publication.name, page, level=2)
        lines = text.splitlines()
        assert lines[0] == f"## {one.publication.name}"
        assert sum(line.startswith("### ") for line in lines) == len(page.tables)
        for table in page.tables:
            assert sum(line.count("| ") == len(table.heads) for line in lines) >= len(table.rows)


def test_a_document_begins_with_one_title_and_has_its_chapters_in_order() -> None:
    text = document(["## one\n", preformatted("two", "a  b\n")])
    assert text.startswith("# ")
    assert text.index("## one") < text.index("## two\n\n```text\na  b\n```\n")


def test_a_figure_of_another_size_of_a_series_is_no_problem_and_another_reason_is_one(
    recorded: Run,
) -> None:
    pages = {one.publication.name: page_of(one, pictures=False) for one in every(recorded)}
    assert pages["pinned-vs-pageable"].problems == ()
    assert any("far NUMA node" in line for line in pages["gdrcopy"].problems)


def test_all_sizes_are_advised_only_where_a_size_was_not_asked_for(recorded: Run) -> None:
    def foot(run: Run) -> str:
        one = reproduced(read_publication("pinned-vs-pageable"), run)
        return " ".join(page_text(page_of(one, pictures=False)).split())

    assert "`--sizes all` measures all of their sizes" in foot(recorded)
    every_size = [
        result.model_copy(update={"bytes": size})
        for result in recorded.results
        if result.suite == "pinned_vs_pageable" and result.bytes == 160 << 20
        for size in BY_NAME["pinned-vs-pageable"].all_sizes(
            (figure.bytes for figure in read_publication("pinned-vs-pageable").figures()), 4 << 30
        )
    ]
    waived = {"status": Status.WAIVED, "reason": NO_TIME_LEFT, "median": None}
    every_size[0] = every_size[0].model_copy(update=waived)
    text = foot(recorded.model_copy(update={"results": every_size}))
    assert "75 of 76 published numbers compared; `--format json` has all" in text
