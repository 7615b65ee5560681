"""Reads facts about the host."""

from typing import Any

from isthmus.measure.doctor.facts import Host, HugePagePool, IommuGroup, NvidiaHardware
from isthmus.measure.doctor.sources import Sources, read_text

_CLOCK_SOURCE = "sys/devices/system/clocksource/clocksource0/current_clocksource"
_CPUS = "sys/devices/system/cpu"
# How many numbers of a line of /proc/stat there are up to the stolen time, with it.
_STEAL = 8
_NVIDIA_VENDOR = "0x10de"
# Display controllers, VGA and 3D alike. Source: PCI-SIG, PCI Code and ID Assignment Specification
_DISPLAY_CLASS = "0x03"


def read_host(sources: Sources) -> Host:
    """Read all facts about the host."""
    native = sources.native
    limits, huge, virtual = native.memory_limits(), native.huge_pages(), native.virtualization()
    return Host(
        num_nodes=len(native.numa_nodes()),
        allowed_cpus=list(native.allowed_cpus()),
        quota_cores=native.cpu_quota_cores(),
        effective_cores=native.effective_cores(),
        copy_instructions=list(native.copy_instructions()),
        timer_overhead_ns=native.timer_overhead_ns(),
        clock_source=read_text(sources.root / _CLOCK_SOURCE),
        total_bytes=limits.total_bytes,
        available_bytes=limits.available_bytes,
        cgroup_limit_bytes=limits.cgroup_limit_bytes,
        memlock_bytes=limits.memlock_bytes,
        transparent_huge_pages=huge.transparent,
        huge_page_pools=[
            HugePagePool(
                page_bytes=pool.page_bytes,
                num_pages=pool.num_pages,
                num_free_pages=pool.num_free_pages,
            )
            for pool in huge.pools
        ],
        num_iommu_groups=native.num_iommu_groups(),
        virtual_machine=virtual.virtual_machine,
        hypervisor=virtual.hypervisor,
        system_vendor=virtual.system_vendor,
        product_name=virtual.product_name,
        container=virtual.container,
        stolen_share=_stolen_share(sources),
        num_online_cpus=sum(1 for _ in (sources.root / _CPUS).glob("cpu[0-9]*")) or None,
        governors=sorted(
            {
                governor
                for path in (sources.root / _CPUS).glob("cpu[0-9]*/cpufreq/scaling_governor")
                if (governor := read_text(path))
            }
        ),
    )


def _stolen_share(sources: Sources) -> float | None:
    """
    Read the first line of /proc/stat, "cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ..."
    (https://docs.kernel.org/filesystems/proc.html).
    """
    text = read_text(sources.root / "proc/stat") or ""
    words = text.split("\n", 1)[0].split()
    if len(words) <= _STEAL or words[0] != "cpu" or not all(map(str.isdigit, words[1:])):
        return None
    ticks = [int(word) for word in words[1:]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks[:_STEAL]
    wanted = user + nice + system + irq + softirq + steal
    return steal / wanted if wanted > 0 else None


def read_hardware(sources: Sources) -> NvidiaHardware:
    """Look for NVIDIA GPUs without the help of a driver."""
    devices = sources.root / "sys/bus/pci/devices"
    addresses = [
        device.name
        for device in sorted(devices.glob("*"))
        if read_text(device / "vendor") == _NVIDIA_VENDOR
        and (read_text(device / "class") or "").startswith(_DISPLAY_CLASS)
    ]
    return NvidiaHardware(
        pci_addresses=addresses,
        kernel_module=_kernel_module(sources),
        visible_devices=sources.environment.get("CUDA_VISIBLE_DEVICES"),
    )


def _kernel_module(sources: Sources) -> str | None:
    """From "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  ...", the number."""
    text = read_text(sources.root / "proc/driver/nvidia/version")
    if not text:
        return None
    words = text.splitlines()[0].split()
    return next((word for word in words if word[0].isdigit() and "." in word), "of unknown version")


def read_iommu_group(native: Any, pci_address: str) -> IommuGroup | None:  # noqa: ANN401 - native
    """Read the IOMMU group of a PCI device."""
    group = native.iommu_group(pci_address)
    return None if group is None else IommuGroup(id=group.id, type=group.type)
