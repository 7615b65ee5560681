"""Suites numa and multi on emulated machines with one GPU and with two."""

import ctypes

import pytest

from isthmus.measure.run.model import Result, Run, Status
from program import Invoke, Outcome

# Between them the figures that one emulated link gives, 3 GB/s, with room for a busy machine.
LINK_BYTES_PER_S = 3e9


def run_of(outcome: Outcome) -> Run:
    return Run.model_validate_json(outcome.out)


def bench(invoke: Invoke, profile: str, *arguments: str) -> tuple[Outcome, list[Result]]:
    common = ("--device", f"emulated:{profile}", "--sizes", "256KiB", "-i", "3")
    outcome = invoke("bench", *arguments, *common, "--format", "json")
    return outcome, run_of(outcome).results


def test_each_cpu_node_is_measured_with_each_gpu(invoke: Invoke) -> None:
    outcome, results = bench(invoke, "two-gpus", "numa")
    assert outcome.code == 0, outcome.err
    nodes = run_of(outcome).machine.host.numa_nodes
    usable = [str(node.node) for node in nodes if node.cpus]
    rows = {(r.axes["node"], r.axes["gpu"]) for r in results}
    assert rows == {(node, gpu) for node in usable for gpu in ("0", "1")}
    assert {r.suite for r in results} == {"numa"}
    assert {r.status for r in results} == {Status.PASSED}
    assert {r.verified_on for r in results} <= {"device", "host"}
    notes = run_of(outcome).machine.notes
    for ordinal, address in enumerate(("ffff:01:00.0", "ffff:02:00.0")):
        assert any(n.startswith(f"GPU {ordinal}: ") and address in n for n in notes)


def test_all_gpus_are_measured_alone_under_load_and_together(invoke: Invoke) -> None:
    outcome, results = bench(invoke, "two-gpus", "-t", "host_to_all_memcpy_ce")
    assert outcome.code == 0, outcome.err
    found = {(r.metric, r.axes.get("gpu")): r for r in results}
    assert found.keys() == {
        ("bandwidth", "0"),
        ("alone", "0"),
        ("bandwidth", "1"),
        ("alone", "1"),
        ("aggregate", None),
    }
    together = found["aggregate", None]
    assert (together.clock, together.unit) == ("host", "B/s")
    # The makespan's: never the sum of two runs, one after the other.
    assert together.max is not None
    assert together.max <= 2.02 * LINK_BYTES_PER_S


def test_gpus_read_and_write_each_others_memory(invoke: Invoke) -> None:
    outcome, results = bench(invoke, "two-gpus", "-t", "device_to_device_memcpy*")
    assert outcome.code == 0, outcome.err
    assert {(r.axes["gpu"], r.axes["peer"]) for r in results} == {("0", "1"), ("1", "0")}
    assert {(r.source, r.target) for r in results} == {("peer", "device"), ("device", "peer")}
    assert {r.status for r in results} == {Status.PASSED}


def test_a_machine_with_one_gpu_waives_the_suite_with_the_reason(invoke: Invoke) -> None:
    outcome, results = bench(invoke, "small", "multi")
    assert outcome.code == 0, outcome.err
    assert {r.status for r in results} == {Status.WAIVED}
    assert all("this machine has one" in (r.reason or "") for r in results)
    text = invoke("bench", "multi", "--device", "emulated:small")
    assert text.out.count("this machine has one") == 1


def test_gpus_that_can_not_reach_each_other_waive_what_needs_it(invoke: Invoke) -> None:
    outcome, results = bench(
        invoke,
        "two-gpus-apart",
        "-t",
        "device_to_device_memcpy_read_ce",
        "-t",
        "host_to_all_memcpy*",
    )
    assert outcome.code == 0, outcome.err
    for result in results:
        if "peer" in result.axes:
            assert result.status == Status.WAIVED
            assert "can't reach the memory of" in (result.reason or "")
        else:
            assert result.status == Status.PASSED


def test_a_gpu_that_another_process_has_alone_is_waived_and_the_rest_runs(invoke: Invoke) -> None:
    outcome, results = bench(invoke, "two-gpus-one-busy", "numa", "multi")
    assert outcome.code == 0, outcome.err
    of_second = [r for r in results if r.axes.get("gpu") == "1" and r.suite == "numa"]
    assert of_second
    assert {r.status for r in of_second} == {Status.WAIVED}
    assert all("exclusive" in (r.reason or "") for r in of_second)
    of_first = [r for r in results if r.axes.get("gpu") == "0" and r.suite == "numa"]
    assert {r.status for r in of_first} == {Status.PASSED}
    among = [r for r in results if r.suite == "multi"]
    assert {r.status for r in among} == {Status.WAIVED}


@pytest.mark.parametrize(
    ("symbol", "test"),
    [
        (b"cuMemcpyHtoDAsync", "host_to_all_memcpy_ce"),
        (b"cuMemcpyDtoHAsync", "all_to_host_memcpy_ce"),
        (b"cuMemcpyPeerAsync", "device_to_device_memcpy_read_ce"),
        (b"cuMemcpyHtoDAsync", "numa_host_to_device_memcpy_ce"),
    ],
)
def test_a_copy_that_never_happened_is_an_error_not_a_number(
    invoke: Invoke, emulator: ctypes.CDLL, symbol: bytes, test: str
) -> None:
    emulator.isthmus_emulator_swallow_calls(symbol)
    outcome, results = bench(invoke, "two-gpus", "-t", test)
    assert outcome.code == 1
    assert {r.status for r in results} == {Status.ERROR}
    assert all("verification failed" in r.error.message for r in results if r.error)


def test_a_measurement_that_stopped_on_noise_was_quiet(invoke: Invoke) -> None:
    asked = ("-t", "numa_*", "-t", "host_to_device_memcpy_ce", "--sizes", "256KiB")
    outcome = invoke("bench", "--device", "emulated", *asked, "--budget", "20", "-j")
    results = run_of(outcome).results
    quiet = [r for r in results if r.stopped_by == "noise"]
    assert quiet, "the emulated device's clock has no noise of its own"
    for result in quiet:
        assert result.n is not None
        assert result.n >= 5
        assert result.iqr is not None
        assert result.median is not None
        # The rule is about times; of their reciprocals the same range is as wide but for a part.
        assert result.iqr <= 1.05 * 0.005 * result.median


def test_one_gpu_and_all_others_are_measured_as_one(invoke: Invoke) -> None:
    outcome, results = bench(invoke, "two-gpus", "-t", "all_to_one*", "-t", "one_to_all*")
    assert outcome.code == 0, outcome.err
    assert {r.status for r in results} == {Status.PASSED}
    assert {r.clock for r in results} == {"host"}
    assert len({r.test for r in results}) == 8
    assert len(results) == 16
