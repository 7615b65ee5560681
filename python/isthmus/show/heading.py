"""The lines above the tables: which run, which device, which host."""

from collections.abc import Iterable
from dataclasses import replace

from isthmus.ground.sizes import approximate_size
from isthmus.ground.spelling import counted, cpu_list
from isthmus.measure.run.machine import Link, Machine
from isthmus.measure.run.model import Run
from isthmus.show.page import Table

WHOSE_TIME = "Link, launch and pinning times are simulated; everything else is this CPU."


def emulated_warning(machine: Machine) -> str | None:
    """Say that the times are modelled, and why the emulated device was used."""
    if not machine.emulated:
        return None
    because = f"; {machine.emulated_because}" if machine.emulated_because else ""
    return f"EMULATED GPU (profile {machine.profile}{because}). {WHOSE_TIME} No GPU was measured."


def about_device(machine: Machine, tables: Iterable[Table | None]) -> tuple[Table, ...]:
    """Collect tables of a device's numbers, and mark their titles if the device is emulated."""
    suffix = " - EMULATED" if machine.emulated else ""
    shown = (table for table in tables if table is not None)
    return tuple(replace(table, title=table.title + suffix) for table in shown)


def head_lines(run: Run) -> tuple[str, ...]:
    """Describe the run and the machine."""
    lines = [
        (
            f"isthmus {run.run.isthmus_version}, run {run.run.id}, "
            f"{run.run.started_at:%Y-%m-%d %H:%M} UTC"
        ),
        f"device  {_device(run.machine)}",
        f"driver  {_driver(run.machine)}",
        f"host    {_host(run.machine)}",
    ]
    if run.run.interrupted:
        lines.append("INTERRUPTED: these are the results that were finished")
    return tuple(lines)


def _device(machine: Machine) -> str:
    device = machine.device
    bar1 = machine.link.bar1_bytes
    parts = [
        f"{device.name} ({device.pci_address})",
        _link(machine.link),
        f"memory {approximate_size(device.total_memory_bytes)}",
        f"BAR1 {approximate_size(bar1)}" if bar1 is not None else "",
        f"NUMA node {device.numa_node}" if device.numa_node is not None else "",
    ]
    return ", ".join(filter(None, parts))


def _link(link: Link) -> str:
    if link.generation is None or link.width is None:
        return ""
    how = "under load" if link.read_under_load else "idle"
    most = f", at most Gen{link.generation_max} x{link.width_max}"
    at_most = most if link.is_downtrained else ""
    return f"PCIe Gen{link.generation} x{link.width} ({how}{at_most})"


def _driver(machine: Machine) -> str:
    driver = machine.driver
    release = f"{driver.driver_version}, " if driver.driver_version else ""
    facts = machine.windows
    windows = f", windows by {facts.backend} with {facts.instructions}" if facts else ""
    nvrtc = f", NVRTC {machine.software.nvrtc}" if machine.software.nvrtc else ""
    return f"{release}CUDA {driver.cuda_version}{nvrtc}{windows}"


def _host(machine: Machine) -> str:
    host = machine.host
    node = next((n for n in host.numa_nodes if n.node == host.measured_on_node), None)
    pages = host.transparent_huge_pages
    parts = [
        host.cpu_model or "unknown CPU",
        counted(host.num_cpus, "CPU"),
        f"bound to NUMA node {node.node} (CPUs {cpu_list(node.cpus)})" if node else "",
        f"Linux {host.kernel}",
        f"huge pages {pages}" if pages else "",
    ]
    return ", ".join(filter(None, parts))
