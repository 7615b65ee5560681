"""The tables, notes and picture of suites alloc, pinned_vs_pageable and host."""

import pytest

from fakes.runs import run as plain_run
from fakes.session import FakeMeasurement, FakeSamples, FakeSession, Watcher
from isthmus.ground.life import LIVES_NOTE, Life
from isthmus.measure.bench.demand import Demand, Limits
from isthmus.measure.bench.derived.catalogue import derived
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.runner import RunSettings, run_points
from isthmus.measure.bench.tests.bench_test import BenchTest
from isthmus.measure.bench.tests.catalogue import BY_NAME
from isthmus.measure.run.model import Run
from isthmus.show.formats.as_text import as_text
from isthmus.show.page import Table
from isthmus.show.pictures.drawing import described
from isthmus.show.pictures.of_run import charts
from isthmus.show.tables.alloc import alloc_notes, alloc_tables
from isthmus.show.tables.host import host_notes, host_tables
from isthmus.show.tables.pinned_vs_pageable import (
    pinned_vs_pageable_notes,
    pinned_vs_pageable_tables,
)

_MIB = 1 << 20
_LIMITS = Limits(device_bytes=8 << 30, host_bytes=8 << 30, num_cores=4)


def _answer(test: BenchTest, size_bytes: int) -> FakeMeasurement:
    """10 us and 1 ns a byte; the first call of an allocation takes a millisecond."""
    middle = 1e-5 + size_bytes * 1e-9
    names = ["copy_time" if metric == "bandwidth" else metric for metric in test.metrics]
    samples = [FakeSamples(name, [middle, middle * 0.5, middle * 2], 1) for name in names]
    return FakeMeasurement(samples, first_call_seconds=1e-3, verified_on="host")


def _run(base: Run, *tests: str) -> Run:
    points = [
        Point(BY_NAME[name], *point)
        for name in tests
        for point in BY_NAME[name].points(Demand(limits=_LIMITS))
    ]
    session = FakeSession(_answer)
    results = run_points(session, points, RunSettings(budget_s=1), Watcher()).results
    return base.model_copy(update={"results": [*results, *derived(results)]})


def _cell(table: Table, row: str, head: str) -> str:
    found = next(cells for cells in table.rows if cells[0] == row)
    return found[table.heads.index(head)]


@pytest.fixture
def base() -> Run:
    return plain_run()


def test_every_allocation_has_its_time_at_every_size(base: Run) -> None:
    run = _run(base, "alloc_cuda_malloc", "alloc_malloc", "alloc_cuda_malloc_async")
    tables = {table.title.partition(",")[0]: table for table in alloc_tables(run)}
    assert _cell(tables["Allocating"], "cuda_malloc", "1 MiB") == "1059"
    assert _cell(tables["Freeing"], "malloc, pages touched", "256 B") == "10.26"
    assert _cell(tables["Both"], "cuda_malloc", "1 MiB") == "1.03e+03"
    assert _cell(tables["First allocation of its size"], "malloc", "1 MiB") == "1000"
    returns = tables["Allocating in stream order"]
    assert [row[0] for row in returns.rows] == ["cuda_malloc_async"]


def test_a_byte_more_is_written_beside_the_start(base: Run) -> None:
    notes = "\n".join(alloc_notes(_run(base, "alloc_cuda_malloc")))
    assert "cuda_malloc 10.00 us + 1049 us/MiB (within 0%)" in notes


def test_of_a_line_of_which_a_part_is_left_that_part_is_written(base: Run) -> None:
    run = _run(base, "alloc_cuda_malloc")
    starts = [result for result in run.results if result.metric == "allocation_start"]
    notes = "\n".join(alloc_notes(run.model_copy(update={"results": starts})))
    assert notes.endswith("(line fitted to all sizes): cuda_malloc 10.00 us")


def test_break_evens_are_written_out_with_the_question_that_each_answers(base: Run) -> None:
    tests = ("host_memory_life", "alloc_malloc", "alloc_cuda_malloc_host")
    notes = alloc_notes(_run(base, *tests))
    for life in Life:
        said = f"break-even with pageable memory, {life}, uploaded once:"
        assert any(note.startswith(f"{said} pinned not up to") for note in notes)
    assert notes.count(LIVES_NOTE) == 1


def test_large_copies_show_their_spread_and_the_gain(base: Run) -> None:
    run = _run(base, "host_to_device_pinned_vs_pageable", "device_to_host_pinned_vs_pageable")
    (table,) = pinned_vs_pageable_tables(run)
    assert _cell(table, "160 MiB", "H2D pageable") == "1.00 (0.50-2.00)"
    assert _cell(table, "160 MiB", "D2H pinned/pageable") == "1.00x"
    assert pinned_vs_pageable_notes(run)[0].endswith(": 4.00x")
    (upload, download) = described(charts(run)["pinned-vs-pageable"])["concat"]
    assert (upload["title"], download["title"]) == ("H2D", "D2H")
    assert {layer["mark"]["type"] for layer in upload["layer"]} >= {"line", "rule", "text"}


def test_host_copies_have_a_row_for_each_way_and_number_of_threads(base: Run) -> None:
    run = _run(base, "host_memcpy", "host_memcpy_non_temporal", "host_memcpy_node_to_node")
    copies, nodes = host_tables(run)
    assert [row[:2] for row in copies.rows] == [
        ("libc's memcpy", "1"),
        ("libc's memcpy", "4"),
        ("past the caches", "1"),
        ("past the caches", "4"),
    ]
    assert nodes.heads == ("size", "from", "to node 0")
    assert host_notes(run)[-1] == "node to node: this host has one node"


def test_suites_that_were_not_run_leave_no_trace(base: Run) -> None:
    run = _run(base, "window_write")
    assert (alloc_tables(run), host_tables(run), pinned_vs_pageable_tables(run)) == ([], [], [])
    assert (alloc_notes(run), host_notes(run), pinned_vs_pageable_notes(run)) == ([], [], [])


def test_the_page_has_them_all(base: Run) -> None:
    text = as_text(_run(base, "alloc_malloc", "host_memcpy", "host_to_device_pinned_vs_pageable"))
    for title in ("Allocating, micro", "Copies within host memory", "Pinned against pageable"):
        assert title in text
