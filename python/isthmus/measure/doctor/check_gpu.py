"""Judges a GPU and its place in the host: identity, NUMA node, IOMMU, clocks."""

from isthmus.ground.sizes import approximate_size
from isthmus.ground.spelling import cpu_list
from isthmus.measure.doctor.check import Check, Status, judged
from isthmus.measure.doctor.facts import Gpu

# The oldest architecture that the kernels are compiled for in the tests.
_OLDEST_CAPABILITY = (7, 5)


def check_identity(gpu: Gpu) -> Check:
    """Say which GPU it is."""
    major, minor = gpu.compute_capability
    memory = approximate_size(gpu.total_memory_bytes)
    old = gpu.compute_capability < _OLDEST_CAPABILITY
    return judged(
        f"gpu {gpu.ordinal}",
        f"{gpu.name}, {memory}, compute capability {major}.{minor}, {gpu.pci_address}, {gpu.uuid}",
        "untested: the oldest tested compute capability is 7.5" if old else None,
        {
            "ordinal": gpu.ordinal,
            "name": gpu.name,
            "uuid": gpu.uuid,
            "pci_address": gpu.pci_address,
            "compute_capability": list(gpu.compute_capability),
            "total_memory_bytes": gpu.total_memory_bytes,
            "emulated": gpu.emulated,
        },
    )


def check_numa(gpu: Gpu, *, num_nodes: int, allowed_cpus: list[int]) -> Check:
    """Judge whether the CPUs near the GPU are known, and whether this process may use them."""
    name = f"gpu {gpu.ordinal} numa"
    if gpu.emulated:
        return judged(name, "not modelled: the device is emulated")
    near = list(gpu.near_cpus)
    usable = [cpu for cpu in near if cpu in set(allowed_cpus)]
    facts = {"node": gpu.numa_node, "cpus": near, "usable_cpus": usable, "num_nodes": num_nodes}
    if gpu.numa_node is None:
        return judged(
            name,
            f"unknown, of {num_nodes} nodes",
            "the firmware doesn't say; measure from each node (numactl --cpunodebind=N "
            "--membind=N isthmus bench) and keep the fastest",
            facts,
        )
    finding = f"node {gpu.numa_node} of {num_nodes}, CPUs {cpu_list(near) or 'none'}"
    if near and not usable:
        return judged(
            name,
            f"{finding}; this process may use none of them",
            "every copy crosses the link between the sockets: widen the cpuset, or the taskset "
            f"this runs under, to CPUs {cpu_list(near)}",
            facts,
            Status.PROBLEM,
        )
    return judged(name, finding, facts=facts)


def check_iommu(gpu: Gpu, *, num_groups: int) -> Check:
    """Judge whether the GPU's accesses to host memory are translated by an IOMMU."""
    name = f"gpu {gpu.ordinal} iommu"
    if gpu.emulated:
        return judged(name, "not modelled: the device is emulated")
    group = gpu.iommu_group
    facts = {
        "num_groups": num_groups,
        "group": group.id if group else None,
        "type": group.type if group else None,
    }
    if group is None:
        finding = "none visible" if num_groups == 0 else f"none for this GPU, {num_groups} groups"
        return judged(name, finding, facts=facts)
    if group.type in ("identity", ""):
        how = "passed through" if group.type else "type hidden"
        return judged(name, f"group {group.id}, {how}", facts=facts)
    return judged(
        name,
        f"group {group.id}, translated ({group.type})",
        "each access to host memory is translated by the IOMMU; if the devices are trusted, "
        "boot with iommu=pt and compare",
        facts,
    )


def check_clocks(gpu: Gpu) -> Check | None:
    """Judge what reduces the clocks and whether the driver stays loaded; None if unknown."""
    state = gpu.link.state
    if gpu.emulated or state.persistence_mode is None:
        return None
    throttled = state.throttle_reasons or []
    facts = {
        "performance_state": state.performance_state,
        "sm_clock_hz": state.sm_clock_hz,
        "memory_clock_hz": state.memory_clock_hz,
        "throttle_reasons": list(throttled),
        "persistence_mode": state.persistence_mode,
    }
    persistence = "on" if state.persistence_mode else "off"
    finding = f"{state.performance_state or 'state unknown'}, persistence mode {persistence}"
    advice = None
    if throttled:
        finding += f", reduced by {', '.join(throttled)}"
        advice = "see nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER: cooling, or a power limit"
    elif not state.persistence_mode:
        advice = (
            "the first CUDA call after a pause loads the driver again, which takes seconds: "
            "nvidia-smi -pm 1, or the service nvidia-persistenced"
        )
    return judged(f"gpu {gpu.ordinal} clocks", finding, advice, facts)
