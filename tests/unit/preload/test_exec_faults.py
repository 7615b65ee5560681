"""Each call of a replaced copy fails once: the program sees what the driver alone gives."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from preloading import EXEC, ROOT, WATCH, Place, libraries

FAULTS = ROOT / "build" / "release" / "bin" / "libisthmus_system_faults.so"


@pytest.fixture(scope="session")
def faults(place: Place) -> object:
    return place.compile("faults.c")


def test_every_call_to_the_driver_fails_once(place: Place, faults: object) -> None:
    """Bytes are right, none around them are touched, and nothing that was made is left."""
    watched = place.watched([faults, "driver"], EXEC)
    lines = watched.outcome.out.splitlines()
    assert watched.outcome.code == 0
    assert set(watched.outcome.err.splitlines()) == {
        "isthmus: warning: cuCtxPopCurrent failed while cleaning up: CUDA_ERROR_UNKNOWN"
    }
    assert len(lines) > 40
    assert [line for line in lines if not line.endswith(": 0 0 right")] == []
    # The program's copies alone are counted, and those that failed were made by the driver.
    counters = watched.only
    assert counters.sum("calls", "cuMemcpy") == 2 * len(lines) + 2
    assert counters.sum("failed") == 0
    assert 0 < counters.header["exec_failed"] < counters.sum("replaced")


def calls_of_a_first_copy(place: Place, faults: object) -> list[tuple[str, int]]:
    """The first and the last of each function; opening a driver asks for many functions."""
    named = place.watched([faults, "names"], EXEC).outcome.out.split()
    counts = dict(zip(named[::2], map(int, named[1::2]), strict=True))
    assert "cuStreamCreate" in counts
    return sorted({(name, nth) for name, count in counts.items() for nth in (1, count)})


def test_every_call_of_the_copy_that_opens_the_engine_fails_once(
    place: Place, faults: object
) -> None:
    def fail(call: tuple[str, int]) -> str:
        return place.watched([faults, "first", *call], EXEC).outcome.out

    calls = calls_of_a_first_copy(place, faults)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (name, nth), seen in zip(calls, pool.map(fail, calls), strict=True):
            assert seen in {
                f"{name} {nth}: 0 0 right\nleft {left}\nnone 0: 0 0 right\n" for left in (0, 1)
            }


@pytest.mark.parametrize("kind", ["mmap", "thread", "mlock", "open"])
def test_what_the_system_refuses_the_engine_is_not_missed(
    place: Place, faults: object, kind: str
) -> None:
    preload = {**EXEC, "LD_PRELOAD": f"{FAULTS}:{libraries() / WATCH}"}
    later = place.watched([faults, "system", kind, 0], preload).outcome
    assert (later.code, later.out.count(": 0 0 right")) == (0, later.out.count("\n"))
    whole = place.watched([faults, "system", kind, 10**6], preload).outcome.out
    num_calls = int(whole.partition("calls ")[2].partition("\n")[0])
    # Opening the engine reads a file for each core.
    for nth in [*range(1, num_calls + 1)][:: 1 + num_calls // 20]:
        first = place.watched([faults, "system", kind, nth], preload).outcome
        assert (first.code, first.out.count(": 0 0 right")) == (0, 2)
