"""The tables of suite paging, from results that were made up."""

from types import SimpleNamespace
from typing import cast

from isthmus.measure.run.model import Run, Status
from isthmus.show.tables.paging import paging_notes, paging_tables, times_of


def _result(
    program: str, way: str, median: float | None, unit: int | None = None
) -> SimpleNamespace:
    axes = {"way": way} | ({} if unit is None else {"unit": unit})
    return SimpleNamespace(
        suite="paging",
        test=f"paging_{program}",
        way=program,
        axes=axes,
        bytes=1 << 20,
        median=median,
        status=Status.WAIVED if median is None else Status.PASSED,
    )


def _run(*results: SimpleNamespace) -> Run:
    return cast("Run", SimpleNamespace(results=list(results)))


BFS = (
    _result("bfs", "ideal", 3e-3),
    _result("bfs", "copies", 1e-3),
    _result("bfs", "programmer", 4e-3),
    _result("bfs", "ranges", 2e-3, 1024),
    _result("bfs", "ranges", 8e-3, 4096),
)
CP = (
    _result("cp", "ideal", 2e-3),
    _result("cp", "copies", None),
    _result("cp", "programmer", 2e-3),
    _result("cp", "ranges", 8e-3, 1024),
    _result("cp", "ranges", 2e-3, 4096),
)


def test_the_bound_is_the_longer_of_computing_and_copying_over_their_sum() -> None:
    times = times_of(_run(*BFS, *CP))
    assert times.bound("bfs") == 0.75
    assert times.bound("cp") == 1.0  # it copies nothing


def test_there_is_no_bound_if_nobody_knows_what_copies_take() -> None:
    times = times_of(_run(_result("mum", "ideal", 3e-3), _result("mum", "copies", None)))
    assert times.bound("mum") is None


def test_sizes_have_three_digits() -> None:
    table = paging_tables(_run(*BFS))[0]
    assert table.rows[0][:2] == ("bfs", "1 MiB")


def test_means_are_of_ratios_to_the_programmers_copies() -> None:
    _, ratios, units = paging_tables(_run(*BFS, *CP))
    assert ratios.heads == ("program", "bound", "ranges")
    assert ratios.rows == (
        ("bfs", "0.75x", "0.50x"),
        ("cp", "1.00x", "4.00x"),
        ("mean", "0.88x", "2.25x"),
        ("geometric mean", "0.87x", "1.41x"),
    )
    assert units.heads == ("program", "1 KiB", "4 KiB")
    assert units.rows[0] == ("bfs", "0.50x", "2.00x")


def test_a_mean_of_some_programs_is_not_given() -> None:
    _, ratios, *_ = paging_tables(_run(*BFS, *CP[:3]))
    assert ratios.rows[-1] == ("geometric mean", "0.87x", "")
    assert not [line for line in paging_notes(_run(*BFS, *CP[:3])) if line.startswith("ranges:")]


def test_the_notes_say_how_near_a_policy_comes_to_the_bound() -> None:
    assert "ranges: 0.61 of the bound's speed (geometric mean)" in paging_notes(_run(*BFS, *CP))


def test_a_run_without_the_suite_has_no_tables() -> None:
    assert paging_tables(_run()) == []
    assert paging_notes(_run()) == []
