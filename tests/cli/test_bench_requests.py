"""Duplex, streams, rows, many copies and overlap through `isthmus bench`, emulated."""

import ctypes
import json
import re

import pytest

from isthmus.measure.run.model import Run, Status
from program import Invoke

BENCH = ("bench", "--device", "emulated", "--sizes", "1MiB", "-i", "3")


def run_of(invoke: Invoke, *arguments: str) -> Run:
    outcome = invoke(*BENCH, *arguments, "--format", "json")
    assert outcome.code == 0, outcome.err + outcome.out
    return Run.model_validate_json(outcome.out)


def test_both_directions_at_once_are_three_questions_with_three_answers(invoke: Invoke) -> None:
    run = run_of(
        invoke,
        *("-t", "host_to_device_bidirectional_memcpy_ce"),
        *("-t", "device_to_host_bidirectional_memcpy_sm"),
        *("-t", "duplex_memcpy_ce"),
    )
    found = {(r.test, r.metric): r for r in run.results}
    total = found["duplex_memcpy_ce", "duplex_total"].median
    up = found["duplex_memcpy_ce", "duplex_h2d"].median
    loaded = found["host_to_device_bidirectional_memcpy_ce", "bandwidth"]
    assert total is not None
    assert up is not None
    assert total > up
    assert (loaded.direction, loaded.clock, loaded.blocked) == ("h2d", "device", True)
    assert {r.status for r in run.results} == {Status.PASSED}


def test_every_way_to_make_many_copies_is_measured_and_the_quickest_named(invoke: Invoke) -> None:
    outcome = invoke(*BENCH, "-t", "host_to_device_many_copies*")
    assert outcome.code == 0, outcome.err
    (heads,) = (line for line in outcome.out.splitlines() if line.startswith("direction  pieces"))
    ways = ["one by one", "in a batch", "in a graph", "in a kernel", "packed"]
    assert re.split("  +", heads) == ["direction", "pieces", "of each", *ways]
    assert "fastest way to make many copies: H2D 256 x 4 KiB " in outcome.out


def test_streams_and_rows_are_measured_at_each_number_and_width(invoke: Invoke) -> None:
    run = run_of(invoke, "-t", "host_to_device_memcpy_streams", "-t", "device_to_host_memcpy_2d")
    assert [r.axes for r in run.results] == [
        *({"streams": count} for count in (1, 2, 4, 8)),
        *({"row_bytes": row} for row in (64, 512, 4096, 65536)),
    ]


def test_boxes_are_measured_in_pitched_memory_and_in_arrays_side_by_side(invoke: Invoke) -> None:
    outcome = invoke(
        *BENCH,
        *("-t", "host_to_device_memcpy_3d", "-t", "device_to_host_memcpy_3d"),
        *("-t", "host_to_device_memcpy_array", "-t", "device_to_host_memcpy_array"),
    )
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    (start,) = (i for i, line in enumerate(lines) if line.startswith("3-D and array copies, GB/s"))
    heads, *rows = (re.split(r"  +", line.strip()) for line in lines[start + 1 : start + 6])
    assert heads == ["direction", "size", "shape", "pitched", "array"]
    shapes = [tuple(row[:3]) for row in rows]
    box, square = "512 B x 64 x 32", "1 KiB x 1024"
    assert shapes == [(way, "1 MiB", shape) for way in ("H2D", "D2H") for shape in (box, square)]
    assert [len(row) for row in rows] == [5, 4, 5, 4]


def test_a_pipeline_is_reported_with_its_halves_and_its_ratio(invoke: Invoke) -> None:
    run = run_of(invoke, "-t", "duplex_overlap")
    (eight,) = (r for r in run.results if r.metric == "overlap_ratio" and r.axes["chunks"] == 8)
    halves = [r for r in run.results if r.axes == eight.axes and r is not eight]
    times = {r.metric: r.median or 0.0 for r in halves}
    assert times.keys() == {"together", "copy_alone", "compute_alone"}
    ratio = times["together"] / max(times["copy_alone"], times["compute_alone"])
    if eight.status == Status.PASSED:
        assert eight.median == pytest.approx(ratio)
    else:  # a half that ran alone was held up by something else on this machine
        assert eight.status == Status.WAIVED
        assert ratio < 0.9


@pytest.mark.parametrize(
    ("test", "symbol"),
    [
        ("host_to_device_bidirectional_memcpy_ce", b"cuMemcpyDtoHAsync"),
        ("duplex_memcpy_ce", b"cuMemcpyHtoDAsync"),
        ("device_to_host_memcpy_streams", b"cuMemcpyDtoHAsync"),
        ("host_to_device_memcpy_2d", b"cuMemcpy2DAsync"),
        ("device_to_host_memcpy_3d", b"cuMemcpy3DAsync"),
        ("host_to_device_many_copies_batch", b"cuMemcpyBatchAsync"),
        ("device_to_host_many_copies_graph", b"cuGraphLaunch"),
        ("duplex_overlap", b"cuMemcpyDtoHAsync"),
    ],
)
def test_copies_that_never_happened_are_an_error_not_a_number(
    invoke: Invoke, emulator: ctypes.CDLL, test: str, symbol: bytes
) -> None:
    emulator.isthmus_emulator_swallow_calls(symbol)
    outcome = invoke(*BENCH, "-t", test, "--format", "json")
    assert outcome.code == 1
    results = json.loads(outcome.out)["results"]
    assert {result["status"] for result in results} == {"error"}
    assert "verification failed" in results[0]["error"]["message"]


def test_a_driver_before_12_8_waives_the_batch_with_the_reason(
    invoke: Invoke, emulator: ctypes.CDLL
) -> None:
    emulator.isthmus_emulator_hide_symbol(b"cuMemcpyBatchAsync")
    run = run_of(
        invoke,
        *("-t", "host_to_device_many_copies_batch"),
        *("-t", "host_to_device_many_copies_loop"),
    )
    reasons = {r.reason for r in run.results if r.status == Status.WAIVED}
    assert len(reasons) == 1
    assert "CUDA 12.8" in str(reasons)
    assert {r.test for r in run.results if r.status == Status.PASSED} == {
        "host_to_device_many_copies_loop"
    }
