from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from isthmus import _native
from isthmus.bench.native_session import NativeSession
from isthmus.bench.opening import kernel_cache_folder
from isthmus.bench.tests import HostMemory
from isthmus.machine.placement import Placement


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_compiled_kernels_are_kept_in_the_user_s_cache(
    own_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernel_cache_folder() == str(own_environment / "cache/isthmus/kernels")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert kernel_cache_folder() == str(own_environment / ".cache/isthmus/kernels")


def test_a_user_without_a_home_has_no_kernel_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setattr(Path, "home", no_home)
    assert kernel_cache_folder() == ""


@dataclass
class FakeNode:
    node: int
    cpus: list[int] = field(default_factory=list)
    memory_bytes: int = 1 << 30


@dataclass
class FakeBuffers:
    host_pages_by_node: dict[int, int]


def test_pinned_memory_that_is_not_where_it_should_be_is_noted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_native, "CopyBuffers", lambda *_, **__: FakeBuffers({0: 1, 1: 3}))
    placement = Placement(
        nodes=[FakeNode(0), FakeNode(1)], device_node=1, bound_node=None, num_cpus=2
    )
    session = NativeSession(
        cast("_native.Driver", None), cast("_native.Context", None), None, placement=placement
    )
    for memory in (HostMemory.PAGEABLE, HostMemory.PINNED, HostMemory.PINNED):
        session.allocate(memory, 4096)
    assert session.notes == ["25 % of pinned pages lie off NUMA node 1"]
