from dataclasses import replace

import pytest

from isthmus.measure.doctor.check import Check, Status
from isthmus.measure.doctor.check_gpu import (
    check_errors,
    check_peers,
    check_power,
    check_sharing,
)
from isthmus.measure.doctor.facts import Gpu, Health, Peers

SOUND = Health(
    xids=[],
    ecc=True,
    new_uncorrected=0,
    uncorrected=0,
    remapped_rows=[0, 0, 0, 0],
    power_limit_w=700.0,
    power_default_w=700.0,
    processes=[],
    mig=(False, False),
)


def of(gpu: Gpu, **changes: object) -> Gpu:
    return replace(gpu, health=replace(SOUND, **changes))  # type: ignore[arg-type]


def errors(gpu: Gpu, **changes: object) -> Check:
    check = check_errors(of(gpu, **changes))
    assert check is not None
    return check


def test_a_sound_gpu_is_ok_and_says_what_was_looked_at(gpu: Gpu) -> None:
    check = errors(gpu)
    assert (check.status, check.advice) == (Status.OK, None)
    assert check.finding == "no Xid in the kernel's log, ECC on, 0 remapped rows"


def test_nothing_is_said_of_what_the_system_does_not_show(gpu: Gpu) -> None:
    hidden = replace(gpu, health=Health())
    assert (check_errors(hidden), check_power(hidden), check_sharing(hidden)) == (None,) * 3
    assert check_peers(Peers()) is None


def test_a_log_that_cannot_be_read_is_not_a_log_without_xid(gpu: Gpu) -> None:
    assert "Xid" not in errors(gpu, xids=None).finding


@pytest.mark.parametrize(
    ("codes", "status"),
    [([79], Status.PROBLEM), ([31, 13], Status.NOTE), ([31, 94], Status.PROBLEM)],
)
def test_an_xid_is_a_problem_unless_programs_cause_it(
    gpu: Gpu, codes: list[int], status: Status
) -> None:
    check = errors(gpu, xids=codes)
    assert check.status == status
    assert check.finding.startswith(f"Xid {', '.join(map(str, sorted(codes)))} in the kernel's log")
    assert check.advice is not None


def test_new_uncorrected_errors_are_a_problem_and_old_ones_are_told(gpu: Gpu) -> None:
    assert "ECC on, 3 uncorrected errors ever" in errors(gpu, uncorrected=3).finding
    assert errors(gpu, uncorrected=3).status == Status.OK
    check = errors(gpu, uncorrected=3, new_uncorrected=2)
    assert check.status == Status.PROBLEM
    assert "3 uncorrected errors ever, 2 since the driver was loaded" in check.finding
    assert "reset the GPU" in (check.advice or "")
    assert "ECC off" in errors(gpu, ecc=False).finding


@pytest.mark.parametrize(
    ("rows", "finding", "advice"),
    [
        ([1, 1, 0, 0], "2 remapped rows", None),
        ([0, 1, 1, 0], "1 remapped row, more at the next reset", "reset the GPU"),
        ([0, 8, 1, 1], "8 remapped rows, a remapping failed", "have the GPU replaced"),
    ],
)
def test_rows_that_wait_or_cannot_be_remapped_are_a_problem(
    gpu: Gpu, rows: list[int], finding: str, advice: str | None
) -> None:
    check = errors(gpu, remapped_rows=rows)
    assert check.finding.endswith(finding)
    assert check.status == (Status.PROBLEM if advice else Status.OK)
    assert (advice or "") in (check.advice or "")


def test_a_power_limit_below_the_usual_one_is_a_note(gpu: Gpu) -> None:
    usual, capped = check_power(of(gpu)), check_power(of(gpu, power_limit_w=450.0))
    assert usual is not None
    assert capped is not None
    assert (usual.status, usual.finding) == (Status.OK, "limit 700 W, the default")
    assert (capped.status, capped.finding) == (Status.NOTE, "limit 450 W, by default 700 W")
    assert "nvidia-smi -pl 700" in (capped.advice or "")


@pytest.mark.parametrize(
    ("changes", "finding", "advice"),
    [
        ({}, "no other process", None),
        ({"processes": [7, 90]}, "other processes: 7, 90", "measure while they rest"),
        ({"processes": None, "mig": (True, True)}, "no other process, MIG on", "-mig 0"),
        ({"mig": (False, True)}, "no other process, MIG on after the next reset", "reset the GPU"),
    ],
)
def test_who_else_uses_a_gpu_is_a_note(
    gpu: Gpu, changes: dict[str, object], finding: str, advice: str | None
) -> None:
    check = check_sharing(of(gpu, **changes))
    assert check is not None
    assert check.finding == finding
    assert check.status == (Status.NOTE if advice else Status.OK)
    assert (advice or "") in (check.advice or "")


def test_gpus_that_reach_each_other_are_ok_and_others_are_named() -> None:
    both = check_peers(Peers(allowed={(0, 1): True}))
    assert both is not None
    assert (both.status, both.finding) == (Status.OK, "access between all 1 pair of GPUs")
    some = check_peers(Peers(allowed={(0, 1): True, (0, 2): False, (1, 2): False}))
    assert some is not None
    assert (some.status, some.finding) == (
        Status.NOTE,
        "no access between 2 of 3 pairs: 0 and 2, 1 and 2",
    )
    assert "host memory" in (some.advice or "")


def test_ports_that_send_peers_requests_up_are_named_with_what_to_do() -> None:
    check = check_peers(Peers(allowed={(0, 1): True}, acs_redirects=["0000:aa:01.0"]))
    assert check is not None
    assert check.status == Status.NOTE
    assert check.finding.endswith("ACS redirects at 0000:aa:01.0")
    assert "disable ACS" in (check.advice or "")
