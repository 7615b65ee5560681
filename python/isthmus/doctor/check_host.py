"""Judges the CPU's side: cores, memory, huge pages, instructions, the clock, virtualisation."""

from isthmus.doctor.check import Check, Status
from isthmus.doctor.facts import Host
from isthmus.sizes import approximate_size
from isthmus.spelling import cpu_list

# Reading a clock without a system call takes some 20 to 50 ns, with one ten times as long. The
# smallest thing measured is a call of a few microseconds, so the longer time would be visible.
_SLOW_CLOCK_NS = 200.0
# How much longer pinning takes without huge pages: 46 against 21 ms/GiB for pages touched before,
# on an H100 machine with 16 cores, in one run of a prototype.
_PINNING_WITHOUT_HUGE_PAGES = "about twice as long"
# On an H100 machine 64 MiB up took 4.3 ms back to back while 0.39 of its 16 CPUs were stolen, and
# 1.5 on two of which hardly any were. Source: benchmarks/rhythms/README.md. Which share of the time
# that these machines wanted since boot was stolen isn't known: this limit is a guess.
_MUCH_STOLEN = 0.01
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
        "num_numa_nodes": host.num_nodes,
    }
    if host.quota_cores is None or host.quota_cores >= len(allowed):
        return Check(name="cores", status=Status.OK, finding=finding, facts=facts)
    return Check(
        name="cores",
        status=Status.NOTE,
        finding=f"{finding}, limited by a CPU quota of {host.quota_cores:g} cores",
        advice=(
            "threads beyond the quota are stopped in mid-copy: raise the container's CPU limit "
            "(docker --cpus, Kubernetes limits.cpu) for steady numbers"
        ),
        facts=facts,
    )


def check_stolen_time(host: Host) -> Check | None:
    """Judge how much CPU time the hypervisor has stolen from this virtual machine."""
    share = host.stolen_share
    if share is None or share < _MUCH_STOLEN:
        return None
    return Check(
        name="stolen time",
        status=Status.NOTE,
        finding=f"{share:.1%} of the CPU time that this machine has wanted since boot",
        advice=(
            "other machines share its cores, or it has a CPU quota. A copy by several threads ends "
            "with the slowest, so staged uploads take two or three times as long now and then: "
            "have cores of your own, or repeat measurements"
        ),
        facts={"stolen_share": share},
    )


def check_memory(host: Host) -> Check:
    """Judge how much memory buffers can take."""
    available = approximate_size(host.available_bytes)
    finding = f"{available} available of {approximate_size(host.total_bytes)}"
    facts = {
        "available_bytes": host.available_bytes,
        "total_bytes": host.total_bytes,
        "cgroup_limit_bytes": host.cgroup_limit_bytes,
    }
    limit = host.cgroup_limit_bytes
    if limit is None or limit >= host.total_bytes:
        return Check(name="memory", status=Status.OK, finding=finding, facts=facts)
    return Check(
        name="memory",
        status=Status.OK,
        finding=f"{finding}, limited to {approximate_size(limit)} by the container",
        facts=facts,
    )


def check_huge_pages(host: Host) -> Check:
    """Judge whether large buffers can have huge pages, which are pinned faster."""
    mode = host.transparent_huge_pages
    pools = [
        f"{pool.num_free_pages} of {pool.num_pages} {approximate_size(pool.page_bytes)} pages free"
        for pool in host.huge_page_pools
        if pool.num_pages > 0
    ]
    finding = f"transparent {mode or 'not in this kernel'}" + "".join(f", {text}" for text in pools)
    facts = {
        "transparent": mode or None,
        "pools": [
            {
                "page_bytes": pool.page_bytes,
                "num_pages": pool.num_pages,
                "num_free_pages": pool.num_free_pages,
            }
            for pool in host.huge_page_pools
        ],
    }
    if mode in ("always", "madvise"):
        return Check(name="huge pages", status=Status.OK, finding=finding, facts=facts)
    return Check(
        name="huge pages",
        status=Status.NOTE,
        finding=finding,
        advice=(
            f"pinning memory takes {_PINNING_WITHOUT_HUGE_PAGES} without them: "
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)"
        ),
        facts=facts,
    )


def check_memlock(host: Host) -> Check:
    """Judge how much memory may be locked by other means than CUDA's."""
    limit = host.memlock_bytes
    facts = {"memlock_bytes": limit}
    if limit is None or limit >= host.total_bytes:
        finding = "unlimited" if limit is None else f"{approximate_size(limit)}: all memory"
        return Check(name="memlock", status=Status.OK, finding=finding, facts=facts)
    return Check(
        name="memlock",
        status=Status.NOTE,
        finding=f"{approximate_size(limit)}: for mlock and RDMA; CUDA's own pinning isn't counted",
        advice=(
            "for RDMA or mlock: ulimit -l unlimited, LimitMEMLOCK=infinity in the "
            "service, or docker run --ulimit memlock=-1"
        ),
        facts=facts,
    )


def check_copy_instructions(host: Host) -> Check:
    """Judge whether the CPU can access mapped GPU memory in units larger than words."""
    names = list(host.copy_instructions)
    facts = {"instructions": names}
    if _LINE_READERS & set(names):
        return Check(name="cpu", status=Status.OK, finding=", ".join(names), facts=facts)
    return Check(
        name="cpu",
        status=Status.NOTE,
        finding=f"no vector loads and stores known ({', '.join(names) or 'nothing found'})",
        advice="windows work, but copy word by word; a VM may hide the CPU's features",
        facts=facts,
    )


def check_clock(host: Host) -> Check:
    """Judge whether reading the clock is fast compared with what is measured."""
    finding = f"{host.timer_overhead_ns:.0f} ns per reading"
    if host.clock_source:
        finding += f", source {host.clock_source}"
    facts = {"overhead_ns": host.timer_overhead_ns, "source": host.clock_source}
    if host.timer_overhead_ns < _SLOW_CLOCK_NS:
        return Check(name="clock", status=Status.OK, finding=finding, facts=facts)
    return Check(
        name="clock",
        status=Status.NOTE,
        finding=finding,
        advice=(
            "every reading is a system call, which adds to latencies of a few microseconds: "
            "have the kernel use the clock source tsc, or kvm-clock in a VM"
        ),
        facts=facts,
    )


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
        return Check(name="virtualisation", status=Status.OK, finding=finding, facts=facts)
    known = ", ".join(part for part in (host.hypervisor, product) if part)
    return Check(
        name="virtualisation",
        status=Status.NOTE,
        finding=f"virtual machine{f' ({known})' if known else ''}{inside}",
        advice=(
            "NUMA, IOMMU and PCIe facts are those that the hypervisor shows, and other machines "
            "share the hardware: repeat measurements later before trusting small differences"
        ),
        facts=facts,
    )
