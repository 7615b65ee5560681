"""Sizes of workloads: `workload.nodes=131072`, for every workload."""

import json
from pathlib import Path

import pytest

import isthmus
from isthmus import _native
from isthmus.errors import UsageError
from isthmus.show.format import Format
from isthmus.sim.axes import points, read_axes
from isthmus.sim.catalogue import catalogue_text
from isthmus.sim.library import Library
from isthmus.sim.paper.studies import make_point
from isthmus.sim.points import Base, SweepPoint, build_points
from isthmus.sim.running import check_workload, open_source, workload_names
from isthmus.sim.settings import check_sizes, read_sizes, setting_of, size_settings
from isthmus.sim.sweep import columns_of

pytestmark = pytest.mark.native

SMALL = {"workload.nodes": "1024"}


def sweep_of(*axes: str, workload: str | None = "bfs") -> list[SweepPoint]:
    base = Base(workload=workload, machine="paper-gtx480", policy="programmer", seed=0, settings={})
    return build_points(base, points(read_axes(axes)))


def test_every_workload_has_sizes_and_each_says_what_it_is() -> None:
    for one in _native.workloads():
        assert one.sizes, one.name
        for size in one.sizes:
            assert size.meaning, f"{one.name}.{size.name}"
            assert size.least <= size.usual <= size.most, f"{one.name}.{size.name}"
            check_workload(one.name, {size.name: size.usual})


@pytest.mark.parametrize("workload", workload_names())
def test_every_size_can_be_set_by_its_name(workload: str) -> None:
    [known] = [one for one in _native.workloads() if one.name == workload]
    assignments = [
        f"workload.{size.name}={size.least}{'B' if size.in_bytes else ''}" for size in known.sizes
    ]
    sizes = read_sizes(assignments)
    assert sizes == {size.name: size.least for size in known.sizes}
    program = open_source(workload, sizes=sizes).program
    for size in known.sizes:
        assert (f"{size.name}=" in program.description) == (size.least != size.usual)
    settings = dict(one.split("=") for one in assignments)
    small = isthmus.simulate(workload, policy="ideal", settings=settings)
    assert (
        0
        < small.counts["line_requests"]
        == Library()
        .run(make_point(workload, "ideal", settings), lambda: True)
        .counts["line_requests"]
    )


def test_sizes_of_one_name_have_one_unit() -> None:
    units: dict[str, set[bool]] = {}
    for one in _native.workloads():
        for size in one.sizes:
            units.setdefault(size.name, set()).add(size.in_bytes)
    assert all(len(found) == 1 for found in units.values()), units


def test_a_size_changes_the_bytes_that_a_program_copies() -> None:
    small = isthmus.simulate("bfs", policy="programmer", settings=SMALL)
    twice = isthmus.simulate("bfs", policy="programmer", settings={"workload.nodes": "2048"})
    assert twice.bytes_to_gpu == pytest.approx(2 * small.bytes_to_gpu, rel=0.01)


def test_a_size_that_is_set_to_its_usual_value_changes_nothing() -> None:
    usual = isthmus.simulate("cp", policy="ranges")
    given = isthmus.simulate("cp", policy="ranges", settings={"workload.size": "256"})
    assert given.event_digest == usual.event_digest


def test_a_size_in_bytes_is_read_with_its_unit() -> None:
    assert read_sizes(["workload.bytes=64KiB"]) == {"bytes": 65536}
    assert setting_of("workload.bytes").text(65536) == "64 KiB"


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        ({"workload.nods": "1024"}, "no setting 'workload.nods'", "did you mean workload.nodes"),
        ({"workload.rows": "1024"}, "bfs has no size 'rows'", "workload.nodes, workload.edges"),
        ({"workload.nodes": "100"}, "256 to 16777216, multiples of 256; the nearest is 256", ""),
        ({"workload.nodes": "0"}, "at least 1", "8"),
        ({"workload.nodes": "4294967296"}, "out of range", "4294967295"),
        ({"workload.nodes": "-256"}, "not a number", "8"),
        ({"workload.nodes": "1024.5"}, "not a whole number", "1024"),
    ],
)
def test_a_size_that_can_not_be_is_refused(
    settings: dict[str, str], message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        isthmus.simulate("bfs", settings=settings)
    assert message in str(caught.value)
    assert hint in caught.value.hint


def test_a_trace_has_no_sizes(tmp_path: Path) -> None:
    from isthmus.sim.trace.file import record_trace

    record_trace(open_source("bfs", sizes={"nodes": 256}), tmp_path / "bfs.arrow")
    with pytest.raises(UsageError, match="no sizes to choose") as caught:
        isthmus.simulate(tmp_path / "bfs.arrow", settings=SMALL)
    assert "workload.nodes" in caught.value.hint
    with pytest.raises(UsageError, match="no sizes to choose"):
        isthmus.simulate(open_source("bfs"), settings=SMALL)


def test_only_sizes_can_be_set_while_a_trace_is_recorded() -> None:
    with pytest.raises(UsageError, match=r"'link\.bandwidth' is no size") as caught:
        read_sizes(["link.bandwidth=1GB/s"])
    assert "when you run it" in caught.value.hint


def test_the_description_says_which_sizes_were_chosen() -> None:
    program = open_source("bfs", sizes={"nodes": 1024, "edges": 6}).program
    assert "but with nodes=1024;" in program.description


def test_a_size_is_an_axis_of_a_sweep() -> None:
    built = sweep_of("workload.nodes=1024..4096", "policy=programmer,ranges")
    assert [columns_of(one)["workload.nodes"] for one in built] == [1024] * 2 + [2048] * 2 + [
        4096
    ] * 2
    assert len({one.key for one in built}) == len(built)


def test_a_sweep_over_workloads_refuses_a_size_that_one_does_not_have() -> None:
    built = sweep_of("workload=bfs,lps", "workload.nodes=1024", workload=None)
    for point in built:
        if point.workload == "bfs":
            check_workload(point.workload, point.setup.sizes)
        else:
            with pytest.raises(UsageError, match="lps has no size 'nodes'"):
                check_workload(point.workload, point.setup.sizes)


def test_a_sweep_runs_each_size_of_a_workload() -> None:
    library = Library()
    results = [
        library.run(one, lambda: True) for one in sweep_of("workload.nodes=1024,2048,1024,4096")
    ]
    alone = isthmus.simulate("bfs", policy="programmer", settings=SMALL)
    assert results[0].event_digest == alone.event_digest
    assert len({one.event_digest for one in results}) == len(results)


def test_the_catalogue_lists_each_workloads_sizes_with_usual_values_and_ranges() -> None:
    listed = json.loads(catalogue_text(Format.JSON))["sizes of workloads"]
    assert {row["workload"] for row in listed} == {one.name for one in _native.workloads()}
    assert {row["name"] for row in listed} == set(size_settings())
    assert {
        "workload": "aes",
        "name": "workload.bytes",
        "usual": "257 KiB",
        "allowed": "1024 to 1073741824 B, multiples of 1024",
        "meaning": "bytes to encrypt",
    } in listed
    assert "bfs: nodes of the graph; 65536 if not set" in catalogue_text(Format.CSV)


def test_a_copy_that_is_made_again_is_recorded_as_one(tmp_path: Path) -> None:
    from isthmus.sim.trace.file import open_trace, record_trace

    small = {"experts": 16, "batches": 2, "width": 256, "inner": 256, "cached": 1}
    record_trace(open_source("moe", sizes=small), tmp_path / "moe.arrow")
    steps = open_trace(tmp_path / "moe.arrow").program.launches[3].before
    assert "upload_again" in {step.kind for step in steps}


def test_an_unknown_workload_has_no_sizes() -> None:
    with pytest.raises(UsageError, match="no workload"):
        _native.check_workload("bsf", {})
    with pytest.raises(UsageError, match="has no size"):
        check_sizes("bfs", {"": 1})
