from dataclasses import replace

import pytest

from isthmus.measure.doctor.check import Status
from isthmus.measure.doctor.check_link import check_bar1, check_link, link_bytes_per_second
from isthmus.measure.doctor.facts import Gpu
from isthmus.measure.machine.link import LinkFacts
from isthmus.measure.machine.link_errors import AerCounts, LinkErrorCounts


def with_link(gpu: Gpu, **changes: object) -> Gpu:
    link = gpu.link.link.model_copy(update=changes)
    return replace(gpu, link=replace(gpu.link, link=link))


def test_a_link_at_its_best_is_ok_and_says_what_it_carries(gpu: Gpu) -> None:
    check = check_link(gpu)
    assert check.status == Status.OK
    assert check.finding == (
        "Gen5 x16 under load, at most Gen5 x16, 63.0 GB/s each way before packet headers, "
        "0 replays, no AER errors"
    )
    assert check.facts["generation"] == 5
    assert check.advice is None


def test_a_narrow_link_is_a_problem_of_slot_or_riser(gpu: Gpu) -> None:
    check = check_link(with_link(gpu, width=8))
    assert check.status == Status.PROBLEM
    assert check.finding.startswith("Gen5 x8 under load, at most Gen5 x16")
    assert check.advice is not None
    assert "bifurcation" in check.advice
    assert "older generation" not in check.advice


def test_a_slow_link_under_load_is_a_problem_of_generation_or_errors(gpu: Gpu) -> None:
    check = check_link(with_link(gpu, generation=3))
    assert check.status == Status.PROBLEM
    assert check.advice is not None
    assert "replay counter" in check.advice
    assert "bifurcation" not in check.advice


def test_a_link_both_slow_and_narrow_gets_both_pieces_of_advice(gpu: Gpu) -> None:
    check = check_link(with_link(gpu, generation=3, width=4))
    assert check.advice is not None
    assert "bifurcation" in check.advice
    assert "replay counter" in check.advice


def test_a_slow_link_read_idle_is_only_a_note(gpu: Gpu) -> None:
    idle = with_link(gpu, generation=1, read_under_load=False)
    check = check_link(replace(idle, link=replace(idle.link, notes=["the link was read idle: x"])))
    assert check.status == Status.NOTE
    assert "read idle" in check.finding
    assert check.advice is not None
    assert "the link was read idle: x" in check.advice


def test_a_slow_link_read_idle_without_a_reason_says_that_there_was_no_load(gpu: Gpu) -> None:
    check = check_link(with_link(gpu, generation=1, read_under_load=False))
    assert check.advice is not None
    assert "no load" in check.advice


def test_a_good_link_read_idle_is_ok(gpu: Gpu) -> None:
    assert check_link(with_link(gpu, read_under_load=False)).status == Status.OK


def test_a_gpu_newer_than_its_slot_is_a_note(gpu: Gpu) -> None:
    check = check_link(with_link(gpu, generation=4, generation_max=4))
    assert check.status == Status.NOTE
    assert check.advice is not None
    assert "Gen5" in check.advice


def test_pcie_beside_nvlink_c2c_is_not_judged(gpu: Gpu) -> None:
    check = check_link(replace(with_link(gpu, width=1), c2c=True))
    assert check.status == Status.OK
    assert "NVLink-C2C" in check.finding


def test_a_link_that_nvml_hides_is_a_note_with_nvmls_reason(gpu: Gpu) -> None:
    hidden = LinkFacts(notes=["no link facts: Driver Not Loaded"])
    check = check_link(replace(gpu, link=hidden, link_errors=LinkErrorCounts()))
    assert check.status == Status.NOTE
    assert check.finding == "unknown: no link facts: Driver Not Loaded"


def test_a_link_that_nvml_hides_without_a_word_is_a_note(gpu: Gpu) -> None:
    blind = replace(gpu, link=LinkFacts(), link_errors=LinkErrorCounts(), new_link_errors=None)
    assert check_link(blind).finding == "unknown: NVML doesn't say"


def test_what_the_kernel_counted_is_told_of_a_link_that_nvml_hides(gpu: Gpu) -> None:
    port = {"0000:aa:01.0": AerCounts(correctable=0, nonfatal=0, fatal=1)}
    check = check_link(replace(gpu, link=LinkFacts(), link_errors=LinkErrorCounts(aer=port)))
    assert check.status == Status.PROBLEM
    assert check.finding == (
        "unknown: NVML doesn't say; replays not shown by this driver, 1 fatal AER error"
    )
    assert check.advice is not None
    assert "nvidia-smi" in check.advice
    assert "dmesg" in check.advice


def test_errors_are_told_beside_what_else_the_link_lacks(gpu: Gpu) -> None:
    worn = replace(with_link(gpu, width=8), link_errors=LinkErrorCounts(replays=3))
    check = check_link(worn)
    assert check.status == Status.PROBLEM
    assert check.finding.endswith(
        "3 replays, AER errors not shown by this kernel or virtual machine"
    )
    assert check.advice is not None
    assert "bifurcation" in check.advice
    assert "sent again" in check.advice
    assert check.facts["replays"] == 3


def test_unknown_greatest_values_are_no_problem(gpu: Gpu) -> None:
    check = check_link(with_link(gpu, generation_max=None, width_max=None))
    assert check.status == Status.OK
    assert "at most unknown" in check.finding


def test_an_unheard_of_generation_has_no_rate(gpu: Gpu) -> None:
    assert link_bytes_per_second(9, 16) is None
    check = check_link(with_link(gpu, generation=9, generation_max=9))
    assert check.finding.startswith("Gen9 x16 under load, at most Gen9 x16, 0 replays")


@pytest.mark.parametrize(
    ("generation", "gigabytes"), [(1, 4.0), (2, 8.0), (3, 15.75), (4, 31.5), (5, 63.0), (6, 118.0)]
)
def test_rates_are_the_specifications(generation: int, gigabytes: float) -> None:
    assert link_bytes_per_second(generation, 16) == pytest.approx(gigabytes * 1e9, rel=0.001)


def test_a_bar1_that_holds_all_memory_is_ok(gpu: Gpu) -> None:
    check = check_bar1(gpu)
    assert check.status == Status.OK
    assert check.facts["bar1_bytes"] == 128 << 30


def test_a_bar1_smaller_than_memory_is_a_note_about_resizable_bar(gpu: Gpu) -> None:
    check = check_bar1(with_link(gpu, bar1_bytes=256 << 20))
    assert check.status == Status.NOTE
    assert check.finding == "256.0 MiB of 80.0 GiB: no resizable BAR"
    assert check.advice is not None
    assert "Resizable BAR" in check.advice


def test_an_unknown_bar1_is_a_note(gpu: Gpu) -> None:
    assert check_bar1(with_link(gpu, bar1_bytes=None)).status == Status.NOTE


def test_an_emulated_device_has_no_link_and_no_bar1(gpu: Gpu) -> None:
    emulated = replace(gpu, emulated=True)
    for check in (check_link(emulated), check_bar1(emulated)):
        assert check.status == Status.OK
        assert check.finding == "not modelled: the device is emulated"
