from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from isthmus import _native
from isthmus.errors import Unavailable, UsageError
from isthmus.measure.bench.native.device_under_test import DeviceUnderTest, open_kernels
from isthmus.measure.bench.native.places import far_node
from isthmus.measure.bench.native.session import NativeSession
from isthmus.measure.bench.tests.catalogue import BufferKinds, HostMemory
from isthmus.measure.machine.placement import Placement
from isthmus.measure.run.machine import LinkErrors


def test_compiled_kernels_are_kept_in_the_user_s_cache(
    own_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _native.kernel_cache_folder() == str(own_environment / "cache/isthmus/kernels")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert _native.kernel_cache_folder() == str(own_environment / ".cache/isthmus/kernels")


def test_a_user_without_a_home_has_no_kernel_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.delenv("HOME")
    assert _native.kernel_cache_folder() == ""


@pytest.mark.native
def test_a_folder_of_kernels_that_is_not_used_is_told_of(
    driver: _native.Driver, context: _native.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_kernels(driver, context)[1] == []
    why = "compiled kernels are not kept in /x: others may write to it"
    monkeypatch.setattr(_native, "Kernels", lambda *_, **__: SimpleNamespace(cache_refusal=why))
    assert open_kernels(driver, context)[1] == [why]


@dataclass
class FakeNode:
    node: int
    cpus: list[int] = field(default_factory=list)
    memory_bytes: int = 1 << 30


class FakeWatch:
    """Implements isthmus.measure.machine.link_errors.LinkErrorWatch: a replay more at each look."""

    begun = 0

    def __init__(self, pci_address: str) -> None:
        assert pci_address == "0000:01:00.0"
        FakeWatch.begun += 1
        self.replays = -1

    def grown(self) -> LinkErrors:
        self.replays += 1
        return LinkErrors(replays=self.replays, correctable=None, nonfatal=None, fatal=None)


def test_errors_of_the_link_are_counted_from_the_first_time_that_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("isthmus.measure.bench.native.session.LinkErrorWatch", FakeWatch)
    monkeypatch.setattr(FakeWatch, "begun", 0)
    driver = SimpleNamespace(emulated=False)
    context = SimpleNamespace(device=SimpleNamespace(pci_address="0000:01:00.0"))
    device = DeviceUnderTest(
        cast("_native.Driver", driver),
        cast("_native.Context", context),
        None,
        placement=Placement(nodes=[], device_node=None, bound_node=None, cpus=[0]),
    )
    session = NativeSession(device)
    found = [session.link_errors() for _ in range(2)]
    assert [errors.replays for errors in found if errors is not None] == [0, 1]
    assert FakeWatch.begun == 1
    driver.emulated = True
    assert session.link_errors() is None


@dataclass
class FakeBuffers:
    host_pages_by_node: dict[int, int]


def test_pinned_memory_that_is_not_where_it_should_be_is_noted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_native, "CopyBuffers", lambda *_, **__: FakeBuffers({0: 1, 1: 3}))
    placement = Placement(
        nodes=[FakeNode(0), FakeNode(1)], device_node=1, bound_node=None, cpus=[0, 1]
    )
    device = DeviceUnderTest(
        cast("_native.Driver", None), cast("_native.Context", None), None, placement=placement
    )
    for memory in (HostMemory.PAGEABLE, HostMemory.PINNED, HostMemory.PINNED):
        device.allocate(BufferKinds(host_memory=memory), 4096)
    assert device.notes == ["25 % of pinned pages are off NUMA node 1"]


@pytest.mark.parametrize(
    ("variable", "value"),
    [("ISTHMUS_WINDOW", "nonsense"), ("ISTHMUS_WINDOW_BAR1_MIB", "0"), ("ISTHMUS_WINDOW", None)],
)
def test_settings_of_windows_can_be_checked_without_opening_one(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str | None
) -> None:
    placement = Placement(nodes=[], device_node=None, bound_node=None, cpus=[0])
    driver = _native.Driver.open("emulated")
    context = _native.Context(driver, 0)
    session = NativeSession(DeviceUnderTest(driver, context, None, placement=placement))
    if value is None:
        monkeypatch.delenv(variable, raising=False)
        session.check_windows()
    else:
        monkeypatch.setenv(variable, value)
        with pytest.raises(UsageError, match=f"{variable} is '{value}'"):
            session.check_windows()
    assert session.window_facts is None


def placed(*nodes: FakeNode, bound_node: int | None, cpus: list[int]) -> Placement:
    return Placement(nodes=nodes, device_node=bound_node, bound_node=bound_node, cpus=cpus)


def test_the_far_node_is_another_one_with_cpus_that_this_process_may_use() -> None:
    nodes = [FakeNode(0, [0, 1]), FakeNode(1, [2, 3]), FakeNode(2, [4, 5])]
    assert far_node(placed(*nodes, bound_node=0, cpus=[0, 1, 4])).node == 2


@pytest.mark.parametrize(
    ("nodes", "bound_node", "cpus", "reason"),
    [
        ([FakeNode(0, [0])], 0, [0], "this host has one node"),
        ([FakeNode(0, [0]), FakeNode(1, [1])], None, [0, 1], "not known which node is near"),
        ([FakeNode(0, [0]), FakeNode(1, [1])], 0, [0], "no CPU of another node"),
    ],
)
def test_without_a_far_node_there_is_a_reason(
    nodes: list[FakeNode], bound_node: int | None, cpus: list[int], reason: str
) -> None:
    with pytest.raises(Unavailable, match=reason):
        far_node(placed(*nodes, bound_node=bound_node, cpus=cpus))
