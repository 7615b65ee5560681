"""Binds the measuring thread to the NUMA node to which the device is attached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from isthmus.errors import Error
from isthmus.measure.machine.host import NodeFacts

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
