from dataclasses import replace
from pathlib import Path

import pytest

from isthmus.measure.doctor.facts import HugePagePool
from isthmus.measure.doctor.read_host import read_hardware, read_host
from isthmus.measure.doctor.sources import Sources


def write(root: Path, relative: str, text: str) -> Path:
    path = root / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_hosts_facts_are_those_of_the_native_module(sources: Sources) -> None:
    host = read_host(sources)
    assert host.num_nodes == 2
    assert host.allowed_cpus == list(range(8))
    assert host.memlock_bytes == 8 << 20
    assert host.huge_page_pools == [HugePagePool(page_bytes=2 << 20, num_pages=4, num_free_pages=3)]
    assert host.container == "docker"
    assert host.clock_source is None


def test_the_clock_source_is_the_kernels(sources: Sources) -> None:
    write(
        sources.root,
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "kvm-clock\n",
    )
    assert read_host(sources).clock_source == "kvm-clock"


def test_the_stolen_share_is_of_the_time_that_the_machine_wanted(sources: Sources) -> None:
    lines = "cpu  700 10 200 99999 888 5 5 80 7 7\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
    write(sources.root, "proc/stat", lines)
    assert read_host(sources).stolen_share == 80 / 1000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cpu\n",
        "cpu  0 0 0 0 0 0 0 0 0 0\n",
        "cpu  1 2 3 4 5 6 7\n",
        "cpu  1 2 3 4 5 6 7 x\n",
        "intr 1 2 3 4 5 6 7 8\n",
    ],
)
def test_a_kernel_that_does_not_say_what_was_stolen_leaves_it_unknown(
    sources: Sources, text: str
) -> None:
    write(sources.root, "proc/stat", text)
    assert read_host(sources).stolen_share is None


def test_nvidia_gpus_are_found_on_the_bus_and_other_devices_left_out(sources: Sources) -> None:
    devices = {
        "0000:ab:00.0": ("0x10de", "0x030200"),  # a GPU without a display
        "0000:01:00.0": ("0x10de", "0x030000"),  # one with
        "0000:01:00.1": ("0x10de", "0x040300"),  # its audio device
        "0000:02:00.0": ("0x8086", "0x030000"),  # another vendor's
    }
    for address, (vendor, kind) in devices.items():
        write(sources.root, f"sys/bus/pci/devices/{address}/vendor", f"{vendor}\n")
        write(sources.root, f"sys/bus/pci/devices/{address}/class", f"{kind}\n")
    write(sources.root, "sys/bus/pci/devices/0000:03:00.0/vendor", "0x10de\n")
    assert list(read_hardware(sources).pci_addresses) == ["0000:01:00.0", "0000:ab:00.0"]


def test_a_machine_without_anything_of_nvidias_has_no_hardware(sources: Sources) -> None:
    hardware = read_hardware(sources)
    assert list(hardware.pci_addresses) == []
    assert hardware.kernel_module is None
    assert hardware.visible_devices is None


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep\nGCC", "580.95.05"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.1.2  R", "570.1.2"),
        ("NVRM version: strange", "of unknown version"),
    ],
)
def test_the_kernel_module_is_known_by_its_version(
    sources: Sources, text: str, version: str
) -> None:
    write(sources.root, "proc/driver/nvidia/version", text)
    assert read_hardware(sources).kernel_module == version


def test_the_environments_choice_of_devices_is_read(sources: Sources) -> None:
    chosen = replace(sources, environment={"CUDA_VISIBLE_DEVICES": ""})
    assert read_hardware(chosen).visible_devices == ""


def test_cpus_and_their_governors_are_read_from_sysfs(sources: Sources) -> None:
    for cpu in range(3):
        write(
            sources.root,
            f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor",
            "powersave\n" if cpu else "performance\n",
        )
    host = read_host(sources)
    assert (host.num_online_cpus, host.governors) == (3, ["performance", "powersave"])


def test_without_sysfs_cpus_and_governors_are_unknown(sources: Sources) -> None:
    assert (read_host(sources).num_online_cpus, read_host(sources).governors) == (None, [])
