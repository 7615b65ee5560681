"""`isthmus bench` and `isthmus profile` on the emulated device: nothing is faster than its link."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.link_rates import LINK_BYTES_PER_S, bytes_per_s, too_fast
from isthmus.decide.profile.costs import seconds_at
from isthmus.decide.profile.model import CostPoint, Profile
from isthmus.decide.profile.plan import Effort
from isthmus.decide.profile.store import load_profile
from isthmus.measure.run.model import Run
from program import Invoke

MIB = 1 << 20
# One thread's, in the profile `small`.
WINDOW_BYTES_PER_S = {"h2d": 1.2e9, "d2h": 0.512e9}


@pytest.fixture
def run_of(invoke: Invoke) -> Callable[..., Run]:
    """Run tests of a device, and read the results."""

    def run(device: str, *arguments: str) -> Run:
        outcome = invoke("bench", "--device", device, "--format", "json", *arguments)
        assert outcome.code == 0, outcome.err
        return Run.model_validate_json(outcome.out)

    return run


def test_no_large_copy_is_faster_than_the_link(run_of: Callable[..., Run]) -> None:
    names = [
        f"{way}_{kind}"
        for way in ("host_to_device", "device_to_host")
        for kind in ("memcpy_ce", "memcpy_sm", "bidirectional_memcpy_sm", "memcpy_streams")
    ]
    windows = ["window_bandwidth_write", "window_bandwidth_read"]
    chosen = [argument for name in (*names, *windows) for argument in ("-t", name)]
    run = run_of("emulated", "--sizes", "4MiB", "--budget", "1", *chosen)
    assert {result.test for result in run.results} == {*names, *windows}
    assert too_fast(run) == []


@pytest.mark.parametrize("way", ["read_sm", "write_sm", "read_ce", "write_ce"])
def test_no_copy_between_devices_is_faster_than_the_link(
    run_of: Callable[..., Run], way: str
) -> None:
    name = f"device_to_device_memcpy_{way}"
    run = run_of("emulated:two-gpus", "--sizes", "1MiB", "--budget", "0.5", "-t", name)
    assert any(bytes_per_s(result) for result in run.results)
    assert too_fast(run) == []


def test_a_result_that_is_faster_than_the_link_would_be_found(
    run_of: Callable[..., Run],
) -> None:
    run = run_of("emulated", "--sizes", "64KiB", "--budget", "0.2", "-t", "window_read")
    slow = next(result for result in run.results if result.metric == "complete")
    fast = slow.model_copy(update={"median": 64 * 1024 / (1.1 * LINK_BYTES_PER_S)})
    assert len(too_fast(run.model_copy(update={"results": [slow, fast]}))) == 1


def points_of(profile: Profile, path: str, direction: str, memory: str) -> list[CostPoint]:
    """Give one curve."""
    (curve,) = (
        cost
        for cost in profile.costs
        if (cost.path, cost.direction, cost.host_memory) == (path, direction, memory)
    )
    return list(curve.points)


def test_a_measured_profile_tells_the_story_of_a_real_link(
    invoke: Invoke, own_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = (64, 4096, 65536, 4 * MIB)
    effort = Effort(sizes=sizes, budget_s=20, point_s=0.0, rounds=0, quick=True)
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")
    monkeypatch.delenv("ISTHMUS_PROFILE", raising=False)
    monkeypatch.setattr("isthmus.decide.profile.plan.QUICK", effort)
    assert invoke("profile", "--quick").code == 0
    (stored,) = (own_environment / "data" / "isthmus" / "profiles").iterdir()
    profile = load_profile(stored)
    # No window is faster than its model. Other processes take part of the CPU, so only factors
    # of 5 and more are compared: cpp/tests/transfer/emulated_costs_test.cpp compares all.
    long = 4 * MIB

    def seconds(path: str, size: int, direction: str) -> float:
        return seconds_at(points_of(profile, path, direction, "pinned"), size)

    for direction, rate in WINDOW_BYTES_PER_S.items():
        assert seconds("window", 64, direction) < seconds("driver", 64, direction)
        assert seconds("window", long, direction) >= 0.99 * long / rate
    assert seconds("driver", long, "d2h") < seconds("window", long, "d2h")
