import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from isthmus.measure.doctor.diagnose import diagnose
from isthmus.measure.doctor.facts import Health
from isthmus.measure.doctor.read_driver import OpenDriver, open_driver, read_gpu
from isthmus.measure.doctor.sources import Sources

GPU = "0000:01:00.0"


def health(sources: Sources) -> Health:
    driver = open_driver(sources, "")
    assert isinstance(driver, OpenDriver)
    return read_gpu(sources, driver, 0).health


def tell_all(nvml: SimpleNamespace) -> None:
    nvml.nvmlDeviceGetEccMode = lambda _gpu: [1, 1]
    nvml.nvmlDeviceGetTotalEccErrors = lambda _gpu, kind, counter: int((kind, counter) == (1, 1))
    nvml.nvmlDeviceGetRemappedRows = lambda _gpu: (0, 2, 1, 0)
    nvml.nvmlDeviceGetEnforcedPowerLimit = lambda _gpu: 450_000
    nvml.nvmlDeviceGetPowerManagementDefaultLimit = lambda _gpu: 700_000
    pids = [os.getpid(), 90, 7]
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda _gpu: [SimpleNamespace(pid=p) for p in pids]
    nvml.nvmlDeviceGetMigMode = lambda _gpu: [1, 0]


def put(path: Path, contents: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents)


def test_health_is_what_nvml_tells_without_this_process(
    sources: Sources, nvml: SimpleNamespace
) -> None:
    tell_all(nvml)
    found = health(sources)
    assert (found.ecc, found.new_uncorrected, found.uncorrected) == (True, 0, 1)
    assert found.remapped_rows == [0, 2, 1, 0]
    assert (found.power_limit_w, found.power_default_w) == (450.0, 700.0)
    assert (found.processes, found.mig) == ([7, 90], (True, False))


def test_what_nvml_and_the_kernel_do_not_tell_is_unknown(sources: Sources) -> None:
    assert health(sources) == Health(acs_redirects=[])


def test_other_processes_are_read_before_this_one_puts_a_load_on(
    sources: Sources, native: SimpleNamespace, nvml: SimpleNamespace
) -> None:
    tell_all(nvml)
    loads = []

    def ask(_gpu: object) -> list[SimpleNamespace]:
        loads.append(len(native.loads))
        return []

    nvml.nvmlDeviceGetComputeRunningProcesses = ask
    health(sources)
    assert loads == [0]


@pytest.mark.parametrize(
    ("log", "codes"),
    [
        (b"", []),
        (b"6,1,2,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.\n", [79]),
        (b"NVRM: Xid (PCI:0000:01:00.0): 31, x\nNVRM: Xid (PCI:0000:02:00): 48, y\n", [31]),
        (b"NVRM: Xid (PCI:0000:01:00): \xff\nusb 1-1: new device\n", []),
    ],
)
def test_xids_of_this_gpu_are_read_from_the_kernels_log(
    sources: Sources, log: bytes, codes: list[int]
) -> None:
    put(sources.root / "dev/kmsg", log)
    assert health(sources).xids == codes


def bridge(root: Path, config: bytes) -> None:
    """Put the GPU behind a port with this configuration, as sysfs shows it."""
    port = root / "sys/devices/pci0000:00/0000:00:01.0"
    put(port / "config", config)
    (port / GPU).mkdir()
    (root / "sys/bus/pci/devices").mkdir(parents=True)
    (root / "sys/bus/pci/devices" / GPU).symlink_to(port / GPU)


def capabilities(control: int) -> bytes:
    """Give a configuration space whose second extended capability is ACS."""
    config = bytearray(4096)
    config[0x100:0x104] = (0x0001 | 0x148 << 20).to_bytes(4, "little")
    config[0x148:0x14C] = (0x000D | 0x100 << 20).to_bytes(4, "little")
    config[0x14E:0x150] = control.to_bytes(2, "little")
    return bytes(config)


@pytest.mark.parametrize(
    ("config", "redirects"),
    [
        (capabilities(0b0111_1101), ["0000:00:01.0"]),
        (capabilities(0b0001_0001), []),
        (capabilities(0b0111_1101)[:64], []),
        (bytes(4096), []),
    ],
)
def test_a_port_redirects_if_its_acs_control_says_so(
    sources: Sources, config: bytes, redirects: list[str]
) -> None:
    bridge(sources.root, config)
    assert health(sources).acs_redirects == redirects


def test_a_sick_gpu_that_is_shared_and_cannot_reach_its_peer_is_found(
    sources: Sources, native: SimpleNamespace, nvml: SimpleNamespace
) -> None:
    tell_all(nvml)
    native.real.num_devices = 2
    asked = []

    def status(*question: object) -> int:
        asked.append(question)
        return 1

    nvml.nvmlDeviceGetP2PStatus = status
    put(sources.root / "dev/kmsg", b"NVRM: Xid (PCI:0000:01:00): 79, gone\n")
    found = {check.name: check for check in diagnose(sources).checks}
    assert found["gpu 0 errors"].finding.startswith("Xid 79 in the kernel's log, ECC on, 1 uncor")
    assert found["gpu 1 errors"].finding.startswith("no Xid")
    assert found["gpu 0 power"].finding == "limit 450 W, by default 700 W"
    assert found["gpu 0 sharing"].finding == (
        "other processes: 7, 90, MIG on, MIG off after the next reset"
    )
    assert found["peers"].finding == "no access between 1 of 1 pairs: 0 and 1"
    assert asked == [(b"0000:01:00.0", b"0000:02:00.0", 0)]


def test_a_gpu_that_fell_off_the_bus_is_shown_with_the_xid_of_the_log(
    sources: Sources, native: SimpleNamespace
) -> None:
    native.real.lost = {0}
    put(sources.root / "dev/kmsg", b"NVRM: Xid (PCI:0000:01:00): 79, gone\n")
    found = {check.name: check for check in diagnose(sources).checks}
    assert found["gpu 0"].finding.endswith("and the kernel's log has Xid 79")
