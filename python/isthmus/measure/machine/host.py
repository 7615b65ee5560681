"""Facts about the host: CPU, kernel, huge pages, NUMA nodes."""

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from isthmus.measure.run.machine import Host, NumaNode

_CPUINFO = Path("/proc/cpuinfo")


class NodeFacts(Protocol):
    """A NUMA node, as the native module describes it."""

    @property
    def node(self) -> int:
        """Its number."""

    @property
    def cpus(self) -> Sequence[int]:
        """Its logical CPUs."""

    @property
    def memory_bytes(self) -> int:
        """Its memory."""


def read_host(nodes: Sequence[NodeFacts], *, num_cpus: int, bound_node: int | None) -> Host:
    """Collect the host's facts; `num_cpus` counts those from before this process was bound."""
    from isthmus import _native

    return Host(
        cpu_model=cpu_model(),
        num_cpus=num_cpus,
        memory_bytes=_native.memory_limits().total_bytes or None,
        kernel=platform.release(),
        transparent_huge_pages=_native.huge_pages().transparent or None,
        numa_nodes=[
            NumaNode(node=node.node, cpus=list(node.cpus), memory_bytes=node.memory_bytes)
            for node in nodes
        ],
        measured_on_node=bound_node,
    )


def cpu_model(cpuinfo: Path = _CPUINFO) -> str | None:
    """Give the CPU's name, or None if the kernel doesn't provide it."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name" and value.strip():
            return value.strip()
    return platform.processor() or None
