from dataclasses import replace
from types import SimpleNamespace

import pytest

from isthmus.errors import DriverError, NoDevice, Unavailable, UsageError
from isthmus.measure.doctor.check import Diagnosis, Status
from isthmus.measure.doctor.diagnose import diagnose
from isthmus.measure.doctor.sources import Sources

NO_LIBRARY = Unavailable(
    capability="CUDA driver",
    reason="libcuda.so.1: cannot open shared object file: No such file or directory",
    needs="an NVIDIA driver",
)
HOST_CHECKS = ["cores", "memory", "huge pages", "memlock", "cpu", "clock", "virtualisation"]


def names(diagnosis: Diagnosis) -> list[str]:
    return [check.name for check in diagnosis.checks]


def statuses(diagnosis: Diagnosis) -> dict[str, Status]:
    return {check.name: check.status for check in diagnosis.checks}


def test_a_machine_with_a_gpu_is_looked_at_from_driver_to_host(sources: Sources) -> None:
    diagnosis = diagnose(sources)
    assert names(diagnosis) == [
        "driver",
        "driver symbols",
        "gpu 0",
        "gpu 0 link",
        "gpu 0 bar1",
        "gpu 0 windows",
        "gpu 0 window memory",
        "gpu 0 profile",
        "gpu 0 numa",
        "gpu 0 iommu",
        "nvrtc",
        "gdrapi",
        *HOST_CHECKS,
    ]
    assert not diagnosis.emulated
    assert not diagnosis.has_problem


def test_stolen_time_has_a_line_if_there_is_much(sources: Sources) -> None:
    (sources.root / "proc").mkdir(parents=True, exist_ok=True)
    (sources.root / "proc/stat").write_text("cpu  50 0 40 900 0 0 0 10 0 0\n")
    assert names(diagnose(sources))[-len(HOST_CHECKS) - 1 :] == [
        "cores",
        "stolen time",
        *HOST_CHECKS[1:],
    ]


def test_a_link_that_stays_slow_under_load_is_a_problem(
    sources: Sources, nvml: SimpleNamespace
) -> None:
    nvml.generation = 3
    diagnosis = diagnose(sources)
    assert statuses(diagnosis)["gpu 0 link"] == Status.PROBLEM
    assert diagnosis.has_problem


def test_replays_that_come_while_the_doctor_copies_are_a_problem(
    sources: Sources, native: SimpleNamespace, nvml: SimpleNamespace
) -> None:
    def copy(*_: object, **__: object) -> None:
        nvml.replays += 100

    native.run_copy_load = copy
    diagnosis = diagnose(sources)
    assert statuses(diagnosis)["gpu 0 link"] == Status.PROBLEM


def test_every_gpu_is_looked_at(sources: Sources, native: SimpleNamespace) -> None:
    native.real.num_devices = 2
    assert {"gpu 0 link", "gpu 1 link"} <= set(names(diagnose(sources)))


def test_one_gpu_is_looked_at_if_it_is_asked_for(sources: Sources, native: SimpleNamespace) -> None:
    native.real.num_devices = 2
    found = names(diagnose(sources, "1"))
    assert "gpu 1 link" in found
    assert "gpu 0 link" not in found


def test_a_gpu_that_fails_is_a_problem_and_the_others_are_looked_at(
    sources: Sources, native: SimpleNamespace
) -> None:
    native.real.num_devices = 2
    native.real.lost = {0}
    found = statuses(diagnose(sources))
    assert found["gpu 0"] == Status.PROBLEM
    assert found["gpu 1"] == Status.OK


def test_without_a_gpu_the_emulated_devices_are_shown_and_nothing_is_a_problem(
    sources: Sources, native: SimpleNamespace
) -> None:
    native.real = NO_LIBRARY
    diagnosis = diagnose(sources)
    assert diagnosis.emulated
    assert not diagnosis.has_problem
    assert diagnosis.checks[0].finding == "no NVIDIA driver: the emulated driver is used"
    assert statuses(diagnosis)["gpu 0"] == Status.OK
    assert "gpu 0 clocks" not in names(diagnosis)


def test_a_gpu_without_a_driver_is_a_problem(sources: Sources, native: SimpleNamespace) -> None:
    native.real = NO_LIBRARY
    device = sources.root / "sys/bus/pci/devices/0000:ab:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x030200\n")
    diagnosis = diagnose(sources)
    assert diagnosis.has_problem
    assert statuses(diagnosis)["driver"] == Status.PROBLEM


def test_gpus_hidden_by_the_environment_are_noted(
    sources: Sources, native: SimpleNamespace
) -> None:
    native.real.num_devices = 0
    hidden = replace(sources, environment={"CUDA_VISIBLE_DEVICES": "7"})
    assert statuses(diagnose(hidden))["gpus"] == Status.NOTE


def test_an_emulator_that_does_not_open_is_a_problem(
    sources: Sources, native: SimpleNamespace
) -> None:
    native.real = NO_LIBRARY
    native.emulated = Unavailable(capability="emulated driver", reason="gone", needs="isthmus")
    diagnosis = diagnose(sources)
    assert statuses(diagnosis)["emulated driver"] == Status.PROBLEM
    assert not diagnosis.emulated
    assert names(diagnosis)[2:] == ["nvrtc", "gdrapi", *HOST_CHECKS]


def test_the_emulated_device_can_be_asked_for_beside_a_real_one(sources: Sources) -> None:
    diagnosis = diagnose(sources, "emulated")
    assert diagnosis.emulated
    assert diagnosis.checks[0].status == Status.NOTE
    link = next(check for check in diagnosis.checks if check.name == "gpu 0 link")
    assert link.finding == "not modelled: the device is emulated"


def test_a_device_that_is_not_there_is_no_device(sources: Sources, native: SimpleNamespace) -> None:
    with pytest.raises(NoDevice):
        diagnose(sources, "5")
    native.real = DriverError("cuInit failed", code=999, code_name="X", symbol="cuInit")
    with pytest.raises(NoDevice):
        diagnose(sources, "0")


def test_what_is_no_device_is_a_usage_error(sources: Sources) -> None:
    with pytest.raises(UsageError):
        diagnose(sources, "the big one")


def test_clocks_are_judged_where_nvml_tells_them(sources: Sources, nvml: SimpleNamespace) -> None:
    nvml.nvmlDeviceGetPersistenceMode = lambda _gpu: 0
    assert statuses(diagnose(sources))["gpu 0 clocks"] == Status.NOTE
