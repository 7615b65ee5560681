"""
The host: its kernel, huge pages and NUMA nodes; binds the measuring thread to the node to which
the device is attached.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from isthmus.errors import Error
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


_REFUSED = "this process may use none of its CPUs, or the kernel refused"
# A few pages elsewhere mean nothing: some belong to none of our buffers, or the node was full.
_MAX_STRAY = 0.05


class Topology(Protocol):
    """The host's nodes and threads, as the native module provides them."""

    def numa_nodes(self) -> Sequence[NodeFacts]:
        """List the nodes."""

    def pci_numa_node(self, pci_address: str) -> int | None:
        """Find the node to which a device is attached."""

    def bind_thread_to_node(self, node: int) -> Sequence[int]:
        """Bind the calling thread to a node's CPUs; returns them, or none if it fails."""

    def allowed_cpus(self) -> Sequence[int]:
        """List the CPUs that the calling thread may use."""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """
    Where the measurement runs.

    Attributes:
        device_node: The node to which the device is attached; None if unknown.
        bound_node: The node to which thread and memory are bound; None if they aren't.
        cpus: Logical CPUs that this process could use before it was bound.
    """

    nodes: Sequence[NodeFacts]
    device_node: int | None
    bound_node: int | None
    cpus: Sequence[int]
    notes: tuple[str, ...] = ()

    @property
    def num_cpus(self) -> int:
        """How many logical CPUs this process could use before it was bound."""
        return len(self.cpus)

    @property
    def wanted_node(self) -> int | None:
        """The node where host memory should be; None if there is no choice, or it isn't known."""
        if self.bound_node is not None or len(self.nodes) <= 1:
            return self.bound_node
        return self.device_node


def bind_near_device(pci_address: str, topology: Topology, *, emulated: bool) -> Placement:
    """
    Bind the calling thread to the device's node, if the host has more than one; an emulated device
    has none.
    """
    cpus = topology.allowed_cpus()
    nodes = topology.numa_nodes()
    device_node = None if emulated else topology.pci_numa_node(pci_address)
    bound_node, notes = None, []
    if device_node is not None and len(nodes) > 1:
        try:
            if topology.bind_thread_to_node(device_node):
                bound_node = device_node
            else:
                notes.append(f"not bound to NUMA node {device_node}: {_REFUSED}")
        except (Error, RuntimeError, OSError) as error:
            notes.append(f"not bound to NUMA node {device_node}: {error}")
    return Placement(
        nodes=nodes,
        device_node=device_node,
        bound_node=bound_node,
        cpus=cpus,
        notes=tuple(notes),
    )


def stray_pages_note(
    pages_by_node: Mapping[int, int], wanted_node: int | None, kind: str
) -> str | None:
    """Report memory that is not where it should be."""
    if wanted_node is None:
        return None
    num_pages = sum(pages_by_node.values())
    if num_pages == 0:
        return f"placement of {kind} memory can't be verified here"
    stray = (num_pages - pages_by_node.get(wanted_node, 0)) / num_pages
    if stray <= _MAX_STRAY:
        return None
    return f"{stray * 100:.0f} % of {kind} pages are off NUMA node {wanted_node}"
