"""
Judges a GPU: identity, NUMA node, IOMMU, clocks, errors, power, sharing, and what GPUs can read
of each other.
"""

from collections.abc import Iterator
from dataclasses import asdict

from isthmus.ground.sizes import approximate_size
from isthmus.ground.spelling import counted, cpu_list
from isthmus.measure.doctor.check import Check, Status, judged
from isthmus.measure.doctor.facts import Gpu, Health, Peers

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


_ERROR_FACTS = ("xids", "ecc", "new_uncorrected", "uncorrected", "remapped_rows")
_MOST_PAIRS = 4
# Faults that programs usually cause themselves. Source: NVIDIA, XID Errors.
_OF_PROGRAMS = {13, 31, 43, 45, 68, 69}
_RESET = "reset the GPU (nvidia-smi --gpu-reset, as root, while nothing uses it), or reboot"
_XIDS = "look them up in NVIDIA's Xid catalogue; 79 is a GPU that fell off the bus: power or slot"
_ACS = (
    "peers' copies go up to the CPU instead of across the switch: disable ACS in the firmware's "
    "settings, or its redirects by setpci, unless virtual machines need it"
)


def check_errors(gpu: Gpu) -> Check | None:
    """Judge Xid and ECC errors, and remapped rows; None if nothing shows any of them."""
    found = list(_errors(gpu.health))
    if not found:
        return None
    facts = asdict(gpu.health)
    order = list(Status)
    return judged(
        f"gpu {gpu.ordinal} errors",
        ", ".join(finding for _, finding, _ in found),
        "; ".join(dict.fromkeys(filter(None, (advice for _, _, advice in found)))) or None,
        {name: facts[name] for name in _ERROR_FACTS},
        max((status for status, _, _ in found), key=order.index),
    )


def _errors(health: Health) -> Iterator[tuple[Status, str, str | None]]:
    if health.xids is not None:
        codes = ", ".join(map(str, sorted(set(health.xids))))
        status = Status.NOTE if _OF_PROGRAMS.issuperset(health.xids) else Status.PROBLEM
        if codes:
            yield status, f"Xid {codes} in the kernel's log", _XIDS
        else:
            yield Status.OK, "no Xid in the kernel's log", None
    if health.ecc is not None:
        words, new = f"ECC {'on' if health.ecc else 'off'}", health.new_uncorrected
        if health.uncorrected:
            words += f", {counted(health.uncorrected, 'uncorrected error')} ever"
        if new:
            yield Status.PROBLEM, f"{words}, {new} since the driver was loaded", _RESET
        else:
            yield Status.OK, words, None
    if health.remapped_rows is not None:
        corrected, uncorrected, pending, failed = health.remapped_rows
        words = counted(corrected + uncorrected, "remapped row")
        if failed:
            yield Status.PROBLEM, f"{words}, a remapping failed", "have the GPU replaced"
        elif pending:
            yield Status.PROBLEM, f"{words}, more at the next reset", _RESET
        else:
            yield Status.OK, words, None


def check_power(gpu: Gpu) -> Check | None:
    """Judge whether the power limit is lower than usual; None if NVML doesn't say."""
    limit, usual = gpu.health.power_limit_w, gpu.health.power_default_w
    if limit is None or usual is None:
        return None
    capped = limit < usual
    advice = f"clocks fall under load: nvidia-smi -pl {usual:.0f} (as root), unless it is meant"
    return judged(
        f"gpu {gpu.ordinal} power",
        f"limit {limit:.0f} W{f', by default {usual:.0f} W' if capped else ', the default'}",
        advice if capped else None,
        {"limit_w": limit, "default_w": usual},
    )


def check_sharing(gpu: Gpu) -> Check | None:
    """Judge who else uses the GPU, as processes or by MIG; None if NVML shows neither."""
    others, mig = gpu.health.processes, gpu.health.mig
    if others is None and mig is None:
        return None
    now, next_time = mig or (False, False)
    finding, advice = "no other process", []
    if others:
        finding = f"other processes: {', '.join(map(str, others))}"
        advice.append("they share link and copy engines: measure while they rest")
    if now:
        finding += ", MIG on"
        advice.append("an instance has a part of the copy engines: nvidia-smi -mig 0 ends MIG")
    if now != next_time:
        finding += f", MIG {'on' if next_time else 'off'} after the next reset"
        advice.append(_RESET)
    facts = {"processes": others, "mig": now, "mig_pending": next_time}
    return judged(f"gpu {gpu.ordinal} sharing", finding, "; ".join(advice) or None, facts)


def check_peers(peers: Peers) -> Check | None:
    """Judge peer access between GPUs; None if there is one GPU, or NVML doesn't say."""
    if not peers.allowed:
        return None
    refused = [pair for pair, allowed in peers.allowed.items() if not allowed]
    finding = f"access between all {counted(len(peers.allowed), 'pair')} of GPUs"
    advice = []
    if refused:
        which = ", ".join(f"{one} and {other}" for one, other in refused[:_MOST_PAIRS])
        more = ", ..." if len(refused) > _MOST_PAIRS else ""
        finding = f"no access between {len(refused)} of {len(peers.allowed)} pairs: {which}{more}"
        advice.append("their copies go through host memory: see nvidia-smi topo -p2p r")
    if peers.acs_redirects:
        finding += f", ACS redirects at {', '.join(peers.acs_redirects)}"
        advice.append(_ACS)
    facts = {"refused": [list(pair) for pair in refused], "acs": list(peers.acs_redirects)}
    return judged("peers", finding, "; ".join(advice) or None, facts)
