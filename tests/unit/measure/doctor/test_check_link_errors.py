from dataclasses import replace

import pytest

from isthmus.measure.doctor.check import Status
from isthmus.measure.doctor.check_link import judge_link_errors, link_error_facts
from isthmus.measure.doctor.facts import Gpu
from isthmus.measure.machine.link_errors import AerCounts, LinkErrorCounts
from isthmus.measure.run.machine import LinkErrors

GPU, PORT = "0000:ab:00.0", "0000:aa:01.0"


def new(**counts: int) -> LinkErrors:
    none = {"replays": 0, "correctable": 0, "nonfatal": 0, "fatal": 0}
    return LinkErrors(**(none | counts))


def counted(gpu: Gpu, *, replays: int | None = 0, **at_port: int) -> Gpu:
    """Give a GPU whose port has counted errors, none of them new."""
    clean = AerCounts(correctable=0, nonfatal=0, fatal=0)
    aer = {GPU: clean, PORT: replace(clean, **at_port)}
    return replace(gpu, link_errors=LinkErrorCounts(replays=replays, aer=aer))


def test_a_link_without_errors_says_so(gpu: Gpu) -> None:
    verdict = judge_link_errors(gpu)
    assert verdict.status == Status.OK
    assert verdict.finding == "0 replays, no AER errors"
    assert verdict.advice is None


def test_old_replays_are_a_note_that_says_how_old_they_may_be(gpu: Gpu) -> None:
    verdict = judge_link_errors(counted(gpu, replays=1))
    assert verdict.status == Status.NOTE
    assert verdict.finding == "1 replay, no AER errors"
    assert verdict.advice is not None
    assert "last reset" in verdict.advice
    assert "reseat" in verdict.advice


def test_correctable_errors_that_only_the_port_saw_are_a_note(gpu: Gpu) -> None:
    verdict = judge_link_errors(counted(gpu, correctable=2))
    assert verdict.status == Status.NOTE
    assert verdict.finding == "0 replays, 2 correctable AER errors"
    assert verdict.advice is not None
    assert "bandwidth" in verdict.advice


@pytest.mark.parametrize("kind", ["replays", "correctable"])
def test_many_errors_while_the_doctor_copies_are_a_problem_and_a_few_are_a_note(
    gpu: Gpu, kind: str
) -> None:
    def verdict(how_many: int) -> tuple[Status, str]:
        seen = counted(gpu, replays=20, correctable=20)
        found = judge_link_errors(replace(seen, new_link_errors=new(**{kind: how_many})))
        return found.status, found.finding

    assert verdict(8)[0] == Status.NOTE
    status, finding = verdict(9)
    assert status == Status.PROBLEM
    assert "(9 " in finding
    assert finding.endswith("while the link was read)")


def test_a_nonfatal_error_is_a_note_and_a_problem_if_it_is_new(gpu: Gpu) -> None:
    old = counted(gpu, nonfatal=1)
    assert judge_link_errors(old).status == Status.NOTE
    verdict = judge_link_errors(replace(old, new_link_errors=new(nonfatal=1)))
    assert verdict.status == Status.PROBLEM
    assert verdict.advice is not None
    assert "loses a transaction" in verdict.advice


def test_a_fatal_error_is_a_problem_however_old(gpu: Gpu) -> None:
    verdict = judge_link_errors(counted(gpu, replays=5, fatal=1))
    assert verdict.status == Status.PROBLEM
    assert verdict.finding == "5 replays, 1 fatal AER error"
    assert verdict.advice is not None
    assert "dmesg" in verdict.advice


def test_counts_that_nobody_shows_are_said_to_be_hidden_and_not_zero(gpu: Gpu) -> None:
    blind = replace(gpu, link_errors=LinkErrorCounts(), new_link_errors=None)
    verdict = judge_link_errors(blind)
    assert verdict.status == Status.OK
    assert verdict.finding == "replays and AER errors not shown by this driver or virtual machine"
    assert link_error_facts(blind) == {"replays": None, "aer": {}, "new_errors": None}


def test_what_only_one_side_shows_is_told_and_the_other_is_said_to_be_hidden(gpu: Gpu) -> None:
    no_aer = judge_link_errors(replace(gpu, link_errors=LinkErrorCounts(replays=0)))
    assert no_aer.finding == "0 replays, AER errors not shown by this kernel or virtual machine"
    no_replays = judge_link_errors(counted(gpu, replays=None))
    assert no_replays.finding == "replays not shown by this driver, no AER errors"


def test_programs_get_the_counts_by_end(gpu: Gpu) -> None:
    facts = link_error_facts(counted(gpu, replays=4, correctable=3))
    assert facts["replays"] == 4
    assert facts["aer"] == {
        GPU: {"correctable": 0, "nonfatal": 0, "fatal": 0},
        PORT: {"correctable": 3, "nonfatal": 0, "fatal": 0},
    }
    assert facts["new_errors"] == new().model_dump()
