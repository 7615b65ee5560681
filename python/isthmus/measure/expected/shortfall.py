"""Usual causes of a shortfall: first those that the run itself shows, then those to look for."""

from collections.abc import Sequence

from isthmus.measure.expected.judging import Finding, Judgement
from isthmus.measure.expected.values import gpu_values
from isthmus.measure.run.machine import Machine
from isthmus.measure.run.model import Result
from isthmus.measure.run.naming import Kind

_HUGE = "never"
_FASTEST = "P0"
_COPIES = {Kind.MEMCPY, Kind.BIDIRECTIONAL}


def explanations(
    machine: Machine, findings: Sequence[Finding], *, about: Finding | None = None
) -> list[str]:
    """
    Say why results may be below their expected values, the most probable cause first; nothing if
    none is.
    """
    short = [finding.result for finding in findings if finding.judgement == Judgement.SHORT]
    if not short:
        return []
    seen = [f"seen here: {line}" for line in seen_here(machine).values()]
    return [*seen, *_usual(machine, short, [about.result] if about else short)]


def seen_here(machine: Machine) -> dict[str, str]:
    """
    List what a run shows that makes copies slow on its machine, and what to do about it, by the
    part of the machine; the most probable cause first.
    """
    strays = [note for note in machine.notes if "off NUMA node" in note or "not bound" in note]
    lines = {
        "link": _link(machine),
        "slot": _slot(machine),
        "link errors": _link_errors(machine),
        "NUMA": _numa(machine),
        "power": _power(machine),
        "clocks": _throttled(machine),
        "huge pages": _huge_pages(machine),
        "placement": "; ".join(strays),
    }
    return {part: line for part, line in lines.items() if line}


def broken_here(machine: Machine) -> set[str]:
    """Give what is bad about the link however usual; replays if they are many, again and again."""
    errors = machine.link_errors
    found = {
        "link": machine.link.read_under_load and _link(machine),
        "link errors": errors and (errors.nonfatal or errors.fatal),
        "replays": errors and errors.are_many,
    }
    return {part for part, holds in found.items() if holds}


def _link(machine: Machine) -> str:
    link, gpu = machine.link, gpu_values(machine)
    # A GPU on NVLink-C2C copies past its PCIe link, which stays idle.
    if not link.is_downtrained or (gpu is not None and gpu.link is None):
        return ""
    when = "under load" if link.read_under_load else "but read idle, where links train down"
    return (
        f"the link runs at Gen{link.generation} x{link.width} ({when}) and could do "
        f"Gen{link.generation_max} x{link.width_max}: reseat the card, try another slot or riser, "
        "check the BIOS's bifurcation and its limit of the link's speed"
    )


def _slot(machine: Machine) -> str:
    gpu, link = gpu_values(machine), machine.link
    if gpu is None or gpu.link is None or link.generation_max is None or link.width_max is None:
        return ""
    if (link.generation_max, link.width_max) >= (gpu.link.generation, gpu.link.width):
        return ""
    return (
        f"the slot and the card together support Gen{link.generation_max} x{link.width_max}, and "
        f"the values are for Gen{gpu.link.generation} x{gpu.link.width}: another slot may be faster"
    )


def _link_errors(machine: Machine) -> str:
    errors = machine.link_errors
    if errors is None or not errors.in_words:
        return ""
    return (
        f"the link had {errors.in_words} during the run, and resent packets cost bandwidth: "
        "reseat the card, try another slot, riser or cable, or a lower generation"
    )


def _numa(machine: Machine) -> str:
    host, device = machine.host, machine.device
    if len(host.numa_nodes) <= 1 or device.numa_node is None:
        return ""
    if host.measured_on_node == device.numa_node:
        return ""
    where = "on no node" if host.measured_on_node is None else f"on node {host.measured_on_node}"
    return (
        f"NUMA: the GPU is on node {device.numa_node}, and thread and memory were bound {where}: "
        "leave out -d, or allow the CPUs of the GPU's node (cpuset, container)"
    )


def _power(machine: Machine) -> str:
    state = machine.gpu_state.performance_state
    if state is None or state == _FASTEST:
        return ""
    return f"power: the GPU was in {state}, not {_FASTEST}, while copies ran"


def _throttled(machine: Machine) -> str:
    reasons = machine.gpu_state.throttle_reasons
    return f"clocks were reduced by {', '.join(reasons)}" if reasons else ""


def _huge_pages(machine: Machine) -> str:
    if machine.host.transparent_huge_pages != _HUGE:
        return ""
    return "huge pages are disabled: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"


def _pinned(results: Sequence[Result]) -> list[Result]:
    return [one for one in results if one.kind in _COPIES and one.way in {"ce", "sm"}]


def _usual(machine: Machine, short: Sequence[Result], about: Sequence[Result]) -> list[str]:
    """List what the run doesn't rule out for some of its short results."""
    host, pinned = machine.host, _pinned(about)
    pageable = [one for one in about if one.kind in _COPIES and one.way == "pageable"]
    lines = []
    if pinned and machine.link.is_downtrained is None:
        lines.append(
            "usually: the link's generation or width is lower than possible (isthmus doctor)"
        )
    if pinned:
        node = machine.device.numa_node
        near = len(host.numa_nodes) == 1 or (node is not None and node == host.measured_on_node)
        far = "" if near else "memory on the far NUMA node, or "
        lines += [
            "usually: an IOMMU that translates every access: boot with iommu=pt",
            f"usually: {far}another GPU behind the same switch",
        ]
    if pinned and {result.direction for result in _pinned(short)} == {"d2h"}:
        lines.append(
            "usually for D2H alone: payloads of 128 bytes instead of 256, or relaxed ordering off"
        )
    if pageable:
        pages = ", and no huge pages" if host.transparent_huge_pages is None else ""
        lines.append(
            "usually for pageable memory: a slow or busy core, because the driver copies with one "
            f"thread{pages}"
        )
    if any(result.unit == "s" for result in about):
        lines.append(
            "usually for times: a core far from the GPU's root port, CPU power states, a governor "
            "that isn't performance"
        )
    return lines
