"""Judges the CPU's side: cores, memory, huge pages, instructions, the clock, virtualisation."""

from dataclasses import asdict

from isthmus.ground.sizes import approximate_size
from isthmus.ground.spelling import cpu_list
from isthmus.measure.doctor.check import Check, judged
from isthmus.measure.doctor.facts import Host

# Reading a clock without a system call takes some 20 to 50 ns, with one ten times as long. The
# smallest thing measured is a call of a few microseconds, so the longer time would be visible.
_SLOW_CLOCK_NS = 200.0
# How much longer pinning takes without huge pages: 46 against 21 ms/GiB for pages touched before,
# on an H100 machine with 16 cores, in one run of a prototype.
_PINNING_WITHOUT_HUGE_PAGES = "about twice as long"
# Stolen CPUs slow staged copies; from which share on isn't known: this limit is a guess.
_MUCH_STOLEN = 0.01
# With fewer cores, staged copies lose rate. A link of PCIe 5.0 takes several threads' copying.
_FEW_CORES = 4
# Loads and stores of 16 bytes and more: with any of them, windows move whole lines.
_LINE_READERS = {"sse4_1", "avx2", "avx512f", "neon", "sve"}


def check_cores(host: Host) -> Check:
    """Judge how many cores copies by several threads really get."""
    allowed = list(host.allowed_cpus)
    finding = f"{host.effective_cores:g} effective, CPUs {cpu_list(allowed) or 'unknown'}"
    facts = {
        "effective_cores": host.effective_cores,
        "quota_cores": host.quota_cores,
        "allowed_cpus": allowed,
        "num_online_cpus": host.num_online_cpus,
        "num_numa_nodes": host.num_nodes,
    }
    advice = None
    if host.quota_cores is not None and host.quota_cores < len(allowed):
        finding += f", limited by a CPU quota of {host.quota_cores:g} cores"
        advice = (
            "threads beyond the quota are stopped in mid-copy: raise the container's CPU limit "
            "(docker --cpus, Kubernetes limits.cpu) for steady numbers"
        )
    elif 0 < len(allowed) < min(_FEW_CORES, host.num_online_cpus or 0):
        finding += f", of {host.num_online_cpus} online"
        advice = (
            "copies of pageable memory are made by several threads, which share these CPUs: widen "
            "the taskset or cpuset this runs under (docker --cpuset-cpus, Slurm --cpus-per-task)"
        )
    return judged("cores", finding, advice, facts)


def check_governor(host: Host) -> Check | None:
    """Judge whether the CPU's clock is kept high; None if the kernel doesn't say."""
    slow = [name for name in host.governors if name != "performance"]
    if not host.governors:
        return None
    advice = (
        "a CPU that clocks down makes small copies slower and their times scatter: "
        "cpupower frequency-set -g performance (as root)"
    )
    finding = ", ".join(host.governors)
    facts = {"governors": list(host.governors)}
    return judged("governor", finding, advice if slow else None, facts)


def check_stolen_time(host: Host) -> Check | None:
    """Judge how much CPU time the hypervisor has stolen from this virtual machine."""
    share = host.stolen_share
    if share is None or share < _MUCH_STOLEN:
        return None
    return judged(
        "stolen time",
        f"{share:.1%} of the CPU time that this machine has wanted since boot",
        "other machines share its cores, or it has a CPU quota. A copy by several threads ends "
        "with the slowest, so staged uploads take two or three times as long now and then: "
        "have cores of your own, or repeat measurements",
        {"stolen_share": share},
    )


def check_memory(host: Host) -> Check:
    """Judge how much memory buffers can take."""
    facts = {
        "available_bytes": host.available_bytes,
        "total_bytes": host.total_bytes,
        "cgroup_limit_bytes": host.cgroup_limit_bytes,
    }
    if not host.total_bytes:
        return judged(
            "memory",
            "unknown: /proc/meminfo can't be read",
            "sizes are chosen by it: mount /proc (mount -t proc proc /proc)",
            dict.fromkeys(facts),
        )
    available = approximate_size(host.available_bytes)
    finding = f"{available} available of {approximate_size(host.total_bytes)}"
    limit = host.cgroup_limit_bytes
    if limit is not None and limit < host.total_bytes:
        finding += f", limited to {approximate_size(limit)} by the container"
    return judged("memory", finding, facts=facts)


def check_huge_pages(host: Host) -> Check:
    """Judge whether large buffers can have huge pages, which are pinned faster."""
    mode = host.transparent_huge_pages
    pools = [
        f"{pool.num_free_pages} of {pool.num_pages} {approximate_size(pool.page_bytes)} pages free"
        for pool in host.huge_page_pools
        if pool.num_pages > 0
    ]
    finding = f"transparent {mode or 'not in this kernel'}" + "".join(f", {text}" for text in pools)
    facts = {"transparent": mode or None, "pools": [asdict(pool) for pool in host.huge_page_pools]}
    advice = (
        f"pinning memory takes {_PINNING_WITHOUT_HUGE_PAGES} without them: "
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)"
    )
    usable = mode in ("always", "madvise")
    return judged("huge pages", finding, None if usable else advice, facts)


def check_memlock(host: Host) -> Check:
    """Judge how much memory may be locked by other means than CUDA's."""
    limit = host.memlock_bytes
    facts = {"memlock_bytes": limit}
    if limit is None or 0 < host.total_bytes <= limit:
        finding = "unlimited" if limit is None else f"{approximate_size(limit)}: all memory"
        return judged("memlock", finding, facts=facts)
    return judged(
        "memlock",
        f"{approximate_size(limit)}: for mlock and RDMA; CUDA's own pinning isn't counted",
        "for RDMA or mlock: ulimit -l unlimited, LimitMEMLOCK=infinity in the "
        "service, or docker run --ulimit memlock=-1",
        facts,
    )


def check_copy_instructions(host: Host) -> Check:
    """Judge whether the CPU can access mapped GPU memory in units larger than words."""
    names = list(host.copy_instructions)
    facts = {"instructions": names}
    if _LINE_READERS & set(names):
        return judged("cpu", ", ".join(names), facts=facts)
    return judged(
        "cpu",
        f"no vector loads and stores known ({', '.join(names) or 'nothing found'})",
        "windows work, but copy word by word; a VM may hide the CPU's features",
        facts,
    )


def check_clock(host: Host) -> Check:
    """Judge whether reading the clock is fast compared with what is measured."""
    finding = f"{host.timer_overhead_ns:.0f} ns per reading"
    if host.clock_source:
        finding += f", source {host.clock_source}"
    advice = (
        "every reading is a system call, which adds to latencies of a few microseconds: "
        "have the kernel use the clock source tsc, or kvm-clock in a VM"
    )
    slow = host.timer_overhead_ns >= _SLOW_CLOCK_NS
    facts = {"overhead_ns": host.timer_overhead_ns, "source": host.clock_source}
    return judged("clock", finding, advice if slow else None, facts)


def check_virtualization(host: Host) -> Check:
    """Say whether this process runs under a hypervisor or in a container."""
    product = " ".join(part for part in (host.system_vendor, host.product_name) if part)
    facts = {
        "virtual_machine": host.virtual_machine,
        "hypervisor": host.hypervisor or None,
        "system_vendor": host.system_vendor or None,
        "product_name": host.product_name or None,
        "container": host.container or None,
    }
    inside = f", in a container ({host.container})" if host.container else ""
    if not host.virtual_machine:
        finding = f"no virtual machine{f' ({product})' if product else ''}{inside}"
        return judged("virtualisation", finding, facts=facts)
    known = ", ".join(part for part in (host.hypervisor, product) if part)
    return judged(
        "virtualisation",
        f"virtual machine{f' ({known})' if known else ''}{inside}",
        "NUMA, IOMMU and PCIe facts are those that the hypervisor shows, and other machines "
        "share the hardware: repeat measurements later before trusting small differences",
        facts,
    )
