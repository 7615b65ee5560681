"""What a loop is given of the host: nodes, CPUs and threads; and what can't be measured there."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from isthmus.errors import Unavailable
from isthmus.measure.bench.native.device_under_test import DeviceUnderTest
from isthmus.measure.bench.tests.bench_test import BenchTest, Variation
from isthmus.measure.bench.tests.host import FROM_NODE, TO_NODE
from isthmus.measure.machine.placement import NodeFacts, Placement, stray_pages_note

if TYPE_CHECKING:
    from isthmus import _native


def values_of(
    device: DeviceUnderTest, test: BenchTest, size_bytes: int, variation: Variation
) -> dict[str, object]:
    """Give all that is known of a point, by the names of loops.inc; a loop takes what it needs."""
    given = {
        "size_bytes": size_bytes,
        "numa_node": device.placement.bound_node,
        "num_threads": variation.num_threads,
        "cold": variation.cpu_cache == "cold",
        "question": variation.question,
        "answer": variation.answer,
        "data": variation.data,
        **vars(test),
        **dict(variation.axes),
        **test.values(size_bytes, variation),
    }
    if device.emulated and test.loop == "managed":
        _check_modelled(given)
    return {**given, **_placed(device.placement, test.loop, variation)}


def _placed(placement: Placement, loop: str, variation: Variation) -> Mapping[str, object]:
    axes = dict(variation.axes)
    if loop == "host_memcpy":
        source, target = _nodes(placement, axes)
        threads = variation.num_threads
        if FROM_NODE in axes and source is not None:
            threads = min(threads, len(_usable(placement, source)))
        return {"source_node": source, "target_node": target, "num_threads": threads}
    if loop == "node_copies":
        of_node = [n.cpus for n in placement.nodes if n.node == int(axes["node"])]
        cpus = [cpu for each in of_node for cpu in each if cpu in placement.cpus]
        return {"cpus": cpus, "num_nodes": len(placement.nodes)}
    if variation.cpu_node != "far":
        return {"cpus": []}
    far = far_node(placement)
    cpus = [cpu for cpu in far.cpus if cpu in placement.cpus]
    return {"numa_node": far.node, "cpus": cpus}


def _check_modelled(given: Mapping[str, object]) -> None:
    if given["way"] == "demand" and given["direction"] == "d2h":
        raise Unavailable(
            capability="pages that move when the CPU touches them",
            reason="the emulated driver's managed memory is host memory and never moves",
            needs="a real GPU",
        )


def check_pages(
    device: DeviceUnderTest,
    found: "_native.Measurement",
    values: Mapping[str, object],
    variation: Variation,
) -> None:
    """
    Add a note on a host buffer's pages that are on another node than they should be; raises
    Unavailable if the test is about the node.
    """
    if "memory" in values:
        wanted, memory = device.placement.wanted_node, str(values["memory"])
        device.note_once(stray_pages_note(found.host_pages_by_node, wanted, memory))
    if "source_node" not in values:
        return
    source, target = _nodes(device.placement, dict(variation.axes))
    for pages, node in ((found.source_pages_by_node, source), (found.host_pages_by_node, target)):
        note = stray_pages_note(pages, node, "host")
        if note is not None and FROM_NODE in dict(variation.axes):
            raise Unavailable(
                capability=f"memory of NUMA node {node}", reason=note, needs="room on that node"
            )
        device.note_once(note)


def _nodes(placement: Placement, axes: Mapping[str, object]) -> tuple[int | None, int | None]:
    if FROM_NODE not in axes:
        return placement.bound_node, placement.bound_node
    if len(placement.nodes) <= 1:  # nothing to bind to, and nothing to miss
        return None, None
    return int(str(axes[FROM_NODE])), int(str(axes[TO_NODE]))


def _usable(placement: Placement, node: int) -> set[int]:
    """The node's CPUs that may be used."""
    allowed = set(placement.cpus)
    usable = next((allowed & set(n.cpus) for n in placement.nodes if n.node == node), set[int]())
    if not usable:
        raise Unavailable(
            capability=f"NUMA node {node}",
            reason="this process may use none of its CPUs",
            needs="a CPU of that node",
        )
    return usable


def far_node(placement: Placement) -> NodeFacts:
    """Choose a NUMA node away from the device, with CPUs that this process may use."""
    capability, needs = "far NUMA node", "a host with two NUMA nodes, one of them the GPU's"
    if len(placement.nodes) <= 1:
        raise Unavailable(capability=capability, reason="this host has one node", needs=needs)
    if placement.bound_node is None:
        reason = "it is not known which node is near, or nothing could be bound to it"
        raise Unavailable(capability=capability, reason=reason, needs=needs)
    allowed = set(placement.cpus)
    far = [n for n in placement.nodes if n.node != placement.bound_node and allowed & set(n.cpus)]
    if not far:
        reason = "this process may use no CPU of another node"
        raise Unavailable(capability=capability, reason=reason, needs=needs)
    return far[0]
