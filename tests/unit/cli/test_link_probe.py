"""How a link is read under load: what it costs the link, and what is said if it can't be read."""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("prometheus_client", reason="isthmus[monitor] is not installed")

from fakes.watched_links import Machine
from isthmus.cli.fleet.link_probe import answer
from isthmus.errors import Unavailable
from isthmus.fleet.link_watch import PERIOD_S, ROUND_S
from isthmus.measure.doctor.check_link import link_bytes_per_second

MIB = 1 << 20


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr("isthmus.cli.fleet.link_probe.time", made.time)
    return made


def read(machine: Machine) -> dict[str, Any]:
    found = answer(["GPU-0"], machine.native, machine.nvml)
    assert isinstance(found, dict)
    return found


def test_a_link_that_is_seen_in_the_next_round_is_seen_within_a_minute() -> None:
    assert PERIOD_S + ROUND_S <= 60


def test_a_healthy_link_is_used_for_eight_copies_a_round(machine: Machine) -> None:
    found = read(machine)
    assert len(machine.copies) == 8
    # 1 MiB in 20 us: 160 us of 50 s, a three-hundred-thousandth.
    assert found["link_seconds"] == pytest.approx(160e-6)
    assert found["link_seconds"] / PERIOD_S < 1e-5
    assert found["bytes_per_second"] == pytest.approx(MIB / 20e-6)
    assert (found["generation"], found["width"], found["downtrained"]) == (5, 16, False)
    assert found["replays"] == 3
    assert found["read_at"] == pytest.approx(1.7e9 + machine.now)


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("generation", [1, 2, 3, 4, 5])
def test_a_downtrained_link_gives_a_thousandth_of_its_time_and_never_more_than_a_tenth_at_once(
    machine: Machine, generation: int, width: int
) -> None:
    if (generation, width) == (5, 16):
        machine.nvml.nvmlDeviceGetMaxPcieLinkGeneration = lambda _gpu: 6
    rate = link_bytes_per_second(generation, width)
    assert rate is not None
    machine.copy_s = MIB / rate
    machine.trained = {"0000:00:00.0": (generation, width)}
    begun = machine.now
    found = read(machine)
    assert found["downtrained"] is True
    assert found["link_seconds"] <= 0.001 * PERIOD_S
    assert found["link_seconds"] == pytest.approx(len(machine.copies) * machine.copy_s)
    assert machine.now - begun <= 1.0 + 2 * machine.copy_s
    pairs = zip(machine.copies[1::2], machine.copies[2::2], strict=False)
    pauses = [after - before - machine.copy_s for before, after in pairs]
    assert min(pauses) >= 9 * 2 * machine.copy_s * 0.999


def test_an_idle_link_that_trains_up_under_the_copies_is_healthy(machine: Machine) -> None:
    machine.wakes_at = machine.now + 0.3
    found = read(machine)
    assert (found["generation"], found["downtrained"]) == (5, False)
    assert 8 < len(machine.copies) < 200
    assert found["link_seconds"] < 0.001 * PERIOD_S


def test_a_link_that_nvml_does_not_tell_is_no_number(machine: Machine) -> None:
    def refuse(_gpu: str) -> int:
        raise RuntimeError("Not Supported")

    machine.nvml.nvmlDeviceGetCurrPcieLinkWidth = refuse
    found = read(machine)
    assert (found["generation"], found["width"], found["downtrained"]) == (5, None, None)
    machine.nvml.nvmlInit = lambda: refuse("")
    assert read(machine) == {
        "reason": "unreadable",
        "detail": "no link and clock facts: Not Supported",
    }


def test_a_gpu_whose_copies_go_by_nvlink_c2c_has_no_verdict(machine: Machine) -> None:
    machine.trained = {"0000:00:00.0": (4, 1)}
    machine.nvml.nvmlDeviceGetC2cModeInfoV = lambda _gpu: SimpleNamespace(isC2cEnabled=1)
    assert read(machine)["downtrained"] is None


def test_what_fails_is_a_reason_for_a_label_and_words(machine: Machine) -> None:
    machine.refuses[0] = "CUDA_ERROR_OUT_OF_MEMORY"
    assert read(machine) == {
        "reason": "CUDA_ERROR_OUT_OF_MEMORY",
        "detail": "CUDA_ERROR_OUT_OF_MEMORY!",
    }
    assert answer(["GPU-7"], machine.native)["reason"] == "NoDevice"  # type: ignore[index]

    def broken(_source: str) -> None:
        raise Unavailable(capability="CUDA driver", reason="no libcuda.so.1", needs="a driver")

    machine.native.Driver.open = broken
    assert read(machine)["reason"] == "Unavailable"


def test_a_machine_without_a_gpu_says_so() -> None:
    found = answer([], Machine(0).native)
    assert isinstance(found, dict)
    assert found["reason"] == "NoDevice"


@pytest.mark.native
@pytest.mark.parametrize(("profile", "most"), [("small", 3e9), ("half-link", 1.5e9)])
def test_the_emulated_device_has_a_rate_and_no_link(
    monkeypatch: pytest.MonkeyPatch, profile: str, most: float
) -> None:
    from isthmus import _native

    monkeypatch.setenv("ISTHMUS_DRIVER", f"emulated:{profile}")
    listed = answer([], _native)
    assert isinstance(listed, list)
    assert [one["emulated"] for one in listed] == [True]
    found = answer([listed[0]["uuid"]], _native)
    assert isinstance(found, dict)
    assert 0 < found["bytes_per_second"] <= most
    assert (found["generation"], found["downtrained"], found["replays"]) == (None, None, None)
