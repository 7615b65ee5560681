"""Every share that a run gives is one: between 0 and 1, whatever the program and the policy."""

import pytest

import isthmus
from isthmus import _native
from isthmus.sim.policy import Kind
from isthmus.sim.result import SimulationResult
from isthmus.sim.running import workload_names

pytestmark = pytest.mark.native

LITTLE_MEMORY = {"partitions.memory": "4MiB", "policy.page": "64KiB"}
SETTINGS = {
    "migrate": {},
    "validate": {"policy.write": "validate"},
    "little memory": {"policy.write": "validate", **LITTLE_MEMORY},
    "on the GPU": {"options.initially": "on_gpu"},
}


def small(workload: str) -> dict[str, str]:
    """Give the least sizes of a workload: one run of it takes some milliseconds."""
    [known] = [one for one in _native.workloads() if one.name == workload]
    return {
        f"workload.{size.name}": f"{size.least}{'B' if size.in_bytes else ''}"
        for size in known.sizes
    }


def shares(result: SimulationResult) -> dict[str, float]:
    """List the shares of a run."""
    tlb, caches = result.tlb, result.caches
    parts = {
        "TLB misses": (tlb["misses"], tlb["accesses"]),
        "TLB misses or absent": (tlb["misses_or_absent"], tlb["accesses"]),
        "TLB misses after L1": (tlb["misses_after_l1"], tlb["accesses_after_l1"]),
        "shared TLB misses": (tlb["shared_misses"], tlb["shared_accesses"]),
        "L1 hits": (caches["l1_hits"], caches["l1_hits"] + caches["l1_misses"]),
        "lower bound": (result.least_ps, result.total_ps),
        "accessed of touched": (result.counts["accessed_bytes"], result.counts["touched_bytes"]),
        "busy to the GPU": (result.link_busy_ps[0], result.total_ps),
    }
    return {
        "accessed share": result.accessed_share,
        **{name: part / whole for name, (part, whole) in parts.items() if whole},
        **{f"bin {i}": float(bin_) for i, bin_ in enumerate(result.link.to_gpu)},
        **{f"bin {i} back": float(bin_) for i, bin_ in enumerate(result.link.to_cpu)},
    }


@pytest.mark.parametrize("workload", workload_names())
def test_every_share_of_a_run_is_between_0_and_1(workload: str) -> None:
    for kind in (one for one in Kind if one is not Kind.OWN):
        for name, settings in SETTINGS.items():
            if not kind.migrates and settings:
                continue
            result = isthmus.simulate(
                workload, policy=kind.value, settings={**small(workload), **settings}
            )
            for share, value in shares(result).items():
                assert 0 <= value <= 1, f"{workload}, {kind.value}, {name}: {share} is {value}"


def test_what_a_programmer_uploads_and_no_kernel_reads_is_not_accessed() -> None:
    """`mum` copies its textures whole, and its reads visit a part of the tree."""
    share = isthmus.simulate("mum-140k", policy="programmer").accessed_share
    assert 0 < share < 1
