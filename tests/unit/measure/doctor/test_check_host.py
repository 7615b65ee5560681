from dataclasses import replace

import pytest

from isthmus.measure.doctor.check import Status
from isthmus.measure.doctor.check_host import (
    check_clock,
    check_copy_instructions,
    check_cores,
    check_governor,
    check_huge_pages,
    check_memlock,
    check_memory,
    check_stolen_time,
    check_virtualization,
)
from isthmus.measure.doctor.facts import Host, HugePagePool


def test_all_cores_are_ok(host: Host) -> None:
    check = check_cores(host)
    assert (check.status, check.finding) == (Status.OK, "8 effective, CPUs 0-7")


def test_a_cpu_quota_below_the_cpus_is_a_note(host: Host) -> None:
    check = check_cores(replace(host, quota_cores=2.5, effective_cores=2.5))
    assert check.status == Status.NOTE
    assert check.finding == "2.5 effective, CPUs 0-7, limited by a CPU quota of 2.5 cores"
    assert check.facts["quota_cores"] == 2.5


def test_a_cpu_quota_above_the_cpus_cuts_nothing(host: Host) -> None:
    assert check_cores(replace(host, quota_cores=64.0)).status == Status.OK


def test_cpus_that_the_sandbox_hides_are_unknown(host: Host) -> None:
    assert "CPUs unknown" in check_cores(replace(host, allowed_cpus=[])).finding


def test_a_process_that_may_use_one_of_many_cpus_is_a_note_with_a_remedy(host: Host) -> None:
    one = replace(host, allowed_cpus=[3], effective_cores=1.0, num_online_cpus=64)
    check = check_cores(one)
    assert (check.status, check.finding) == (Status.NOTE, "1 effective, CPUs 3, of 64 online")
    assert "widen the taskset or cpuset" in (check.advice or "")


@pytest.mark.parametrize("online", [None, 2])
def test_a_machine_of_few_cpus_has_no_remedy(host: Host, online: int | None) -> None:
    small = replace(host, allowed_cpus=[0, 1], effective_cores=2.0, num_online_cpus=online)
    assert check_cores(small).status == Status.OK


def test_a_governor_that_saves_power_is_a_note(host: Host) -> None:
    assert check_governor(host) is None
    fast = check_governor(replace(host, governors=["performance"]))
    slow = check_governor(replace(host, governors=["performance", "powersave"]))
    assert fast is not None
    assert slow is not None
    assert (fast.status, fast.finding) == (Status.OK, "performance")
    assert (slow.status, slow.finding) == (Status.NOTE, "performance, powersave")
    assert "cpupower" in (slow.advice or "")


def test_memory_that_proc_does_not_tell_is_unknown_and_never_ok(host: Host) -> None:
    hidden = replace(host, total_bytes=0, available_bytes=0, memlock_bytes=8 << 20)
    check = check_memory(hidden)
    assert (check.status, check.finding) == (Status.NOTE, "unknown: /proc/meminfo can't be read")
    assert "mount /proc" in (check.advice or "")
    assert check.facts["total_bytes"] is None
    assert check_memlock(hidden).finding.startswith("8.0 MiB: for mlock")


def test_memory_is_told_with_the_containers_limit(host: Host) -> None:
    assert check_memory(host).finding == "60.0 GiB available of 64.0 GiB"
    limited = replace(host, cgroup_limit_bytes=16 << 30, available_bytes=10 << 30)
    assert check_memory(limited).finding == (
        "10.0 GiB available of 64.0 GiB, limited to 16.0 GiB by the container"
    )


def test_huge_pages_on_request_are_ok(host: Host) -> None:
    assert check_huge_pages(host).finding == "transparent madvise"
    assert check_huge_pages(replace(host, transparent_huge_pages="always")).status == Status.OK


def test_huge_pages_switched_off_are_a_note_with_the_switch(host: Host) -> None:
    check = check_huge_pages(replace(host, transparent_huge_pages="never"))
    assert check.status == Status.NOTE
    assert check.advice is not None
    assert "/sys/kernel/mm/transparent_hugepage/enabled" in check.advice


def test_a_kernel_without_huge_pages_is_a_note(host: Host) -> None:
    check = check_huge_pages(replace(host, transparent_huge_pages=""))
    assert (check.status, check.finding) == (Status.NOTE, "transparent not in this kernel")
    assert check.facts["transparent"] is None


def test_reserved_huge_pages_are_told(host: Host) -> None:
    pool = HugePagePool(page_bytes=2 << 20, num_pages=512, num_free_pages=500)
    check = check_huge_pages(replace(host, huge_page_pools=[pool]))
    assert check.finding == "transparent madvise, 500 of 512 2.0 MiB pages free"
    assert check.facts["pools"] == [
        {"page_bytes": 2 << 20, "num_pages": 512, "num_free_pages": 500}
    ]


def test_no_lock_limit_is_ok(host: Host) -> None:
    assert check_memlock(host).finding == "unlimited"
    assert check_memlock(replace(host, memlock_bytes=64 << 30)).status == Status.OK


def test_a_lock_limit_is_a_note_that_spares_cuda(host: Host) -> None:
    check = check_memlock(replace(host, memlock_bytes=8 << 20))
    assert check.status == Status.NOTE
    assert check.finding == "8.0 MiB: for mlock and RDMA; CUDA's own pinning isn't counted"
    assert check.facts["memlock_bytes"] == 8 << 20


def test_copy_instructions_are_named(host: Host) -> None:
    check = check_copy_instructions(host)
    assert (check.status, check.finding) == (Status.OK, "sse4_1, avx2, avx512f, movdir64b")


def test_an_arm_cpu_has_enough_with_neon(host: Host) -> None:
    assert check_copy_instructions(replace(host, copy_instructions=["neon"])).status == Status.OK


def test_a_cpu_without_vector_copies_is_a_note(host: Host) -> None:
    check = check_copy_instructions(replace(host, copy_instructions=["erms"]))
    assert check.status == Status.NOTE
    assert "erms" in check.finding
    nothing = check_copy_instructions(replace(host, copy_instructions=[]))
    assert "nothing found" in nothing.finding


def test_much_stolen_time_is_a_note(host: Host) -> None:
    check = check_stolen_time(replace(host, stolen_share=0.0234))
    assert check is not None
    assert check.status == Status.NOTE
    assert check.finding == "2.3% of the CPU time that this machine has wanted since boot"
    assert check.facts == {"stolen_share": 0.0234}


@pytest.mark.parametrize("share", [None, 0.0, 0.009])
def test_little_stolen_time_is_not_worth_a_line(host: Host, share: float | None) -> None:
    assert check_stolen_time(replace(host, stolen_share=share)) is None


def test_a_cheap_clock_is_ok(host: Host) -> None:
    assert check_clock(host).finding == "22 ns per reading, source tsc"
    assert check_clock(replace(host, clock_source=None)).finding == "22 ns per reading"


def test_a_clock_read_by_system_call_is_a_note(host: Host) -> None:
    check = check_clock(replace(host, timer_overhead_ns=1100.0, clock_source="hpet"))
    assert check.status == Status.NOTE
    assert check.finding == "1100 ns per reading, source hpet"


def test_bare_metal_is_ok(host: Host) -> None:
    check = check_virtualization(host)
    assert check.status == Status.OK
    assert check.finding == "no virtual machine (Supermicro SYS-821GE)"


def test_a_container_on_bare_metal_is_ok_and_named(host: Host) -> None:
    inside = replace(host, container="podman", system_vendor="", product_name="")
    assert check_virtualization(inside).finding == "no virtual machine, in a container (podman)"


def test_a_virtual_machine_is_a_note(host: Host) -> None:
    guest = replace(
        host,
        virtual_machine=True,
        hypervisor="KVMKVMKVM",
        system_vendor="Amazon EC2",
        product_name="p5.48xlarge",
    )
    check = check_virtualization(guest)
    assert check.status == Status.NOTE
    assert check.finding == "virtual machine (KVMKVMKVM, Amazon EC2 p5.48xlarge)"


def test_a_virtual_machine_that_says_no_more_is_a_note(host: Host) -> None:
    guest = replace(host, virtual_machine=True, system_vendor="", product_name="")
    assert check_virtualization(guest).finding == "virtual machine"
