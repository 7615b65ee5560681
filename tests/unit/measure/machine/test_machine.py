import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from isthmus import _native
from isthmus.ground.extras import find_nvrtc
from isthmus.measure.machine.facts import read_software
from isthmus.measure.machine.placement import (
    bind_near_device,
    cpu_model,
    read_host,
    stray_pages_note,
)


def test_the_cpu_s_name_is_read_from_the_kernel(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text("processor\t: 0\nmodel\t\t: 17\nmodel name\t: Test CPU @ 2 GHz\n")
    assert cpu_model(path) == "Test CPU @ 2 GHz"


def test_a_kernel_that_does_not_tell_costs_a_name_not_the_run(tmp_path: Path) -> None:
    assert cpu_model(tmp_path / "absent") is None


def test_the_host_has_cpus_memory_and_nodes() -> None:
    host = read_host(_native.numa_nodes(), num_cpus=3, bound_node=None)
    assert host.num_cpus == 3
    assert host.memory_bytes
    assert host.numa_nodes
    assert host.numa_nodes[0].cpus


@dataclass
class FakeNode:
    node: int
    cpus: list[int] = field(default_factory=lambda: [0, 1])
    memory_bytes: int = 1 << 30


@dataclass
class FakeTopology:
    """Implements isthmus.measure.machine.placement.Topology; the device is attached to node 1."""

    num_nodes: int = 2
    refusal: Exception | None = None
    usable: list[int] = field(default_factory=lambda: [0, 1])
    bound: list[int] = field(default_factory=list)

    def numa_nodes(self) -> list[FakeNode]:
        return [FakeNode(node) for node in range(self.num_nodes)]

    def pci_numa_node(self, pci_address: str) -> int | None:
        return 1 if pci_address == "0000:c1:00.0" else None

    def bind_thread_to_node(self, node: int) -> list[int]:
        if self.refusal:
            raise self.refusal
        self.bound.append(node)
        return self.usable

    def allowed_cpus(self) -> list[int]:
        return [0, 1, 2]


def test_the_measuring_thread_is_bound_to_the_node_of_the_device() -> None:
    topology = FakeTopology()
    placement = bind_near_device("0000:c1:00.0", topology, emulated=False)
    assert topology.bound == [1]
    assert (placement.device_node, placement.bound_node, placement.num_cpus) == (1, 1, 3)


def test_with_one_node_or_none_known_nothing_is_bound() -> None:
    for topology, address in ((FakeTopology(1), "0000:c1:00.0"), (FakeTopology(), "0000:01:00.0")):
        assert bind_near_device(address, topology, emulated=False).bound_node is None
        assert topology.bound == []


def test_a_node_that_refuses_is_noted_and_the_run_goes_on_unbound() -> None:
    topology = FakeTopology(refusal=OSError(22, "no such CPUs"))
    placement = bind_near_device("0000:c1:00.0", topology, emulated=False)
    assert placement.bound_node is None
    assert "not bound to NUMA node 1" in placement.notes[0]


def test_a_kernel_that_quietly_binds_nothing_is_not_believed() -> None:
    placement = bind_near_device("0000:c1:00.0", FakeTopology(usable=[]), emulated=False)
    assert placement.bound_node is None
    assert "not bound to NUMA node 1: this process may use none of its CPUs" in placement.notes[0]
    assert placement.wanted_node == 1


def test_on_a_machine_with_one_node_no_node_is_wanted() -> None:
    placement = bind_near_device("0000:c1:00.0", FakeTopology(1), emulated=False)
    assert placement.wanted_node is None


@pytest.mark.parametrize(
    ("pages", "wanted_node", "note"),
    [
        ({0: 12, 1: 88}, 1, "12 % of pinned pages are off NUMA node 1"),
        ({0: 5, 1: 95}, 1, None),
        ({0: 64}, 1, "100 % of pinned pages are off NUMA node 1"),
        ({}, 1, "placement of pinned memory can't be verified here"),
        ({0: 64}, None, None),
        ({}, None, None),
    ],
)
def test_pages_away_from_the_wanted_node_are_noted(
    pages: dict[int, int], wanted_node: int | None, note: str | None
) -> None:
    assert stray_pages_note(pages, wanted_node, "pinned") == note


def test_an_emulated_device_binds_nothing() -> None:
    topology = FakeTopology()
    assert bind_near_device("0000:c1:00.0", topology, emulated=True).device_node is None
    assert topology.bound == []
    placement = bind_near_device("ffff:01:00.0", _native, emulated=True)
    assert placement.num_cpus == len(_native.allowed_cpus())


def test_versions_are_of_what_is_installed() -> None:
    software = read_software("")
    assert software.nvrtc is None
    assert software.libraries["pydantic"].startswith("2.")
    assert read_software("13.0").nvrtc == "13.0"


def test_nvrtc_is_a_file_or_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    path = find_nvrtc()
    assert path is None or Path(path).is_file()
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert find_nvrtc() is None


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site-packages/nvidia with NVRTC of CUDA 12 and 13, and no other NVRTC anywhere."""
    for name in ("cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.touch()
        path.with_name(path.name.replace("nvrtc.so", "nvrtc.alt.so")).touch()
    found = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: found)
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    return tmp_path


@pytest.mark.parametrize(
    ("max_major", "name"),
    [
        (12, "cuda_nvrtc/lib/libnvrtc.so.12"),
        (13, "cu13/lib/libnvrtc.so.13"),
        (14, "cu13/lib/libnvrtc.so.13"),
        (None, "cu13/lib/libnvrtc.so.13"),
    ],
)
def test_the_newest_nvrtc_that_the_driver_can_load_is_chosen(
    wheels: Path, max_major: int | None, name: str
) -> None:
    assert find_nvrtc(max_major) == str(wheels / name)


def test_an_nvrtc_that_is_too_new_is_left_to_the_pathfinder_to_name(wheels: Path) -> None:
    assert wheels.is_dir()
    assert find_nvrtc(11) is None
