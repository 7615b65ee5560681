import pytest

from fakes.profiles import machine, profile
from isthmus.decide.profile.model import Cost, Profile
from isthmus.errors import UsageError
from isthmus.sim.machine_files import load_machine
from isthmus.sim.measured_link import link_source, with_measured_link
from isthmus.sim.policy import default_policy
from isthmus.sim.settings import Setup

PAPER = Setup(machine=load_machine("paper-gtx480"), policy=default_policy("ranges"))


def pinned(direction: str, seconds: float) -> Cost:
    points = [{"bytes": 4, "seconds": 1e-6}, {"bytes": 10**9, "seconds": seconds}]
    return Cost.model_validate(
        {"path": "driver", "direction": direction, "host_memory": "pinned", "points": points}
    )


def measured(**changes: object) -> Profile:
    costs = [pinned("h2d", 0.02), pinned("h2d", 0.025), pinned("d2h", 0.04)]
    return profile(costs=costs, **changes)


def test_a_link_has_the_best_rate_of_the_longest_pinned_copies() -> None:
    link = with_measured_link(PAPER, measured()).machine.link
    assert link.bandwidth == 50_000_000_000
    assert link.back_bandwidth == 25_000_000_000


def test_nothing_else_of_the_machine_changes() -> None:
    changed = with_measured_link(PAPER, measured()).machine
    assert changed.link.latency == PAPER.machine.link.latency
    assert changed.cores == PAPER.machine.cores


def test_it_is_said_where_the_link_is_from() -> None:
    assert "measured here: PCIe Gen5 x16 of NVIDIA H100" in link_source(PAPER.machine, measured())
    emulated = measured(machine=machine(emulated=True))
    assert "of an emulated device, modelled too" in link_source(PAPER.machine, emulated)


def test_copies_that_take_no_time_are_refused() -> None:
    impossible = profile(costs=[pinned("h2d", 5e-324), pinned("d2h", 0.02)])
    with pytest.raises(UsageError, match="H2D copies of pinned memory take no time"):
        with_measured_link(PAPER, impossible)


def test_a_profile_without_pinned_copies_is_refused() -> None:
    with pytest.raises(UsageError, match="no D2H copies of pinned memory"):
        with_measured_link(PAPER, profile(costs=[pinned("h2d", 0.02)]))
