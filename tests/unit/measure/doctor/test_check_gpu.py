from dataclasses import replace

import pytest

from isthmus.measure.doctor.check import Status
from isthmus.measure.doctor.check_gpu import check_clocks, check_identity, check_iommu, check_numa
from isthmus.measure.doctor.facts import Gpu, IommuGroup
from isthmus.measure.machine.link import LinkFacts


def with_state(gpu: Gpu, **changes: object) -> Gpu:
    state = gpu.link.state.model_copy(update=changes)
    return replace(gpu, link=replace(gpu.link, state=state))


def test_a_gpu_is_named_with_all_that_tells_it_from_others(gpu: Gpu) -> None:
    check = check_identity(gpu)
    assert check.status == Status.OK
    assert check.name == "gpu 0"
    assert check.finding == (
        "NVIDIA H100 80GB HBM3, 80.0 GiB, compute capability 9.0, 0000:ab:00.0, "
        "GPU-11111111-2222-3333-4444-555555555555"
    )


def test_a_gpu_older_than_what_is_tested_is_a_note(gpu: Gpu) -> None:
    assert check_identity(replace(gpu, compute_capability=(7, 0))).status == Status.NOTE
    assert check_identity(replace(gpu, compute_capability=(7, 5))).status == Status.OK


def test_the_cpus_near_a_gpu_are_named(gpu: Gpu) -> None:
    check = check_numa(gpu, num_nodes=2, allowed_cpus=list(range(8)))
    assert check.status == Status.OK
    assert check.finding == "node 1 of 2, CPUs 4-7"
    assert check.facts["usable_cpus"] == [4, 5, 6, 7]


def test_a_process_far_from_its_gpu_is_a_problem(gpu: Gpu) -> None:
    check = check_numa(gpu, num_nodes=2, allowed_cpus=[0, 1])
    assert check.status == Status.PROBLEM
    assert "may use none of them" in check.finding
    assert check.advice is not None
    assert "4-7" in check.advice


def test_a_node_of_memory_alone_is_no_problem(gpu: Gpu) -> None:
    check = check_numa(replace(gpu, near_cpus=[]), num_nodes=2, allowed_cpus=[0, 1])
    assert (check.status, check.finding) == (Status.OK, "node 1 of 2, CPUs none")


def test_an_unknown_node_of_several_is_a_note(gpu: Gpu) -> None:
    check = check_numa(replace(gpu, numa_node=None, near_cpus=[]), num_nodes=2, allowed_cpus=[0])
    assert check.status == Status.NOTE
    assert check.finding == "unknown, of 2 nodes"


def test_a_passed_through_group_is_ok(gpu: Gpu) -> None:
    check = check_iommu(gpu, num_groups=40)
    assert (check.status, check.finding) == (Status.OK, "group 17, passed through")


def test_a_group_of_hidden_type_is_ok(gpu: Gpu) -> None:
    hidden = replace(gpu, iommu_group=IommuGroup(id=3, type=""))
    assert check_iommu(hidden, num_groups=40).finding == "group 3, type hidden"


@pytest.mark.parametrize("kind", ["DMA", "DMA-FQ"])
def test_a_translated_group_is_a_note(gpu: Gpu, kind: str) -> None:
    check = check_iommu(replace(gpu, iommu_group=IommuGroup(id=3, type=kind)), num_groups=40)
    assert check.status == Status.NOTE
    assert check.finding == f"group 3, translated ({kind})"
    assert check.advice is not None
    assert "iommu=pt" in check.advice


def test_no_iommu_is_ok(gpu: Gpu) -> None:
    alone = replace(gpu, iommu_group=None)
    assert check_iommu(alone, num_groups=0).finding == "none visible"
    assert check_iommu(alone, num_groups=9).finding == "none for this GPU, 9 groups"


def test_clocks_that_nothing_holds_back_are_ok(gpu: Gpu) -> None:
    check = check_clocks(gpu)
    assert check is not None
    assert (check.status, check.finding) == (Status.OK, "P0, persistence mode on")


def test_clocks_held_back_are_a_note_that_says_by_what(gpu: Gpu) -> None:
    check = check_clocks(with_state(gpu, throttle_reasons=["hw_thermal_slowdown"]))
    assert check is not None
    assert check.status == Status.NOTE
    assert "hw_thermal_slowdown" in check.finding


def test_a_driver_that_unloads_between_calls_is_a_note(gpu: Gpu) -> None:
    check = check_clocks(with_state(gpu, persistence_mode=False, throttle_reasons=None))
    assert check is not None
    assert check.status == Status.NOTE
    assert check.advice is not None
    assert "nvidia-persistenced" in check.advice


def test_nothing_is_said_of_clocks_that_nvml_hides(gpu: Gpu) -> None:
    assert check_clocks(replace(gpu, link=LinkFacts())) is None


def test_an_emulated_device_sits_nowhere(gpu: Gpu) -> None:
    emulated = replace(gpu, emulated=True)
    assert check_clocks(emulated) is None
    for check in (
        check_numa(emulated, num_nodes=2, allowed_cpus=[]),
        check_iommu(emulated, num_groups=40),
    ):
        assert check.finding == "not modelled: the device is emulated"
