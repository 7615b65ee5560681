import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from isthmus import _native
from isthmus.machine.host import cpu_model, read_host
from isthmus.machine.placement import bind_near_device
from isthmus.machine.software import find_nvrtc, read_software


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
    """Implements isthmus.machine.placement.Topology; the device hangs on node 1."""

    num_nodes: int = 2
    refusal: Exception | None = None
    bound: list[int] = field(default_factory=list)

    def numa_nodes(self) -> list[FakeNode]:
        return [FakeNode(node) for node in range(self.num_nodes)]

    def pci_numa_node(self, pci_address: str) -> int | None:
        return 1 if pci_address == "0000:c1:00.0" else None

    def bind_thread_to_node(self, node: int) -> list[int]:
        if self.refusal:
            raise self.refusal
        self.bound.append(node)
        return [0, 1]

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
    assert find_nvrtc() is None
