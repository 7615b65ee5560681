"""Whether two runs are of one machine, and what differs between their machines."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.ground.sizes import approximate_size
from isthmus.measure.run.machine import Link, Machine
from isthmus.measure.run.model import Run

_UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """
    A fact that isn't the same in all runs.

    Attributes:
        fact: What it is: "GPU".
        values: One for each run, in their order.
    """

    fact: str
    values: tuple[str, ...]


def identity_of(machine: Machine) -> tuple[str | None, ...]:
    """Give what identifies a machine: a GPU, in a host with this CPU; or a profile."""
    if machine.emulated:
        return ("emulated", machine.profile)
    return (machine.device.uuid, machine.host.cpu_model)


def differences(runs: Sequence[Run]) -> list[Difference]:
    """List what isn't the same in all runs, the most telling first."""
    facts = [facts_of(run) for run in runs]
    return [
        Difference(fact=name, values=tuple(own[name] for own in facts))
        for name in facts[0]
        if len({own[name] for own in facts}) > 1
    ]


def facts_of(run: Run) -> dict[str, str]:
    """Name what matters to a run's numbers, the most telling first; "unknown" if it isn't known."""
    machine = run.machine
    device, driver, host = machine.device, machine.driver, machine.host
    windows = machine.windows
    facts = {
        "emulated profile": machine.profile,
        "GPU": device.name,
        "GPU's UUID": device.uuid,
        "PCI address": device.pci_address,
        "GPU memory": approximate_size(device.total_memory_bytes),
        "link": _link(machine.link),
        "driver": driver.driver_version,
        "CUDA": driver.cuda_version,
        "CPU": host.cpu_model,
        "CPUs": str(host.num_cpus),
        "host memory": host.memory_bytes and approximate_size(host.memory_bytes),
        "Linux": host.kernel,
        "huge pages": host.transparent_huge_pages,
        "NUMA nodes": str(len(host.numa_nodes)),
        "bound to node": None if host.measured_on_node is None else str(host.measured_on_node),
        "performance state": machine.gpu_state.performance_state,
        "clocks reduced by": _reasons(machine),
        "windows": windows and f"{windows.backend}, {windows.instructions}",
        "isthmus": run.run.isthmus_version,
        "NVRTC": machine.software.nvrtc,
    }
    return {name: value or _UNKNOWN for name, value in facts.items()}


def _link(link: Link) -> str | None:
    if link.generation is None or link.width is None:
        return None
    return f"PCIe Gen{link.generation} x{link.width}"


def _reasons(machine: Machine) -> str | None:
    reasons = machine.gpu_state.throttle_reasons
    return None if reasons is None else ", ".join(reasons) or "nothing"
